// A unary message: how it passes in the relay lane, and what its stop reasons mean.
import type { Json } from "../../canonical/json.ts"
import type { Finish } from "../../canonical/response.ts"
import { findMember, type Outline } from "../../transport/json-scan.ts"
import { asciiJson, splice } from "../../transport/json-splice.ts"
import type { RelayContext, RelayedAnswer } from "../contract.ts"
import { memberText, memberValue } from "../member.ts"
import { usageReported } from "../usage-reported.ts"
import { decodeUsage, encodeUsage } from "./usage.ts"

export function relayAnswer(
  text: string,
  outlined: Outline,
  { model, reading }: RelayContext,
): RelayedAnswer | undefined {
  if (reading.operation === "count_tokens") return findMember(outlined, "input_tokens") ? { text } : undefined
  if (!findMember(outlined, "content") || memberValue(text, outlined, "type") === "error") return undefined
  const usage = decodeUsage(memberValue(text, outlined, "usage"))
  const passed = splice(text, [{ path: ["model"], set: asciiJson(model) }], outlined)
  return {
    text: passed,
    ...usageReported(passed, { usage, member: "usage", encodeUsage }),
    model: memberText(text, outlined, "model"),
  }
}

const FINISHES: Readonly<Record<string, Finish["reason"]>> = {
  end_turn: "stop",
  max_tokens: "length",
  model_context_window_exceeded: "length",
  stop_sequence: "stop-sequence",
  tool_use: "tool-calls",
  pause_turn: "paused",
  refusal: "refusal",
}

/** What a stop reason of the vendor's means; undefined for a word that is not its. */
export function finishOf(word: string): Finish["reason"] | undefined {
  return Object.hasOwn(FINISHES, word) ? FINISHES[word] : undefined
}

export function decodeFinish(word: string, sequence: Json | undefined): Finish {
  return {
    reason: finishOf(word) ?? "other",
    word,
    ...(typeof sequence === "string" && { stopSequence: sequence }),
  }
}
