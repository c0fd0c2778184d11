// Maps `stopReason` to canonical finish reasons.

import type { CandidateFinish } from "../../../canonical/chat/chat-response.ts"
import { isObject, type Json } from "../../../canonical/json.ts"

const FINISHES: ReadonlyMap<string, CandidateFinish["reason"]> = new Map([
  ["end_turn", "stop"],
  ["stop_sequence", "stop-sequence"],
  ["max_tokens", "length"],
  ["model_context_window_exceeded", "length"],
  ["tool_use", "tool-calls"],
  ["guardrail_intervened", "filtered"],
  ["content_filtered", "filtered"],
  ["refusal", "refusal"],
])

interface ConverseFinishContext {
  /** `additionalModelResponseFields`, where Claude reports the stop sequence. */
  readonly fields: Json | undefined
  /** True if the answer tool was called and no other tool. */
  readonly answered: boolean
}

export function decodeFinish(word: string, { fields, answered }: ConverseFinishContext): CandidateFinish {
  if (word === "tool_use" && answered) return { reason: "stop" }
  const stopSequence = sequenceIn(fields)
  return { reason: FINISHES.get(word) ?? "other", word, ...(stopSequence !== undefined && { stopSequence }) }
}

/** A whole response has it at the top level, a stream inside its last delta. */
function sequenceIn(fields: Json | undefined): string | undefined {
  if (!isObject(fields)) return undefined
  const { stop_sequence: sequence = isObject(fields.delta) ? fields.delta.stop_sequence : undefined } = fields
  return typeof sequence === "string" ? sequence : undefined
}
