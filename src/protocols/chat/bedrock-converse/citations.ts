// Decodes Converse's citations.

import type { Citation } from "../../../canonical/chat/content-part.ts"
import { isObject, type Json, type JsonObject } from "../../../canonical/json.ts"
import { claimFields } from "../../../canonical/passthrough-fields.ts"
import { PROTOCOL } from "./passthrough-fields.ts"

export function decodeCitation(wire: JsonObject): Citation {
  const held = claimFields(wire)
  const { title, location, sourceContent } = wire
  const url = isObject(location) && isObject(location.web) ? location.web.url : undefined
  const quote = Array.isArray(sourceContent)
    ? sourceContent.map((each: Json) => (isObject(each) && typeof each.text === "string" ? each.text : "")).join("")
    : ""
  if (typeof title === "string") held.take("title")
  if (typeof url === "string") held.take("location")
  if (quote !== "") held.take("sourceContent")
  const extra = held.rest(PROTOCOL)
  return {
    ...(typeof url === "string" && { url }),
    ...(typeof title === "string" && { title }),
    ...(quote !== "" && { quote }),
    ...(extra && { extra }),
  }
}
