// Edits a unary generateContent response in the relay lane.
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
  const error = findMember(outlined, "error")
  if (error && text.slice(error.valueStart, error.end) !== "null") return undefined
  if (reading.counts) return findMember(outlined, "totalTokens") ? { text } : undefined
  // The response to a blocked prompt has no candidates.
  if (!findMember(outlined, "candidates") && !findMember(outlined, "promptFeedback")) return undefined
  const usage = decodeUsage(memberValue(text, outlined, "usageMetadata"))
  const passed = spliceJson(text, [{ path: ["modelVersion"], set: asciiJson(model) }], outlined)
  const images = imagesIn(text)
  return {
    text: passed,
    ...relayedUsage(passed, { usage, member: "usageMetadata", encodeUsage }),
    model: memberText(text, outlined, "modelVersion"),
    ...(images > 0 && { images }),
  }
}

/** Within a string the quotes would be escaped. */
function imagesIn(text: string): number {
  return text.match(/"mime_?[tT]ype"\s*:\s*"image\//g)?.length ?? 0
}
