// OpenAI's embeddings interface.
import type { Protocol } from "../../contract.ts"
import { gatewayEdits, rejectStreaming } from "../../gateway-extension.ts"
import { decodeError, encodeError } from "../../openai/openai-errors.ts"
import { bodyGuard } from "./body-rules.ts"
import { endpoints } from "./endpoints.ts"
import { readRequest } from "./read-request.ts"
import { relayAnswer } from "./relay-response.ts"

export const openaiEmbeddings: Protocol = {
  id: "openai-embeddings",
  prefixes: [],
  endpoints,
  keyHeaders: [],
  readsHeaders: [],
  heartbeat: "",
  checkEnvelope() {},
  bodyGuard,
  readRequest,
  upstreamPath: () => "/embeddings",
  requestEdits: gatewayEdits,
  relayResponse: relayAnswer,
  relayStream: rejectStreaming,
  decodeError,
  encodeError,
}
