// OpenAI's completions of a prompt, which chat has superseded. They are only relayed, never translated: completing a
// text is not the same as answering a message.
import type { Protocol } from "../../contract.ts"
import { decodeError, encodeError } from "../../openai/openai-errors.ts"
import { bodyGuard } from "./body-rules.ts"
import { endpoints } from "./endpoints.ts"
import { readRequest, requestEdits } from "./read-request.ts"
import { relayAnswer } from "./relay-response.ts"
import { heartbeat, relayStream } from "./relay-stream.ts"

export const openaiCompletions: Protocol = {
  id: "openai-completions",
  prefixes: [],
  endpoints,
  keyHeaders: [],
  readsHeaders: [],
  heartbeat,
  checkEnvelope() {},
  bodyGuard,
  readRequest,
  upstreamPath: () => "/completions",
  requestEdits,
  relayResponse: relayAnswer,
  relayStream,
  decodeError,
  encodeError,
}
