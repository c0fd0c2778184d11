// OpenAI's moderations of a text or an image. They are only relayed, never translated: each host has its own
// categories.
import type { Protocol } from "../../contract.ts"
import { gatewayEdits, rejectStreaming } from "../../gateway-extension.ts"
import { decodeError, encodeError } from "../../openai/openai-errors.ts"
import { bodyGuard } from "./body-rules.ts"
import { endpoints } from "./endpoints.ts"
import { readRequest } from "./read-request.ts"
import { relayAnswer } from "./relay-response.ts"

export const openaiModerations: Protocol = {
  id: "openai-moderations",
  prefixes: [],
  endpoints,
  keyHeaders: [],
  readsHeaders: [],
  heartbeat: "",
  checkEnvelope() {},
  bodyGuard,
  readRequest,
  upstreamPath: () => "/moderations",
  requestEdits: gatewayEdits,
  relayResponse: relayAnswer,
  relayStream: rejectStreaming,
  decodeError,
  encodeError,
}
