// Decodes a request's `contents` into turns.

import type { ConversationTurn } from "../../../../canonical/chat/chat-request.ts"
import type { ContentPart } from "../../../../canonical/chat/content-part.ts"
import { isObject, type Json, type JsonObject } from "../../../../canonical/json.ts"
import { GeminiFieldReader, list, text } from "../passthrough-fields.ts"
import type { PartDecoder } from "./decode-part.ts"

export function decodeMessages(value: Json, decoder: PartDecoder): readonly ConversationTurn[] | undefined {
  if (!Array.isArray(value)) return undefined
  return value.flatMap((content: Json, index) => {
    const at = `contents[${index}]`
    return isObject(content) ? [{ at, ...decodeTurn(content, (parts) => decoder.parts(parts, `${at}.parts`)) }] : []
  })
}

function decodeTurn(content: JsonObject, partsOf: (parts: readonly Json[]) => ContentPart[]): ConversationTurn {
  const members = new GeminiFieldReader(content)
  const role = members.take("role", (value) => ROLES[text(value) ?? ""]) ?? "user"
  const parts = partsOf(members.take("parts", list) ?? [])
  const extra = members.rest()
  return { role, parts, ...(extra && { extra }) }
}

/** A missing role means the user. Any other spelling of the user's role passes through. */
const ROLES: Readonly<Record<string, ConversationTurn["role"]>> = { user: "user", model: "assistant", "": "user" }
