// OpenAI's chat completions protocol.
import type { Protocol } from "../../contract.ts"
import { decodeError, encodeError } from "../../openai/openai-errors.ts"
import { bodyGuard } from "./body-rules.ts"
import { endpoints } from "./endpoints.ts"
import { listing } from "./list-models.ts"
import { readRequest, requestEdits } from "./read-request.ts"
import { relayAnswer } from "./relay-response.ts"
import { heartbeat, relayStream } from "./relay-stream.ts"

export const openaiChat: Protocol = {
  id: "openai-chat",
  prefixes: ["/v1"],
  endpoints,
  keyHeaders: [],
  readsHeaders: [],
  heartbeat,
  listing,
  checkEnvelope() {},
  bodyGuard,
  readRequest,
  upstreamPath: () => "/chat/completions",
  requestEdits,
  relayResponse: relayAnswer,
  relayStream,
  decodeError,
  encodeError,
}
