// A conversation that returns gets back the seals that were kept for it: on the calls, and behind the texts, they stood at.
import type { Part, ReasoningPart } from "../canonical/part.ts"
import type { ChatRequest, Turn } from "../canonical/request.ts"
import { hashQuestion, turnKeys } from "./answer-text.ts"
import type { Kept, KeptLookup } from "./kept-seals.ts"

/** The request with the seals of its calls put back in their place. */
export function withKept(request: ChatRequest, kept: ReadonlyMap<string, Kept>): ChatRequest {
  if (kept.size === 0) return request
  return { ...request, turns: request.turns.map((turn) => (turn.role === "assistant" ? restored(turn, kept) : turn)) }
}

/** What a model thought before its first call it thought before all it said; the client may have told it back unsealed. */
function restored(turn: Turn, kept: ReadonlyMap<string, Kept>): Turn {
  const parts: Part[] = []
  const isNew = newSeals(turn.parts)
  let opening: readonly ReasoningPart[] | undefined
  for (const part of turn.parts) {
    const found = part.kind === "tool-call" && !part.sealed ? kept.get(part.id) : undefined
    const before = found?.before.filter(isNew) ?? []
    if (part.kind !== "tool-call" || !found) parts.push(part)
    else {
      if (opening) parts.push(...before)
      parts.push({ ...part, ...(found.sealed && { sealed: found.sealed }) })
    }
    if (part.kind === "tool-call") opening ??= before
  }
  if (!opening || opening.length === 0) return { ...turn, parts }
  return { ...turn, parts: [...opening, ...parts.filter((part) => part.kind !== "reasoning" || part.sealed)] }
}

/** Whether a thought's seal is none that the client gave back itself. */
function newSeals(parts: readonly Part[]): (thought: ReasoningPart) => boolean {
  const told = new Set(parts.map((part) => (part.kind === "reasoning" ? part.sealed?.data : undefined)))
  return ({ sealed }) => !told.has(sealed?.data)
}

/** The request with the seals that stood behind texts put back: only those that the upstream itself has made. */
export function withSealsBehind(request: ChatRequest, texts: KeptLookup["texts"], minter: string): ChatRequest {
  if (texts.size === 0) return request
  const { turns } = request
  return {
    ...request,
    turns: turns.map((turn, index) => {
      const hasText = turn.role === "assistant" && turn.parts.some(({ kind }) => kind === "text")
      const keys = hasText ? turnKeys(turn.parts, hashQuestion(turns, index)) : []
      const key = keys.find((each) => texts.has(each))
      const seals = key === undefined ? [] : (texts.get(key)?.before ?? [])
      return sealedBehind(
        turn,
        seals.filter(({ sealed }) => sealed?.mintedBy === minter),
      )
    }),
  }
}

function sealedBehind(turn: Turn, seals: readonly ReasoningPart[]): Turn {
  const missing = seals.filter(newSeals(turn.parts))
  if (missing.length === 0) return turn
  const text = turn.parts.findLastIndex(({ kind }) => kind === "text")
  return { ...turn, parts: turn.parts.toSpliced(text + 1, 0, ...missing) }
}
