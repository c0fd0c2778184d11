// Encodes a responses request. The input comes last, so that a conversation only appends bytes to the previous request.
// The provider stores nothing, because callers share an account.

import type { ChatRequest } from "../../../../canonical/chat/chat-request.ts"
import type { JsonObject } from "../../../../canonical/json.ts"
import type { UpstreamRequestContext } from "../../../chat-codec.ts"
import type { JsonDraft } from "../../../openai/field-reader.ts"
import { isOwn, restorePassthrough, writingOf } from "../passthrough-fields.ts"
import type { ResponsesEncodeContext } from "./encode-context.ts"
import { encodeInput, encodeInstructions } from "./encode-messages.ts"
import { encodeSettings } from "./encode-settings.ts"
import { encodeTools } from "./encode-tools.ts"

export function encodeRequest(request: ChatRequest, context: UpstreamRequestContext): JsonObject {
  const encodeContext: ResponsesEncodeContext = {
    own: isOwn(request.extra),
    written: writingOf(request.extra),
    context,
  }
  const { instructions, items } = encodeInstructions(request, encodeContext)
  const draft: JsonDraft = {
    model: context.model,
    ...(instructions !== undefined && { instructions }),
    ...encodeTools(request, encodeContext),
    ...encodeSettings(request, encodeContext),
    ...encodeContext.written.plain,
    store: false,
    ...(context.stream && { stream: true }),
  }
  const { input: _, ...rest } = restorePassthrough(draft, request.extra, { at: "", losses: context.losses })
  return { ...rest, input: encodeInput(request, { opening: items, encodeContext }) }
}
