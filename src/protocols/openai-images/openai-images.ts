// OpenAI's interface for making images.
import type { Protocol } from "../contract.ts"
import { neverStreams } from "../extension.ts"
import { decodeError, encodeError } from "../openai-error.ts"
import { endpoints } from "./endpoints.ts"
import { readRequest, requestEdits } from "./request.ts"
import { relayAnswer } from "./response.ts"

export const openaiImages: Protocol = {
  id: "openai-images",
  prefixes: [],
  endpoints,
  keyHeaders: [],
  readsHeaders: [],
  heartbeat: "",
  checkEnvelope() {},
  readRequest,
  upstreamPath: () => "/images/generations",
  requestEdits,
  relayAnswer,
  relayStream: neverStreams,
  decodeError,
  encodeError,
}
