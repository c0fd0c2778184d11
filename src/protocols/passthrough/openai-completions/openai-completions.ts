// OpenAI's completions of a prompt, which chat has superseded. It is relayed, and said in no other protocol: what a model
// makes of a text as it stands is not what it answers to a message.
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
