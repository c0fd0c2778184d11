// Maps `stop_reason` to canonical finish reasons, and back.

import type { CandidateFinish } from "../../../canonical/chat/chat-response.ts"
import type { Json, JsonObject } from "../../../canonical/json.ts"
import type { Losses } from "../../../canonical/loss.ts"
import { approximated } from "../../losses.ts"

const FINISHES: Readonly<Record<string, CandidateFinish["reason"]>> = {
  end_turn: "stop",
  max_tokens: "length",
  model_context_window_exceeded: "length",
  stop_sequence: "stop-sequence",
  tool_use: "tool-calls",
  pause_turn: "paused",
  refusal: "refusal",
}

/** The canonical reason; undefined if the word is not one of the vendor's. */
function finishReasonOf(word: string): CandidateFinish["reason"] | undefined {
  return Object.hasOwn(FINISHES, word) ? FINISHES[word] : undefined
}

export function decodeFinish(word: string, sequence: Json | undefined): CandidateFinish {
  return {
    reason: finishReasonOf(word) ?? "other",
    word,
    ...(typeof sequence === "string" && { stopSequence: sequence }),
  }
}

interface AnthropicFinishContext {
  readonly calls: boolean
  readonly refuses: boolean
  readonly losses: Losses
}

const WORDS: Readonly<Record<Exclude<CandidateFinish["reason"], "stop" | "other" | "tool-calls">, string>> = {
  "stop-sequence": "stop_sequence",
  length: "max_tokens",
  filtered: "refusal",
  refusal: "refusal",
  paused: "pause_turn",
}

/**
 * Some hosts report a plain stop, no reason or an unknown one for a response that calls a tool or refuses. Clients run
 * tools only on `tool_use`, so a response with calls always has it.
 */
export function encodeFinish(
  finish: CandidateFinish | undefined,
  { calls, refuses, losses }: AnthropicFinishContext,
): JsonObject {
  const { reason = "stop", word, stopSequence } = finish ?? {}
  const plain = refuses ? "refusal" : calls ? "tool_use" : "end_turn"
  const isPlain = reason === "stop" || reason === "other" || reason === "tool-calls"
  const isVendors = word !== undefined && finishReasonOf(word) === reason
  if (reason === "other" && plain === "end_turn") {
    const why = `the messages protocol has no stop reason for ${word ?? reason}`
    losses.push(approximated.meaning("stop_reason", why))
  }
  return { stop_reason: isPlain ? plain : isVendors ? word : WORDS[reason], stop_sequence: stopSequence ?? null }
}
