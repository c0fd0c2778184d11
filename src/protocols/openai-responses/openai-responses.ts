// OpenAI's responses interface, as far as it needs no memory of earlier responses.
import type { Protocol } from "../contract.ts"
import { decodeError, encodeError } from "../openai-error.ts"
import { endpoints } from "./endpoints.ts"
import { readRequest, requestEdits } from "./request.ts"
import { relayAnswer } from "./response.ts"
import { heartbeat, relayStream } from "./stream.ts"

export const openaiResponses: Protocol = {
  id: "openai-responses",
  prefixes: [],
  endpoints,
  keyHeaders: [],
  readsHeaders: [],
  heartbeat,
  checkEnvelope() {},
  readRequest,
  upstreamPath: () => "/responses",
  requestEdits,
  relayAnswer,
  relayStream,
  decodeError,
  encodeError,
}
