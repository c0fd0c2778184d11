// A unary completion as it passes in the relay lane.
import { isObject } from "../../../canonical/json.ts"
import { decodeByteText } from "../../../transport/json/byte-text.ts"
import { findMember, type JsonOutline } from "../../../transport/json/json-scan.ts"
import { asciiJson, spliceJson } from "../../../transport/json/json-splice.ts"
import type { RelayContext, RelayedResponse } from "../../contract.ts"
import { memberText, memberValue } from "../../response-member.ts"
import { decodeUsage } from "./usage.ts"

export function relayAnswer(text: string, outlined: JsonOutline, { model }: RelayContext): RelayedResponse | undefined {
  const error = findMember(outlined, "error")
  if (error && text.slice(error.valueStart, error.end) !== "null") return undefined
  if (!findMember(outlined, "choices")) return undefined
  const usage = decodeUsage(memberValue(text, outlined, "usage"))
  const passed = spliceJson(text, [{ path: ["model"], set: asciiJson(model) }], outlined)
  return {
    text: passed,
    usage,
    model: memberText(text, outlined, "model"),
    transcript: () => decodeByteText(textOfChoices(memberValue(text, outlined, "choices"))),
  }
}

function textOfChoices(choices: unknown): string {
  if (!Array.isArray(choices)) return ""
  return choices.map((choice) => (isObject(choice) && typeof choice.text === "string" ? choice.text : "")).join("\n")
}
