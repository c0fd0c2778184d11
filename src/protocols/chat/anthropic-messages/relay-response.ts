// Edits a unary message in the relay lane.

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
