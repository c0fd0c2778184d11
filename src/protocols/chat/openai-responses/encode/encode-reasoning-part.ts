// Encodes reasoning: as the item it came from, and only for its minter. The vendor accepts none unsealed.

import type { ReasoningPart } from "../../../../canonical/chat/content-part.ts"
import type { Json } from "../../../../canonical/json.ts"
import { dropped } from "../../../losses.ts"
import type { JsonDraft } from "../../../openai/field-reader.ts"
import { writingOf } from "../passthrough-fields.ts"
import { openReasoning, type ReasoningItemSeal, splitThought } from "../seals.ts"
import { maySendSeal, type ResponsesEncodeContext } from "./encode-context.ts"

/** A summary that may belong to the same item as the next part. */
export interface HeldReasoning {
  held: ReasoningPart | undefined
}

export function encodeReasoning(
  part: ReasoningPart,
  thoughts: HeldReasoning,
  encodeContext: ResponsesEncodeContext,
): Json[] {
  const { as } = writingOf(part.extra)
  if (as !== undefined) return [as]
  const seal = part.sealed && maySendSeal(part.sealed, encodeContext) ? openReasoning(part.sealed) : undefined
  const before = thoughts.held
  thoughts.held = undefined
  if (seal) {
    if (before && !seal.both) reportReasoningLoss(before, encodeContext)
    return [itemOf(part, seal, seal.both ? before : undefined)]
  }
  if (before) reportReasoningLoss(before, encodeContext)
  if (part.sealed) reportReasoningLoss(part, encodeContext)
  else thoughts.held = part
  return []
}

/** Reports held reasoning as lost, because no part follows. */
export function endHeldReasoning(thoughts: HeldReasoning, encodeContext: ResponsesEncodeContext): void {
  if (thoughts.held) reportReasoningLoss(thoughts.held, encodeContext)
  thoughts.held = undefined
}

function reportReasoningLoss({ at = "" }: ReasoningPart, { context }: ResponsesEncodeContext): void {
  context.losses.push(dropped.hint(at, "reasoning goes back only to the provider that sealed it"))
}

function itemOf(part: ReasoningPart, seal: ReasoningItemSeal, summed: ReasoningPart | undefined): JsonDraft {
  // Not its form: that may have become another on the way through a client of another protocol.
  const isFull = seal.content !== undefined
  const summary = isFull ? summed : part
  const item: JsonDraft = {
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
