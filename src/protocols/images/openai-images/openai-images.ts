// OpenAI's interface for making images.
import type { Protocol } from "../../contract.ts"
import { gatewayEdits, rejectStreaming } from "../../gateway-extension.ts"
import { decodeError, encodeError } from "../../openai/openai-errors.ts"
import { bodyGuard } from "./body-rules.ts"
import { endpoints } from "./endpoints.ts"
import { readRequest } from "./read-request.ts"
import { relayAnswer } from "./relay-response.ts"

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
  requestEdits: gatewayEdits,
  relayResponse: relayAnswer,
  relayStream: rejectStreaming,
  decodeError,
  encodeError,
}
