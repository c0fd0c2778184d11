// Chat completions in the translate lane: both halves.
import type { Codec } from "../codec.ts"
import { NO_HEADERS } from "../extension.ts"
import { decodeError } from "../openai-error.ts"
import { decodeRequest } from "./decode-request.ts"
import { decodeResponse } from "./decode-response.ts"
import { decodeStream } from "./decode-stream.ts"
import { encodeRequest } from "./encode-request.ts"
import { encodeResponse } from "./encode-response.ts"
import { encodeStream } from "./encode-stream.ts"
import { fates } from "./fates.ts"
import { countHostedCalls } from "./hosted-calls.ts"
import { places } from "./places.ts"

/** OpenAI refuses longer ones; hosts make theirs of all kinds of signs. */
const CALL_ID = /^[\x21-\x7e]{1,40}$/

export const openaiChatCodec: Codec = {
  ingress: {
    callId: CALL_ID,
    dropsSeals: true,
    showsThoughts: true,
    decodeRequest,
    places,
    encodeResponse,
    encodeStream,
  },
  upstream: {
    fates,
    toolName: /^[a-zA-Z0-9_-]{1,64}$/,
    callId: CALL_ID,
    inlines: (media) => media === "document" || media === "audio",
    minter: ({ author }) => `openai-chat/${author}`,
    errand: () => ({ operation: "chat", path: "/chat/completions", headers: NO_HEADERS }),
    encodeRequest,
    decodeResponse,
    decodeStream,
    countHostedCalls,
    decodeError,
  },
}
