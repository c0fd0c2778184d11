// Anthropic's messages protocol.
import type { Protocol } from "../../contract.ts"
import { gatewayEdits } from "../../gateway-extension.ts"
import { bodyGuard } from "./body-rules.ts"
import { COUNT_PATH } from "./count-tokens.ts"
import { endpoints, isVendorPath, prefixes } from "./endpoints.ts"
import { decodeError, encodeError } from "./errors.ts"
import { listing } from "./list-models.ts"
import { readsHeaders, readVersion } from "./protocol-version.ts"
import { readRequest } from "./read-request.ts"
import { relayAnswer } from "./relay-response.ts"
import { heartbeat, relayStream } from "./relay-stream.ts"

export const anthropicMessages: Protocol = {
  id: "anthropic-messages",
  prefixes,
  endpoints,
  keyHeaders: ["x-api-key"],
  readsHeaders,
  idHeader: "request-id",
  heartbeat,
  listing,
  isVendorPath,
  checkEnvelope: readVersion,
  bodyGuard,
  readRequest,
  upstreamPath: ({ operation }) => (operation === "count_tokens" ? COUNT_PATH : "/v1/messages"),
  requestEdits: gatewayEdits,
  relayResponse: relayAnswer,
  relayStream,
  decodeError,
  encodeError,
}
