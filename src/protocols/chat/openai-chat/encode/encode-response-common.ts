// Shared by whole and streamed responses: ids, media, and losses of parts that a client cannot receive.

import type { ContentPart, MediaPart } from "../../../../canonical/chat/content-part.ts"
import type { Losses } from "../../../../canonical/loss.ts"
import type { ClientResponseContext } from "../../../chat-codec.ts"
import { dropped } from "../../../losses.ts"
import { writingOf } from "../passthrough-fields.ts"

/** Between two pieces of reasoning, which are one text here. */
export const BETWEEN_THOUGHTS = "\n\n"

/** An id in the form of a completion's stays. */
export function completionId(id: string | undefined, context: ClientResponseContext): string {
  return id?.startsWith("chatcmpl-") ? id : `chatcmpl-${context.id}`
}

/** `index` counts the calls of all candidates. */
export function callId(id: string, { context, index }: { context: ClientResponseContext; index: number }): string {
  return id === "" ? `call_${context.id}${index}` : id
}

/** True if the request uses `functions`, so that the response has `function_call`. */
export function requestsLegacy({ request }: ClientResponseContext): boolean {
  return writingOf(request.extra).legacy === true
}

export const ONE_CALL = "a second call, where the request has `functions`"

/** The reason why a part cannot be expressed; undefined if it can. */
export function unsupportedReason(
  part: Pick<ContentPart, "kind"> & { runsAt?: string; media?: string },
): string | undefined {
  if (part.kind === "tool-call" && part.runsAt === "provider") return "a call of a tool that the provider ran itself"
  if (part.kind === "tool-result") return "the result of a tool that the provider ran itself"
  if (part.kind === "foreign") return "a block that exists only in its own protocol"
  if (part.kind === "media" && part.media !== "image" && part.media !== "audio") return `a ${part.media}`
  return undefined
}

export function reportPart(what: string, { path, losses }: { path: string; losses: Losses }): void {
  losses.push(dropped.hint(path, `chat completions has no place for ${what}`))
}

/** A part that does not grow, as a member of a message or delta; undefined if it cannot be expressed. */
export function mediaMember(
  part: MediaPart,
  context: ClientResponseContext,
): { [member: string]: object[] | object } | undefined {
  const { source, media } = part
  if (media === "image" && source.at === "url") return { images: [imageUrlEntry(source.url)] }
  if (media === "image" && source.at === "inline") {
    return { images: [imageUrlEntry(`data:${source.mediaType};base64,${source.base64}`)] }
  }
  if (media !== "audio" || source.at !== "inline") return undefined
  return { audio: { id: `audio_${context.id}`, data: source.base64, expires_at: context.unixTime, transcript: "" } }
}

/** OpenRouter's form; clients pass on unknown members. */
function imageUrlEntry(url: string): object {
  return { type: "image_url", image_url: { url } }
}
