// Maps `finish_reason` to canonical finish reasons, and back.

import type { CandidateFinish } from "../../../canonical/chat/chat-response.ts"
import type { Json } from "../../../canonical/json.ts"
import type { Losses } from "../../../canonical/loss.ts"

const FINISHES: Readonly<Record<string, CandidateFinish["reason"]>> = {
  stop: "stop",
  eos: "stop",
  end_turn: "stop",
  length: "length",
  max_tokens: "length",
  model_length: "length",
  tool_calls: "tool-calls",
  function_call: "tool-calls",
  content_filter: "filtered",
  sensitive: "filtered",
}

interface ChatFinishContext {
  readonly hasCalls: boolean
  readonly refused: boolean
  /** vLLM's: the stop sequence that was met, in a member of its own. */
  readonly stopReason: Json | undefined
}

/** Some hosts report a stop when the model waits for tools; all do when it refused. */
export function decodeFinish(word: string, { hasCalls, refused, stopReason }: ChatFinishContext): CandidateFinish {
  const reason = Object.hasOwn(FINISHES, word) ? (FINISHES[word] ?? "other") : "other"
  if (reason !== "stop") return { reason, word }
  if (hasCalls) return { reason: "tool-calls", word }
  if (refused) return { reason: "refusal", word }
  if (typeof stopReason === "string") return { reason: "stop-sequence", word, stopSequence: stopReason }
  return { reason, word }
}

interface ChatFinishInput {
  readonly isLegacy: boolean
  readonly hasCalls: boolean
  readonly refused: boolean
}

const WORDS: Readonly<Record<CandidateFinish["reason"], string>> = {
  stop: "stop",
  "stop-sequence": "stop",
  length: "length",
  "tool-calls": "tool_calls",
  filtered: "content_filter",
  refusal: "content_filter",
  paused: "stop",
  other: "stop",
}

/** Clients run tools only on `tool_calls`, so exactly the responses with calls have it. */
export function encodeFinish(
  finish: CandidateFinish | undefined,
  { isLegacy, hasCalls, refused }: ChatFinishInput,
): string {
  const word = usualWord(finish, { hasCalls, refused })
  return isLegacy && word === "tool_calls" ? "function_call" : word
}

function usualWord(
  finish: CandidateFinish | undefined,
  { hasCalls, refused }: Omit<ChatFinishInput, "isLegacy">,
): string {
  const word = WORDS[finish?.reason ?? "stop"]
  if (finish?.reason === "refusal" && refused) return "stop"
  if (word === "stop" && hasCalls) return "tool_calls"
  return word === "tool_calls" && !hasCalls ? "stop" : word
}

export function reportFinish(
  finish: CandidateFinish | undefined,
  { path, losses }: { path: string; losses: Losses },
): void {
  if (finish?.reason !== "paused" && finish?.reason !== "other") return
  losses.push({
    path: `${path}.finish`,
    weight: "meaning",
    how: "approximated",
    why: `chat completions has no finish reason for ${finish.word ?? finish.reason}`,
  })
}
