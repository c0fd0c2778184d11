// Decodes a request's `messages` into turns.

import type { ConversationTurn } from "../../../../canonical/chat/chat-request.ts"
import type { ContentPart, ToolCallPart } from "../../../../canonical/chat/content-part.ts"
import type { SealedContent } from "../../../../canonical/chat/sealed-content.ts"
import { isObject, type Json, type JsonObject } from "../../../../canonical/json.ts"
import { claimFields } from "../../../../canonical/passthrough-fields.ts"
import { PROTOCOL } from "../passthrough-fields.ts"
import { openCallSeal } from "../seals.ts"
import { decodeContent } from "./decode-part.ts"

const ROLES = new Map<Json | undefined, ConversationTurn["role"]>([
  ["user", "user"],
  ["assistant", "assistant"],
  ["system", "instruction"],
])

export function decodeMessages(messages: Json | undefined): ConversationTurn[] {
  if (!Array.isArray(messages)) return []
  return messages.flatMap((message: Json, index) => (isObject(message) ? [decodeTurn(message, index)] : []))
}

function decodeTurn(message: JsonObject, index: number): ConversationTurn {
  const at = `messages[${index}]`
  const held = claimFields(message)
  const role = ROLES.get(held.take("role")) ?? "user"
  const parts = decodeContent(held.take("content"), { at }) ?? []
  const extra = held.rest(PROTOCOL)
  return { at, role, parts: withCallSeals(parts), ...(extra && { extra }) }
}

/** Seals of calls have their own blocks in this protocol; this puts them back on their calls. */
function withCallSeals(parts: readonly ContentPart[]): readonly ContentPart[] {
  const seals = new Map<string, SealedContent>()
  const others = parts.filter((part) => {
    const found = part.kind === "reasoning" && part.sealed ? openCallSeal(part.sealed) : undefined
    if (found) seals.set(found.callId, found.sealed)
    return !found
  })
  if (seals.size === 0) return parts
  return others.map((part) => (part.kind === "tool-call" ? sealedCall(part, seals.get(part.id)) : part))
}

function sealedCall(part: ToolCallPart, sealed: SealedContent | undefined): ToolCallPart {
  return sealed ? { ...part, sealed } : part
}
