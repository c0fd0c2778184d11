// OpenAI's chat completions protocol.
import type { Protocol } from "../contract.ts"
import { decodeError, encodeError } from "../openai-error.ts"
import { bodyGuard } from "./body-rules.ts"
import { endpoints } from "./endpoints.ts"
import { listing } from "./models.ts"
import { readRequest, requestEdits } from "./request.ts"
import { relayAnswer } from "./response.ts"
import { heartbeat, relayStream } from "./stream.ts"

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
  relayAnswer,
  relayStream,
  decodeError,
  encodeError,
}
