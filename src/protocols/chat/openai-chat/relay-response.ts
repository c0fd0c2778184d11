// A unary chat completion: how it passes in the relay lane, and what its finish reasons mean.

import type { CandidateFinish } from "../../../canonical/chat/chat-response.ts"
import type { Json } from "../../../canonical/json.ts"
import { findMember, type JsonOutline } from "../../../transport/json/json-scan.ts"
import { asciiJson, spliceJson } from "../../../transport/json/json-splice.ts"
import type { RelayContext, RelayedResponse } from "../../contract.ts"
import { memberText, memberValue } from "../../response-member.ts"
import { relayedUsage } from "../../usage/relayed-usage.ts"
import { decodeUsage, encodeUsage } from "./usage.ts"

export function relayAnswer(text: string, outlined: JsonOutline, { model }: RelayContext): RelayedResponse | undefined {
  const error = findMember(outlined, "error")
  if (error && text.slice(error.valueStart, error.end) !== "null") return undefined
  if (!findMember(outlined, "choices")) return undefined
  const usage = decodeUsage(memberValue(text, outlined, "usage"))
  const passed = spliceJson(text, [{ path: ["model"], set: asciiJson(model) }], outlined)
  return {
    text: passed,
    ...relayedUsage(passed, { usage, member: "usage", encodeUsage }),
    model: memberText(text, outlined, "model"),
  }
}

const FINISHES: Readonly<Record<string, CandidateFinish["reason"]>> = {
  stop: "stop",
  eos: "stop",
  end_turn: "stop",
  length: "length",
  max_tokens: "length",
  model_length: "length",
  tool_calls: "tool-calls",
  function_call: "tool-calls",
  content_filter: "filtered",
  sensitive: "filtered",
}

interface ChatFinishContext {
  readonly hasCalls: boolean
  readonly refused: boolean
  /** vLLM's: the stop sequence that was met, in a member of its own. */
  readonly stopReason: Json | undefined
}

/** Some hosts say that a model has stopped where it waits for its tools; all say so where it refused. */
export function decodeFinish(word: string, { hasCalls, refused, stopReason }: ChatFinishContext): CandidateFinish {
  const reason = Object.hasOwn(FINISHES, word) ? (FINISHES[word] ?? "other") : "other"
  if (reason !== "stop") return { reason, word }
  if (hasCalls) return { reason: "tool-calls", word }
  if (refused) return { reason: "refusal", word }
  if (typeof stopReason === "string") return { reason: "stop-sequence", word, stopSequence: stopReason }
  return { reason, word }
}
