// OpenAI's responses interface. What it remembers of earlier responses is the gateway's own: upstreams keep nothing.
import type { Protocol } from "../contract.ts"
import { decodeError, encodeError } from "../openai-error.ts"
import { bodyGuard } from "./body-rules.ts"
import { COUNT_PATH } from "./count.ts"
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
  bodyGuard,
  readRequest,
  upstreamPath: ({ counts }) => (counts ? COUNT_PATH : "/responses"),
  requestEdits,
  relayAnswer,
  relayStream,
  decodeError,
  encodeError,
}
