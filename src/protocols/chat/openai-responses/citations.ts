// Citations, both ways: annotations of an `output_text`.

import type { Citation } from "../../../canonical/chat/content-part.ts"
import { isObject, type Json, type JsonObject } from "../../../canonical/json.ts"
import { isOwn, ownExtra } from "./passthrough-fields.ts"

export function decodeAnnotations(wire: Json | undefined): Citation[] {
  return Array.isArray(wire) ? wire.flatMap((annotation: Json) => decodeAnnotation(annotation) ?? []) : []
}

export function decodeAnnotation(wire: Json | undefined): Citation | undefined {
  if (!isObject(wire)) return undefined
  const { type, url, title, start_index: start, end_index: end, ...more } = wire
  const span = { ...(typeof start === "number" && { start }), ...(typeof end === "number" && { end }) }
  if (type === "url_citation" && typeof url === "string") {
    const extra = ownExtra(more)
    return { url, ...(typeof title === "string" && { title }), ...span, ...(extra && { extra }) }
  }
  // For a file at the provider, only its name has a meaning elsewhere.
  const { filename } = more
  const extra = ownExtra(wire)
  return { ...(typeof filename === "string" && { title: filename }), ...span, ...(extra && { extra }) }
}

/** `length` is the length of the text so far. Undefined without a URL, which every annotation requires. */
export function encodeAnnotation({ url, title, start, end, extra }: Citation, length: number): JsonObject | undefined {
  const members = isOwn(extra) ? extra.members : {}
  if (typeof members.type === "string") return members
  if (url === undefined) return undefined
  return {
    type: "url_citation",
    url,
    title: title ?? "",
    start_index: start ?? 0,
    end_index: end ?? length,
    ...members,
  }
}
