// Chat completions in the translate lane: both halves.
import type { ChatCodec } from "../../chat-codec.ts"
import { NO_HEADERS } from "../../gateway-extension.ts"
import { decodeError } from "../../openai/openai-errors.ts"
import { countHostedCalls } from "./count-hosted-calls.ts"
import { decodeRequest } from "./decode/decode-request.ts"
import { decodeResponse } from "./decode/decode-response.ts"
import { decodeStream } from "./decode/decode-stream.ts"
import { encodeRequest } from "./encode/encode-request.ts"
import { encodeResponse } from "./encode/encode-response.ts"
import { encodeStream } from "./encode/encode-stream.ts"
import { fates } from "./fates.ts"
import { places } from "./setting-paths.ts"

/** OpenAI refuses longer ones; hosts make theirs of all kinds of signs. */
const CALL_ID = /^[\x21-\x7e]{1,40}$/

export const openaiChatCodec: ChatCodec = {
  ingress: {
    callId: CALL_ID,
    dropsSeals: true,
    showsThoughts: true,
    decodeRequest,
    settingPaths: places,
    encodeResponse,
    encodeStream,
  },
  upstream: {
    fates,
    toolName: /^[a-zA-Z0-9_-]{1,64}$/,
    callId: CALL_ID,
    inlines: (media) => media === "document" || media === "audio",
    minter: ({ author }) => `openai-chat/${author}`,
    operationFor: () => ({ operation: "chat", path: "/chat/completions", headers: NO_HEADERS }),
    encodeRequest,
    decodeResponse,
    decodeStream,
    countHostedCalls,
    decodeError,
  },
}
