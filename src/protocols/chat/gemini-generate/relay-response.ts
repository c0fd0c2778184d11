// A unary answer: how it passes in the relay lane, and what its finish reasons mean.
import type { CandidateFinish } from "../../../canonical/chat/chat-response.ts"
import { findMember, type JsonOutline } from "../../../transport/json/json-scan.ts"
import { asciiJson, spliceJson } from "../../../transport/json/json-splice.ts"
import type { RelayContext, RelayedResponse } from "../../contract.ts"
import { memberText, memberValue } from "../../response-member.ts"
import { relayedUsage } from "../../usage/relayed-usage.ts"
import { encodeUsage } from "./encode/encode-usage.ts"
import { decodeUsage } from "./usage.ts"

export function relayAnswer(
  text: string,
  outlined: JsonOutline,
  { model, reading }: RelayContext,
): RelayedResponse | undefined {
  const error = findMember(outlined, "error")
  if (error && text.slice(error.valueStart, error.end) !== "null") return undefined
  if (reading.counts) return findMember(outlined, "totalTokens") ? { text } : undefined
  // A prompt that was blocked has no candidates.
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

const FINISHES: Readonly<Record<string, CandidateFinish["reason"]>> = {
  STOP: "stop",
  MAX_TOKENS: "length",
  SAFETY: "filtered",
  RECITATION: "filtered",
  BLOCKLIST: "filtered",
  PROHIBITED_CONTENT: "filtered",
  SPII: "filtered",
  MODEL_ARMOR: "filtered",
  IMAGE_SAFETY: "filtered",
  IMAGE_PROHIBITED_CONTENT: "filtered",
  IMAGE_RECITATION: "filtered",
}

/**
 * The wire has one word for an answer that is finished and for one that waits for its tools, and more for calls that the
 * vendor did not expect or finds unsigned. A call that was made is the client's to answer, whatever is said of it.
 */
export function decodeFinish(word: string, { calledTools }: { calledTools: boolean }): CandidateFinish {
  const reason = Object.hasOwn(FINISHES, word) ? (FINISHES[word] ?? "other") : "other"
  const isOpen = reason === "stop" || reason === "other"
  return { reason: isOpen && calledTools ? "tool-calls" : reason, word }
}
