// Anthropic's messages protocol.
import type { Protocol } from "../contract.ts"
import { ownedEdits } from "../extension.ts"
import { bodyGuard } from "./body-rules.ts"
import { COUNT_PATH } from "./count.ts"
import { endpoints, isVendorPath, prefixes } from "./endpoints.ts"
import { decodeError, encodeError } from "./errors.ts"
import { listing } from "./models.ts"
import { readRequest } from "./request.ts"
import { relayAnswer } from "./response.ts"
import { heartbeat, relayStream } from "./stream.ts"
import { readsHeaders, readVersion } from "./version.ts"

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
  requestEdits: ownedEdits,
  relayAnswer,
  relayStream,
  decodeError,
  encodeError,
}
