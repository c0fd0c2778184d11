// Seals of reasoning. This protocol has none: hosts have members of their own, refuse each other's (seen in 2026), and
// sign some of them. So the seal of reasoning remembers the member, and returns only to its minter.

import type { SealedContent } from "../../../canonical/chat/sealed-content.ts"
import { isObject, type Json, type JsonObject, parseJsonObject } from "../../../canonical/json.ts"

export interface ChatReasoningSeal {
  /** The member of the text: `reasoning_content`, `reasoning`, or `thinking` inside the content. */
  readonly member?: string
  /** OpenRouter's: signed or encrypted pieces. */
  readonly details?: readonly Json[]
}

export function sealReasoning({ member, details = [] }: ChatReasoningSeal, mintedBy: string): SealedContent {
  const seal = { ...(member !== undefined && { member }), ...(details.length > 0 && { details }) }
  return { mintedBy, data: JSON.stringify(seal) }
}

/** Undefined if another protocol wrote it: a minter may have several protocols. */
export function openReasoning({ data }: SealedContent): ChatReasoningSeal | undefined {
  const seal = parseJsonObject(data)
  if (!seal) return undefined
  const { member, details } = seal
  if (typeof member !== "string" && !Array.isArray(details)) return undefined
  return { ...(typeof member === "string" && { member }), ...(Array.isArray(details) && { details }) }
}

/** Google's hosts sign tool calls in `extra_content`. */
export function sealCall(extraContent: JsonObject, mintedBy: string): SealedContent {
  return { mintedBy, data: JSON.stringify({ extra_content: extraContent }) }
}

export function openCall({ data }: SealedContent): JsonObject | undefined {
  const extraContent = parseJsonObject(data)?.extra_content
  return isObject(extraContent) ? extraContent : undefined
}
