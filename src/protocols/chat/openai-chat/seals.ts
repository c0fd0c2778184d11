// How a host wants its reasoning back. There is no seal in this protocol itself: hosts have members of their own, of
// which each refuses the others' (seen in 2026), and some sign what stands in them. So the seal of reasoning remembers
// the member, and goes back to its minter alone.

import type { SealedContent } from "../../../canonical/chat/sealed-content.ts"
import { isObject, type Json, type JsonObject, parseJsonObject } from "../../../canonical/json.ts"

export interface ChatReasoningSeal {
  /** Where the text stood: `reasoning_content`, `reasoning`, or `thinking` inside the content. */
  readonly member?: string
  /** OpenRouter's: signed or encrypted pieces. */
  readonly details?: readonly Json[]
}

export function sealReasoning({ member, details = [] }: ChatReasoningSeal, mintedBy: string): SealedContent {
  const seal = { ...(member !== undefined && { member }), ...(details.length > 0 && { details }) }
  return { mintedBy, data: JSON.stringify(seal) }
}

/** Undefined where it was not written here: the minter may speak other protocols too. */
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
