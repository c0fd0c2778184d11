// Maps `incomplete_details.reason` to canonical finish reasons, and back.

import type { CandidateFinish } from "../../../canonical/chat/chat-response.ts"
import { isObject, type Json, type JsonObject } from "../../../canonical/json.ts"

interface ResponsesFinishContext {
  readonly calledTools: boolean
  readonly refused: boolean
}

export function decodeFinish(
  { incomplete_details }: JsonObject,
  { calledTools, refused }: ResponsesFinishContext,
): CandidateFinish {
  const reason: Json | undefined = isObject(incomplete_details) ? incomplete_details.reason : undefined
  if (reason === "max_output_tokens") return { reason: "length", word: reason }
  if (reason === "content_filter") return { reason: "filtered", word: reason }
  if (typeof reason === "string") return { reason: "other", word: reason }
  if (calledTools) return { reason: "tool-calls" }
  return { reason: refused ? "refusal" : "stop" }
}

/** The reason of an incomplete response; undefined for a complete one. */
export function encodeFinish(finish: CandidateFinish | undefined, refused: boolean): string | undefined {
  switch (finish?.reason) {
    case "length":
      return "max_output_tokens"
    case "filtered":
      return "content_filter"
    case "refusal":
      return refused ? undefined : "content_filter"
    default:
      return undefined
  }
}
