// Positions of seals in this protocol: in a reasoning item, which returns whole or not at all. A call has no such
// member, so its seal crosses a client in a separate reasoning item before it.

import { encloseSeal, type SealedContent } from "../../../canonical/chat/sealed-content.ts"
import { isObject, type Json, type JsonObject, parseJson } from "../../../canonical/json.ts"

/** Separator of an item's texts, which become one canonical text. */
export const BETWEEN_THOUGHTS = "\n\n"

/** An item without its texts, of which only the lengths are stored. */
export interface ReasoningItemSeal {
  readonly id?: string
  readonly encrypted?: string
  /** Lengths of the summaries, if there are several. */
  readonly summary?: readonly number[]
  /** Lengths of the texts, if the text is the reasoning itself. */
  readonly content?: readonly number[]
  /** Set if the item also has the summary that the previous part contains. */
  readonly both?: true
}

/**
 * The seal of a whole item; undefined if the vendor would not accept it back, because it has neither a seal nor the
 * full text.
 */
export function sealReasoning(item: JsonObject, mintedBy: string): SealedContent | undefined {
  const { id, encrypted_content: encrypted } = item
  const summary = lengths(item.summary)
  const content = lengths(item.content)
  const isSealed = typeof encrypted === "string" && encrypted !== ""
  if (!isSealed && content.length === 0) return undefined
  const seal: ReasoningItemSeal = {
    ...(typeof id === "string" && { id }),
    ...(isSealed && { encrypted }),
    ...(summary.length > 1 && { summary }),
    ...(content.length > 0 && { content }),
    ...(summary.length > 0 && content.length > 0 && { both: true }),
  }
  return { mintedBy, data: JSON.stringify(seal) }
}

/** Undefined if another protocol wrote it: a minter may have several protocols. */
export function openReasoning({ data }: SealedContent): ReasoningItemSeal | undefined {
  const seal = parseJson(data)
  if (!isObject(seal)) return undefined
  const { id, encrypted, summary, content, both } = seal
  if (typeof id !== "string" && typeof encrypted !== "string") return undefined
  return {
    ...(typeof id === "string" && { id }),
    ...(typeof encrypted === "string" && { encrypted }),
    ...(isLengths(summary) && { summary }),
    ...(isLengths(content) && { content }),
    ...(both === true && { both }),
  }
}

export function textsOf(pieces: Json | undefined): string[] {
  if (!Array.isArray(pieces)) return []
  return pieces.flatMap((piece: Json) => (isObject(piece) && typeof piece.text === "string" ? [piece.text] : []))
}

function lengths(pieces: Json | undefined): number[] {
  return textsOf(pieces).map(({ length }) => length)
}

function isLengths(value: Json | undefined): value is number[] {
  return Array.isArray(value) && value.every((each) => typeof each === "number")
}

/** Splits a text into its original pieces; into one if it has changed. */
export function splitThought(text: string, pieces: readonly number[] | undefined): string[] {
  if (!pieces) return text === "" ? [] : [text]
  const whole = pieces.reduce((sum, length) => sum + length, 0) + BETWEEN_THOUGHTS.length * (pieces.length - 1)
  if (whole !== text.length) return text === "" ? [] : [text]
  let from = 0
  return pieces.map((length) => {
    const piece = text.slice(from, from + length)
    from += length + BETWEEN_THOUGHTS.length
    return piece
  })
}

/** The "minter" of an envelope that contains the seal of a call and the call's id. */
const OF_CALL = "openai-responses:call"

export function encloseCallSeal(callId: string, { mintedBy, data }: SealedContent): string {
  return encloseSeal({ mintedBy: OF_CALL, data: JSON.stringify([callId, mintedBy, data]) })
}

export interface ToolCallSeal {
  readonly callId: string
  readonly sealed: SealedContent
}

/** The call a seal belongs to, and the seal; undefined for any other seal. */
export function openCallSeal({ mintedBy, data }: SealedContent): ToolCallSeal | undefined {
  if (mintedBy !== OF_CALL) return undefined
  const found = parseJson(data)
  const [callId, minter, sealed] = Array.isArray(found) ? found : []
  if (typeof callId !== "string" || typeof minter !== "string" || typeof sealed !== "string") return undefined
  return { callId, sealed: { mintedBy: minter, data: sealed } }
}
