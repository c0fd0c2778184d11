// A canonical request in the words of chat completions. The messages come last, so that a conversation that goes on
// only adds to the bytes of what was said before.
import type { JsonObject } from "../../canonical/json.ts"
import type { ChatRequest } from "../../canonical/request.ts"
import type { UpstreamContext } from "../codec.ts"
import type { Draft } from "../openai-fields.ts"
import { encodeMessages } from "./encode-message.ts"
import { encodeSettings } from "./encode-settings.ts"
import { encodeTools } from "./encode-tools.ts"
import { isOwn, putBack, writtenIn } from "./own.ts"
import type { Saying } from "./saying.ts"

export function encodeRequest(request: ChatRequest, context: UpstreamContext): JsonObject {
  const saying: Saying = { own: isOwn(request.extra), written: writtenIn(request.extra), context }
  const draft: Draft = {
    model: context.model,
    ...encodeTools(request, saying),
    ...encodeSettings(request, saying),
    ...encodeStreaming(saying),
  }
  const { messages: _, ...rest } = putBack(draft, request.extra, { at: "", losses: context.losses })
  return { ...rest, messages: encodeMessages(request, saying) }
}

function encodeStreaming({ written, context: { stream, streamUsage } }: Saying): Draft {
  const { plain, usageAsked } = written
  const asked = stream && streamUsage === "ask" ? true : usageAsked
  return {
    ...(stream ? { stream } : plain?.stream === false && { stream: false }),
    ...(asked !== undefined && { stream_options: { include_usage: asked } }),
  }
}
