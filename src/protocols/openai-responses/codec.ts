// OpenAI's responses interface in the translate lane: both halves, as far as it needs no memory of earlier responses.
import type { Codec } from "../codec.ts"
import { NO_HEADERS } from "../extension.ts"
import { decodeError } from "../openai-error.ts"
import { counter, encodeCount } from "./count.ts"
import { decodeRequest } from "./decode-request.ts"
import { decodeResponse } from "./decode-response.ts"
import { encodeRequest } from "./encode-request.ts"
import { encodeResponse } from "./encode-response.ts"
import { encodeStream } from "./encode-stream.ts"
import { decodeStream } from "./events.ts"
import { fates } from "./fates.ts"
import { countHostedCalls } from "./hosted-calls.ts"
import { places } from "./places.ts"

const CALL_ID = /^[\x21-\x7e]{1,64}$/

export const openaiResponsesCodec: Codec = {
  ingress: { mayLoseSeals: true, callId: CALL_ID, decodeRequest, places, encodeResponse, encodeStream, encodeCount },
  upstream: {
    fates,
    toolName: /^[a-zA-Z0-9_-]{1,64}$/,
    callId: CALL_ID,
    callsRemoteServers: true,
    inlines: (media) => media === "audio" || media === "video",
    // What is encrypted, only the account it was made for can read.
    minter: ({ author, account }) => `openai-responses/${author}/${account}`,
    errand: () => ({ operation: "responses", path: "/responses", headers: NO_HEADERS }),
    encodeRequest,
    decodeResponse,
    decodeStream,
    countHostedCalls,
    decodeError,
    counter,
  },
}
