// OpenAI's responses interface in the translate lane: both halves, as far as it needs no memory of earlier responses.
import type { ChatCodec } from "../../chat-codec.ts"
import { NO_HEADERS } from "../../gateway-extension.ts"
import { decodeError } from "../../openai/openai-errors.ts"
import { countHostedCalls } from "./count-hosted-calls.ts"
import { counter, encodeCount } from "./count-tokens.ts"
import { decodeRequest } from "./decode/decode-request.ts"
import { decodeResponse } from "./decode/decode-response.ts"
import { decodeStream } from "./decode/decode-stream.ts"
import { encodeRequest } from "./encode/encode-request.ts"
import { encodeResponse } from "./encode/encode-response.ts"
import { encodeStream } from "./encode/encode-stream.ts"
import { fates } from "./fates.ts"
import { places } from "./setting-paths.ts"

const CALL_ID = /^[\x21-\x7e]{1,64}$/

export const openaiResponsesCodec: ChatCodec = {
  ingress: {
    mayLoseSeals: true,
    callId: CALL_ID,
    decodeRequest,
    settingPaths: places,
    encodeResponse,
    encodeStream,
    encodeCount,
  },
  upstream: {
    fates,
    toolName: /^[a-zA-Z0-9_-]{1,64}$/,
    callId: CALL_ID,
    callsRemoteServers: true,
    inlines: (media) => media === "audio" || media === "video",
    // Encrypted content can only be read by the account for which it was made.
    minter: ({ author, account }) => `openai-responses/${author}/${account}`,
    operationFor: () => ({ operation: "responses", path: "/responses", headers: NO_HEADERS }),
    encodeRequest,
    decodeResponse,
    decodeStream,
    countHostedCalls,
    decodeError,
    counter,
  },
}
