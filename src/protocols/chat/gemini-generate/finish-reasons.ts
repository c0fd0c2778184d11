// Maps `finishReason` to canonical finish reasons, and back.

import type { CandidateFinish } from "../../../canonical/chat/chat-response.ts"
import type { Loss } from "../../../canonical/loss.ts"

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
 * The wire has one reason for a finished response and for one with pending calls, and further ones for calls that the
 * vendor did not expect or that lack a signature. The client answers every call, whatever the reason.
 */
export function decodeFinish(word: string, { calledTools }: { calledTools: boolean }): CandidateFinish {
  const reason = Object.hasOwn(FINISHES, word) ? (FINISHES[word] ?? "other") : "other"
  const isOpen = reason === "stop" || reason === "other"
  return { reason: isOpen && calledTools ? "tool-calls" : reason, word }
}

const WORDS: Readonly<Record<CandidateFinish["reason"], string>> = {
  stop: "STOP",
  "stop-sequence": "STOP",
  length: "MAX_TOKENS",
  "tool-calls": "STOP",
  filtered: "SAFETY",
  refusal: "SAFETY",
  paused: "OTHER",
  other: "OTHER",
}

interface GeminiFinishContext {
  /** True if the client has to run a tool. */
  readonly calls: boolean
  readonly losses: Loss[]
}

/** The vendor's own reasons, which grow every year, are in upper case; other vendors' are not. */
export function encodeFinish(finish: CandidateFinish | undefined, { calls, losses }: GeminiFinishContext): string {
  const { reason = "stop", word, stopSequence } = finish ?? {}
  if (stopSequence !== undefined) {
    const why = "Gemini does not report which stop sequence ended the response."
    losses.push({ path: "finish.stopSequence", weight: "hint", how: "dropped", why })
  }
  if (word !== undefined && /^[A-Z][A-Z_]*$/.test(word)) return word
  return calls && reason === "other" ? WORDS.stop : WORDS[reason]
}
