// Google's generateContent protocol in the translate lane.
import type { ChatCodec } from "../../chat-codec.ts"
import { NO_HEADERS } from "../../gateway-extension.ts"
import { countHostedCalls } from "./count-hosted-calls.ts"
import { counter, encodeCount } from "./count-tokens.ts"
import { decodeRequest } from "./decode/decode-request.ts"
import { decodeResponse } from "./decode/decode-response.ts"
import { decodeStream } from "./decode/decode-stream.ts"
import { encodeRequest } from "./encode/encode-request.ts"
import { encodeResponse } from "./encode/encode-response.ts"
import { encodeStream } from "./encode/encode-stream.ts"
import { decodeError } from "./errors.ts"
import { fates } from "./fates.ts"
import { pathOf } from "./read-request.ts"
import { places } from "./setting-paths.ts"

const CALL_ID = /^\S{1,256}$/

export const geminiGenerateCodec: ChatCodec = {
  // Google's own coding agent drops reasoning; it keeps the signature of a call, because the vendor requires it back.
  ingress: {
    callId: CALL_ID,
    dropsThoughts: true,
    decodeRequest,
    settingPaths: places,
    encodeResponse,
    encodeStream,
    encodeCount,
  },
  upstream: {
    fates,
    toolName: /^[A-Za-z_][A-Za-z0-9_.:-]{0,63}$/,
    callId: CALL_ID,
    inlines: () => false,
    minter: ({ author }) => `gemini-generate/${author}`,
    operationFor(model, stream) {
      const operation = stream ? "streamGenerateContent" : "generateContent"
      return { operation, path: pathOf(operation, { model, stream }), headers: NO_HEADERS }
    },
    encodeRequest,
    decodeResponse,
    decodeStream,
    countHostedCalls,
    decodeError,
    counter,
  },
}
