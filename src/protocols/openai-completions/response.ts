// A unary completion as it passes in the relay lane.
import { isObject } from "../../canonical/json.ts"
import { decodeByteText } from "../../transport/byte-text.ts"
import { findMember, type Outline } from "../../transport/json-scan.ts"
import { asciiJson, splice } from "../../transport/json-splice.ts"
import type { RelayContext, RelayedAnswer } from "../contract.ts"
import { memberText, memberValue } from "../member.ts"
import { decodeUsage } from "./usage.ts"

export function relayAnswer(text: string, outlined: Outline, { model }: RelayContext): RelayedAnswer | undefined {
  const error = findMember(outlined, "error")
  if (error && text.slice(error.valueStart, error.end) !== "null") return undefined
  if (!findMember(outlined, "choices")) return undefined
  const usage = decodeUsage(memberValue(text, outlined, "usage"))
  const passed = splice(text, [{ path: ["model"], set: asciiJson(model) }], outlined)
  return {
    text: passed,
    usage,
    model: memberText(text, outlined, "model"),
    said: () => decodeByteText(saidIn(memberValue(text, outlined, "choices"))),
  }
}

function saidIn(choices: unknown): string {
  if (!Array.isArray(choices)) return ""
  return choices.map((choice) => (isObject(choice) && typeof choice.text === "string" ? choice.text : "")).join("\n")
}
