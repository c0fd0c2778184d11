// What whole answers and streams write alike: parts for clients, why an answer ended, and what it cannot say.

import type { CandidateFinish } from "../../../../canonical/chat/chat-response.ts"
import { encloseSeal } from "../../../../canonical/chat/sealed-content.ts"
import type { Loss } from "../../../../canonical/loss.ts"
import type { Usage } from "../../../../canonical/usage.ts"
import type { ClientResponseContext } from "../../../chat-codec.ts"
import { PROTOCOL } from "../passthrough-fields.ts"
import { PartEncoder } from "./encode-part.ts"

/** Seals cross the client in an envelope, so that each comes back to whoever made it. */
export function answerParts({ losses }: ClientResponseContext): PartEncoder {
  return new PartEncoder({
    losses,
    isOurs: (mintedBy) => mintedBy === PROTOCOL,
    enclose: encloseSeal,
    mediaInResults: true,
    hostedResults: true,
    foreignRuns: "hint",
  })
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

/** Whether there was something to report. */
export function reportUsage({ cacheWrite, cacheWrite1h }: Usage, losses: Loss[]): boolean {
  if (!cacheWrite && !cacheWrite1h) return false
  const why = "Gemini includes cache writes in the prompt tokens."
  losses.push({ path: "usage.cacheWrite", weight: "hint", how: "approximated", why })
  return true
}
