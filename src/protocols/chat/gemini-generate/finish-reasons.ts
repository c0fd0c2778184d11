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
 * The wire has one word for an answer that is finished and for one that waits for its tools, and more for calls that the
 * vendor did not expect or finds unsigned. A call that was made is the client's to answer, whatever is said of it.
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
  /** Whether the client is to run a tool. */
  readonly calls: boolean
  readonly losses: Loss[]
}

/** The vendor's own word, of which there are more every year, stands in capitals; other vendors' do not. */
export function encodeFinish(finish: CandidateFinish | undefined, { calls, losses }: GeminiFinishContext): string {
  const { reason = "stop", word, stopSequence } = finish ?? {}
  if (stopSequence !== undefined) {
    const why = "Gemini does not report which stop sequence ended the response."
    losses.push({ path: "finish.stopSequence", weight: "hint", how: "dropped", why })
  }
  if (word !== undefined && /^[A-Z][A-Z_]*$/.test(word)) return word
  return calls && reason === "other" ? WORDS.stop : WORDS[reason]
}
