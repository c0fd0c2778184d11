// Google's generateContent protocol as the translate lane speaks it.
import type { Codec } from "../codec.ts"
import { NO_HEADERS } from "../extension.ts"
import { counter, encodeCount } from "./count.ts"
import { decodeRequest } from "./decode-request.ts"
import { decodeResponse } from "./decode-response.ts"
import { encodeRequest } from "./encode-request.ts"
import { encodeResponse } from "./encode-response.ts"
import { encodeStream } from "./encode-stream.ts"
import { decodeError } from "./errors.ts"
import { fates } from "./fates.ts"
import { countHostedCalls } from "./hosted-calls.ts"
import { places } from "./places.ts"
import { pathOf } from "./request.ts"
import { decodeStream } from "./stream.ts"

const CALL_ID = /^\S{1,256}$/

export const geminiGenerateCodec: Codec = {
  // Google's own coding agent does; the signature of a call it keeps, as the vendor demands it back.
  ingress: { callId: CALL_ID, dropsThoughts: true, decodeRequest, places, encodeResponse, encodeStream, encodeCount },
  upstream: {
    fates,
    toolName: /^[A-Za-z_][A-Za-z0-9_.:-]{0,63}$/,
    callId: CALL_ID,
    inlines: () => false,
    minter: ({ author }) => `gemini-generate/${author}`,
    errand(model, stream) {
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
