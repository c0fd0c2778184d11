// A unary chat completion: how it passes in the relay lane, and what its finish reasons mean.
import type { Json } from "../../canonical/json.ts"
import type { Finish } from "../../canonical/response.ts"
import { findMember, type Outline } from "../../transport/json-scan.ts"
import { asciiJson, splice } from "../../transport/json-splice.ts"
import type { RelayContext, RelayedAnswer } from "../contract.ts"
import { memberText, memberValue } from "../member.ts"
import { usageReported } from "../usage-reported.ts"
import { decodeUsage, encodeUsage } from "./usage.ts"

export function relayAnswer(text: string, outlined: Outline, { model }: RelayContext): RelayedAnswer | undefined {
  const error = findMember(outlined, "error")
  if (error && text.slice(error.valueStart, error.end) !== "null") return undefined
  if (!findMember(outlined, "choices")) return undefined
  const usage = decodeUsage(memberValue(text, outlined, "usage"))
  const passed = splice(text, [{ path: ["model"], set: asciiJson(model) }], outlined)
  return {
    text: passed,
    ...usageReported(passed, { usage, member: "usage", encodeUsage }),
    model: memberText(text, outlined, "model"),
  }
}

const FINISHES: Readonly<Record<string, Finish["reason"]>> = {
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

interface Ending {
  readonly hasCalls: boolean
  readonly refused: boolean
  /** vLLM's: the stop sequence that was met, in a member of its own. */
  readonly stopReason: Json | undefined
}

/** Some hosts say that a model has stopped where it waits for its tools; all say so where it refused. */
export function decodeFinish(word: string, { hasCalls, refused, stopReason }: Ending): Finish {
  const reason = Object.hasOwn(FINISHES, word) ? (FINISHES[word] ?? "other") : "other"
  if (reason !== "stop") return { reason, word }
  if (hasCalls) return { reason: "tool-calls", word }
  if (refused) return { reason: "refusal", word }
  if (typeof stopReason === "string") return { reason: "stop-sequence", word, stopSequence: stopReason }
  return { reason, word }
}
