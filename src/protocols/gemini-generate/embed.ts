// Google's embedContent and batchEmbedContents: a protocol of its own, on the paths of generateContent.
import type { Protocol } from "../contract.ts"
import { neverStreams, unlisted } from "../extension.ts"
import { embedBodyGuard } from "./body-rules.ts"
import { readRequest } from "./embed-request.ts"
import { relayAnswer } from "./embed-response.ts"
import { readEmbeddingPath } from "./endpoints.ts"
import { decodeError, encodeError } from "./errors.ts"
import { NAMELESS, pathOf } from "./request.ts"

export const geminiEmbed: Protocol = {
  id: "gemini-embed",
  prefixes: [],
  endpoints: [],
  keyHeaders: ["x-gen-api-key", "x-goog-api-key"],
  keyParameter: "key",
  readsHeaders: [],
  heartbeat: "",
  checkEnvelope: ({ rest }) => void readEmbeddingPath(rest),
  bodyGuard: embedBodyGuard,
  readRequest,
  upstreamPath: ({ operation }, model) => pathOf(operation, { model, stream: false }),
  requestEdits: (reading) => [...NAMELESS, ...unlisted(reading)],
  relayAnswer,
  relayStream: neverStreams,
  decodeError,
  encodeError,
}
