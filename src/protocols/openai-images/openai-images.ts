// OpenAI's interface for making images.
import type { Protocol } from "../contract.ts"
import { neverStreams, ownedEdits } from "../extension.ts"
import { decodeError, encodeError } from "../openai-error.ts"
import { bodyGuard } from "./body-rules.ts"
import { endpoints } from "./endpoints.ts"
import { readRequest } from "./request.ts"
import { relayAnswer } from "./response.ts"

export const openaiImages: Protocol = {
  id: "openai-images",
  prefixes: [],
  endpoints,
  keyHeaders: [],
  readsHeaders: [],
  heartbeat: "",
  checkEnvelope() {},
  bodyGuard,
  readRequest,
  upstreamPath: () => "/images/generations",
  requestEdits: ownedEdits,
  relayAnswer,
  relayStream: neverStreams,
  decodeError,
  encodeError,
}
