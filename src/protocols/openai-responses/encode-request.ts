// A canonical request in the words of the responses interface. The input comes last, so that a conversation that goes on
// only adds to the bytes of what was said before. Nothing is to be kept in an account that callers share.
import type { JsonObject } from "../../canonical/json.ts"
import type { ChatRequest } from "../../canonical/request.ts"
import type { UpstreamContext } from "../codec.ts"
import type { Draft } from "../openai-fields.ts"
import { encodeInput, encodeInstructions } from "./encode-items.ts"
import { encodeSettings } from "./encode-settings.ts"
import { encodeTools } from "./encode-tools.ts"
import { isOwn, putBack, writtenIn } from "./own.ts"
import type { Saying } from "./saying.ts"

export function encodeRequest(request: ChatRequest, context: UpstreamContext): JsonObject {
  const saying: Saying = { own: isOwn(request.extra), written: writtenIn(request.extra), context }
  const { instructions, items } = encodeInstructions(request, saying)
  const draft: Draft = {
    model: context.model,
    ...(instructions !== undefined && { instructions }),
    ...encodeTools(request, saying),
    ...encodeSettings(request, saying),
    ...saying.written.plain,
    store: false,
    ...(context.stream && { stream: true }),
  }
  const { input: _, ...rest } = putBack(draft, request.extra, { at: "", losses: context.losses })
  return { ...rest, input: encodeInput(request, { opening: items, saying }) }
}
