// A unary chat completion: how it passes in the relay lane, and what its finish reasons mean.
import type { Finish } from "../../canonical/response.ts"
import type { Usage } from "../../canonical/usage.ts"
import { findMember, type Outline } from "../../transport/json-scan.ts"
import { asciiJson, splice } from "../../transport/json-splice.ts"
import type { RelayContext } from "../contract.ts"
import { memberValue } from "../member.ts"
import { decodeUsage } from "./usage.ts"

export function relayAnswer(
  text: string,
  outlined: Outline,
  { model }: RelayContext,
): { text: string; usage?: Usage } | undefined {
  const error = findMember(outlined, "error")
  if (error && text.slice(error.valueStart, error.end) !== "null") return undefined
  if (!findMember(outlined, "choices")) return undefined
  const usage = decodeUsage(memberValue(text, outlined, "usage"))
  const passed = splice(text, [{ path: ["model"], set: asciiJson(model) }], outlined)
  return { text: passed, ...(usage && { usage }) }
}

const FINISHES: Readonly<Record<string, Finish["reason"]>> = {
  stop: "stop",
  length: "length",
  tool_calls: "tool-calls",
  function_call: "tool-calls",
  content_filter: "filtered",
}

export function decodeFinish(word: string): Finish {
  return { reason: FINISHES[word] ?? "other", word }
}
