// Google's generateContent protocol.
import type { Protocol } from "../contract.ts"
import { bodyGuard } from "./body-rules.ts"
import { geminiEmbed } from "./embed.ts"
import { checkEnvelope, endpoints, isEmbeddingPath, isVendorPath, prefixes } from "./endpoints.ts"
import { decodeError, encodeError } from "./errors.ts"
import { listing } from "./models.ts"
import { readRequest, requestEdits, upstreamPath } from "./request.ts"
import { relayAnswer } from "./response.ts"
import { heartbeat, relayStream } from "./stream.ts"

export const geminiGenerate: Protocol = {
  id: "gemini-generate",
  prefixes,
  endpoints,
  keyHeaders: ["x-gen-api-key", "x-goog-api-key"],
  keyParameter: "key",
  readsHeaders: [],
  heartbeat,
  listing,
  isVendorPath,
  spokenAt: (rest) => (isEmbeddingPath(rest) ? geminiEmbed : undefined),
  checkEnvelope,
  bodyGuard,
  readRequest,
  upstreamPath,
  requestEdits,
  relayAnswer,
  relayStream,
  decodeError,
  encodeError,
}
