// Google's generateContent protocol.
import type { Protocol } from "../../contract.ts"
import { bodyGuard } from "./body-rules.ts"
import { geminiEmbed } from "./embeddings/gemini-embed.ts"
import { checkEnvelope, endpoints, isEmbeddingPath, isVendorPath, prefixes } from "./endpoints.ts"
import { decodeError, encodeError } from "./errors.ts"
import { listing } from "./list-models.ts"
import { readRequest, requestEdits, upstreamPath } from "./read-request.ts"
import { relayAnswer } from "./relay-response.ts"
import { heartbeat, relayStream } from "./relay-stream.ts"

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
  protocolAt: (rest) => (isEmbeddingPath(rest) ? geminiEmbed : undefined),
  checkEnvelope,
  bodyGuard,
  readRequest,
  upstreamPath,
  requestEdits,
  relayResponse: relayAnswer,
  relayStream,
  decodeError,
  encodeError,
}
