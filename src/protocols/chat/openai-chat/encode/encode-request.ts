// Encodes a chat completions request. The messages come last, so that a conversation only appends bytes to the previous
// request.

import type { ChatRequest } from "../../../../canonical/chat/chat-request.ts"
import type { JsonObject } from "../../../../canonical/json.ts"
import type { UpstreamRequestContext } from "../../../chat-codec.ts"
import type { JsonDraft } from "../../../openai/field-reader.ts"
import { isOwn, restorePassthrough, writingOf } from "../passthrough-fields.ts"
import type { ChatEncodeContext } from "./encode-context.ts"
import { encodeMessages } from "./encode-messages.ts"
import { encodeSettings } from "./encode-settings.ts"
import { encodeTools } from "./encode-tools.ts"

export function encodeRequest(request: ChatRequest, context: UpstreamRequestContext): JsonObject {
  const encodeContext: ChatEncodeContext = { own: isOwn(request.extra), written: writingOf(request.extra), context }
  const draft: JsonDraft = {
    model: context.model,
    ...encodeTools(request, encodeContext),
    ...encodeSettings(request, encodeContext),
    ...encodeStreaming(encodeContext),
  }
  const { messages: _, ...rest } = restorePassthrough(draft, request.extra, { at: "", losses: context.losses })
  return { ...rest, messages: encodeMessages(request, encodeContext) }
}

function encodeStreaming({ written, context: { stream, streamUsage } }: ChatEncodeContext): JsonDraft {
  const { plain, usageRequested } = written
  const includeUsage = stream && streamUsage === "ask" ? true : usageRequested
  return {
    ...(stream ? { stream } : plain?.stream === false && { stream: false }),
    ...(includeUsage !== undefined && { stream_options: { include_usage: includeUsage } }),
  }
}
