// A unary message: how it passes in the relay lane, and what its stop reasons mean.

import type { CandidateFinish } from "../../../canonical/chat/chat-response.ts"
import type { Json } from "../../../canonical/json.ts"
import { findMember, type JsonOutline } from "../../../transport/json/json-scan.ts"
import { asciiJson, spliceJson } from "../../../transport/json/json-splice.ts"
import type { RelayContext, RelayedResponse } from "../../contract.ts"
import { memberText, memberValue } from "../../response-member.ts"
import { relayedUsage } from "../../usage/relayed-usage.ts"
import { decodeUsage, encodeUsage } from "./usage.ts"

export function relayAnswer(
  text: string,
  outlined: JsonOutline,
  { model, reading }: RelayContext,
): RelayedResponse | undefined {
  if (reading.operation === "count_tokens") return findMember(outlined, "input_tokens") ? { text } : undefined
  if (!findMember(outlined, "content") || memberValue(text, outlined, "type") === "error") return undefined
  const usage = decodeUsage(memberValue(text, outlined, "usage"))
  const passed = spliceJson(text, [{ path: ["model"], set: asciiJson(model) }], outlined)
  return {
    text: passed,
    ...relayedUsage(passed, { usage, member: "usage", encodeUsage }),
    model: memberText(text, outlined, "model"),
  }
}

const FINISHES: Readonly<Record<string, CandidateFinish["reason"]>> = {
  end_turn: "stop",
  max_tokens: "length",
  model_context_window_exceeded: "length",
  stop_sequence: "stop-sequence",
  tool_use: "tool-calls",
  pause_turn: "paused",
  refusal: "refusal",
}

/** What a stop reason of the vendor's means; undefined for a word that is not its. */
export function finishOf(word: string): CandidateFinish["reason"] | undefined {
  return Object.hasOwn(FINISHES, word) ? FINISHES[word] : undefined
}

export function decodeFinish(word: string, sequence: Json | undefined): CandidateFinish {
  return {
    reason: finishOf(word) ?? "other",
    word,
    ...(typeof sequence === "string" && { stopSequence: sequence }),
  }
}
