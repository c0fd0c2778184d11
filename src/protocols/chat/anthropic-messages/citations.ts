// Citations, both ways. They belong to a whole text block in this protocol, so a canonical citation has no span.

import type { Citation } from "../../../canonical/chat/content-part.ts"
import { isObject, type Json, type JsonObject } from "../../../canonical/json.ts"
import { claimFields } from "../../../canonical/passthrough-fields.ts"
import { isOwn, PROTOCOL } from "./passthrough-fields.ts"

/** Undefined if it is not a list of citations. */
export function decodeCitations(value: Json | undefined): Citation[] | undefined {
  return Array.isArray(value) && value.every(isObject) ? value.map(decodeCitation) : undefined
}

export function decodeCitation(wire: JsonObject): Citation {
  const held = claimFields(wire)
  const url = text(wire, wire.type === "search_result_location" ? "source" : "url")
  if (url !== undefined && isAddress(url)) held.take(wire.type === "search_result_location" ? "source" : "url")
  const title = text(wire, "title") ?? text(wire, "document_title")
  if (title !== undefined) held.take(typeof wire.title === "string" ? "title" : "document_title")
  const quote = text(wire, "cited_text")
  if (quote !== undefined) held.take("cited_text")
  const extra = held.rest(PROTOCOL)
  return {
    ...(url !== undefined && isAddress(url) && { url }),
    ...(title !== undefined && { title }),
    ...(quote !== undefined && { quote }),
    ...(extra && { extra }),
  }
}

function text(wire: JsonObject, name: string): string | undefined {
  const value = wire[name]
  return typeof value === "string" ? value : undefined
}

function isAddress(url: string): boolean {
  return /^https?:/i.test(url)
}

/** A citation of this protocol, unchanged; undefined for others. */
export function ownCitation({ url, title, quote, extra }: Citation): JsonObject | undefined {
  if (!isOwn(extra)) return undefined
  const { type } = extra.members
  const inDocument = type !== "web_search_result_location" && type !== "search_result_location"
  return {
    ...extra.members,
    ...(url !== undefined && { [type === "search_result_location" ? "source" : "url"]: url }),
    ...(title !== undefined && { [inDocument && !("title" in extra.members) ? "document_title" : "title"]: title }),
    ...(quote !== undefined && { cited_text: quote }),
  }
}

/** Another protocol's citation, in the form that clients know best. Its index is empty, unlike the vendor's. */
function foreignCitation({ url, title, quote }: Citation): JsonObject {
  return {
    type: "web_search_result_location",
    cited_text: quote ?? "",
    encrypted_index: "",
    title: title ?? "",
    url: url ?? "",
  }
}

/** True if the vendor would recognise the citation. */
export function isVendorCitation(citation: JsonObject): boolean {
  return citation.type !== "web_search_result_location" || citation.encrypted_index !== ""
}

export function encodeCitation(citation: Citation): JsonObject {
  return ownCitation(citation) ?? foreignCitation(citation)
}
