// Anthropic's messages protocol in the translate lane.
import type { ChatCodec, RequestParameters } from "../../chat-codec.ts"
import { countHostedCalls } from "./count-hosted-calls.ts"
import { COUNT_PATH, counter, encodeCount } from "./count-tokens.ts"
import { decodeRequest } from "./decode/decode-request.ts"
import { decodeResponse } from "./decode/decode-response.ts"
import { decodeStream } from "./decode/decode-stream.ts"
import { encodeRequest } from "./encode/encode-request.ts"
import { encodeResponse } from "./encode/encode-response.ts"
import { encodeStream } from "./encode/encode-stream.ts"
import { decodeError } from "./errors.ts"
import { fates } from "./fates.ts"
import { places } from "./setting-paths.ts"

const HEADERS = { "anthropic-version": "2023-06-01" }

const CALL_ID = /^[a-zA-Z0-9_-]+$/
const NO_MORE: Readonly<Record<string, string>> = {}
/** Remote servers are a feature that must be turned on. */
const REMOTE_SERVERS = { "anthropic-beta": "mcp-client-2025-04-04" }

function headersFor({ tools }: RequestParameters): Readonly<Record<string, string>> {
  return tools.some((tool) => tool.kind === "hosted" && tool.server) ? REMOTE_SERVERS : NO_MORE
}

export const anthropicMessagesCodec: ChatCodec = {
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
    toolName: /^[a-zA-Z0-9_-]{1,128}$/,
    callId: CALL_ID,
    callsRemoteServers: true,
    callsNeedTools: true,
    inlines: () => false,
    minter: ({ author }) => `anthropic-messages/${author}`,
    operationFor: () => ({ operation: "messages", path: "/v1/messages", headers: HEADERS }),
    headersFor,
    encodeRequest,
    decodeResponse,
    decodeStream,
    countHostedCalls,
    decodeError,
    counter: { ...counter, errand: () => ({ operation: "count_tokens", path: COUNT_PATH, headers: HEADERS }) },
  },
}
