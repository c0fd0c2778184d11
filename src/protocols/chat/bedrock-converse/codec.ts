// Bedrock's Converse protocol in the translate lane. No client speaks it, so it has only the upstream half.
import type { UpstreamCodec } from "../../chat-codec.ts"
import { NO_HEADERS } from "../../gateway-extension.ts"
import { decodeResponse } from "./decode/decode-response.ts"
import { decodeStream } from "./decode/decode-stream.ts"
import { encodeRequest } from "./encode/encode-request.ts"
import { decodeError } from "./errors.ts"
import { fates } from "./fates.ts"

export const bedrockConverseCodec: UpstreamCodec = {
  fates,
  toolName: /^[a-zA-Z0-9_-]{1,64}$/,
  callId: /^[a-zA-Z0-9_-]{1,64}$/,
  /** A location in S3 would also be accepted, but callers may not name objects of a shared account. */
  inlines: () => true,
  // A signature belongs to the author: Claude accepts here what it signed in its own protocol, and vice versa.
  minter: ({ author }) => `${author === "anthropic" ? "anthropic-messages" : "bedrock-converse"}/${author}`,
  operationFor(model, stream) {
    const operation = stream ? "converse-stream" : "converse"
    return { operation, path: `/model/${encodeURIComponent(model)}/${operation}`, headers: NO_HEADERS }
  },
  encodeRequest,
  decodeResponse,
  decodeStream,
  decodeError,
}
