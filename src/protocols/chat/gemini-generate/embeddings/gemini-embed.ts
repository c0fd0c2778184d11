// Google's embedContent and batchEmbedContents: a protocol of its own, on the paths of generateContent.
import type { Protocol } from "../../../contract.ts"
import { rejectStreaming, removeFallbackList } from "../../../gateway-extension.ts"
import { embedBodyGuard } from "../body-rules.ts"
import { readEmbeddingPath } from "../endpoints.ts"
import { decodeError, encodeError } from "../errors.ts"
import { NAMELESS, pathOf } from "../read-request.ts"
import { readRequest } from "./read-request.ts"
import { relayAnswer } from "./relay-response.ts"

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
  requestEdits: (reading) => [...NAMELESS, ...removeFallbackList(reading)],
  relayResponse: relayAnswer,
  relayStream: rejectStreaming,
  decodeError,
  encodeError,
}
