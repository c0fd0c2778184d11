// OpenAI's responses interface. The gateway itself stores responses; upstreams store nothing.
import type { Protocol } from "../../contract.ts"
import { decodeError, encodeError } from "../../openai/openai-errors.ts"
import { bodyGuard } from "./body-rules.ts"
import { COUNT_PATH } from "./count-tokens.ts"
import { endpoints } from "./endpoints.ts"
import { readRequest, requestEdits } from "./read-request.ts"
import { relayAnswer } from "./relay-response.ts"
import { heartbeat, relayStream } from "./relay-stream.ts"

export const openaiResponses: Protocol = {
  id: "openai-responses",
  prefixes: [],
  endpoints,
  keyHeaders: [],
  readsHeaders: [],
  heartbeat,
  checkEnvelope() {},
  bodyGuard,
  readRequest,
  upstreamPath: ({ counts }) => (counts ? COUNT_PATH : "/responses"),
  requestEdits,
  relayResponse: relayAnswer,
  relayStream,
  decodeError,
  encodeError,
}
