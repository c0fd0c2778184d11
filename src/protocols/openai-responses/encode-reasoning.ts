// Reasoning on its way back: only as the item it came as, only to who sealed it. The vendor takes none unsealed.
import type { Json } from "../../canonical/json.ts"
import type { ReasoningPart } from "../../canonical/part.ts"
import { type Draft, dropped } from "../openai-fields.ts"
import { writtenIn } from "./own.ts"
import { mayReturn, type Saying } from "./saying.ts"
import { openReasoning, type ReasoningSeal, splitThought } from "./seals.ts"

/** A summary that may belong to the item that the part behind it came in. */
export interface Thoughts {
  held: ReasoningPart | undefined
}

export function encodeReasoning(part: ReasoningPart, thoughts: Thoughts, saying: Saying): Json[] {
  const { as } = writtenIn(part.extra)
  if (as !== undefined) return [as]
  const seal = part.sealed && mayReturn(part.sealed, saying) ? openReasoning(part.sealed) : undefined
  const before = thoughts.held
  thoughts.held = undefined
  if (seal) {
    if (before && !seal.both) lose(before, saying)
    return [itemOf(part, seal, seal.both ? before : undefined)]
  }
  if (before) lose(before, saying)
  if (part.sealed) lose(part, saying)
  else thoughts.held = part
  return []
}

/** Names what is still held as lost: nothing came behind it. */
export function endThoughts(thoughts: Thoughts, saying: Saying): void {
  if (thoughts.held) lose(thoughts.held, saying)
  thoughts.held = undefined
}

function lose({ at = "" }: ReasoningPart, { context }: Saying): void {
  context.losses.push(dropped(at, "hint", "reasoning goes back only to the provider that sealed it"))
}

function itemOf(part: ReasoningPart, seal: ReasoningSeal, summed: ReasoningPart | undefined): Draft {
  // Not its form: that may have become another on the way through a client of another protocol.
  const isFull = seal.content !== undefined
  const summary = isFull ? summed : part
  const item: Draft = {
    type: "reasoning",
    ...(seal.id !== undefined && { id: seal.id }),
    summary: splitThought(summary?.text ?? "", seal.summary).map((text) => ({ type: "summary_text", text })),
  }
  if (isFull && part.text !== "") {
    item.content = splitThought(part.text, seal.content).map((text) => ({ type: "reasoning_text", text }))
  }
  if (seal.encrypted !== undefined) item.encrypted_content = seal.encrypted
  return item
}
