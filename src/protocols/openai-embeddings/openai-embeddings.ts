// OpenAI's embeddings interface.
import type { Protocol } from "../contract.ts"
import { neverStreams, ownedEdits } from "../extension.ts"
import { decodeError, encodeError } from "../openai-error.ts"
import { bodyGuard } from "./body-rules.ts"
import { endpoints } from "./endpoints.ts"
import { readRequest } from "./request.ts"
import { relayAnswer } from "./response.ts"

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
  requestEdits: ownedEdits,
  relayAnswer,
  relayStream: neverStreams,
  decodeError,
  encodeError,
}
