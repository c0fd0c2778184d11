// Citations, both ways: annotations of a message.

import type { Citation } from "../../../canonical/chat/content-part.ts"
import { isObject, type Json } from "../../../canonical/json.ts"
import { ownExtra } from "./passthrough-fields.ts"

export function decodeAnnotations(wire: Json | undefined): Citation[] {
  return Array.isArray(wire) ? wire.flatMap((annotation: Json) => decodeAnnotation(annotation) ?? []) : []
}

function decodeAnnotation(wire: Json): Citation | undefined {
  if (!isObject(wire) || !isObject(wire.url_citation)) return undefined
  // OpenRouter also includes the cited text.
  const { url, title, content: quote, start_index: start, end_index: end, ...more } = wire.url_citation
  if (typeof url !== "string") return undefined
  const extra = ownExtra(more)
  return {
    url,
    ...(typeof title === "string" && { title }),
    ...(typeof quote === "string" && { quote }),
    ...(typeof start === "number" && { start }),
    ...(typeof end === "number" && { end }),
    ...(extra && { extra }),
  }
}

/** The span of a part's text in the message's text. */
export interface TextSpan {
  readonly start: number
  readonly end: number
}

/** Undefined without a URL, which every annotation requires. */
export function encodeAnnotation({ url, title, quote, start, end }: Citation, span: TextSpan): Json | undefined {
  if (url === undefined) return undefined
  return {
    type: "url_citation",
    url_citation: {
      start_index: start === undefined ? span.start : span.start + start,
      end_index: end === undefined ? span.end : span.start + end,
      url,
      title: title ?? "",
      ...(quote !== undefined && { content: quote }),
    },
  }
}
