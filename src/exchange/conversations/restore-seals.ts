// Restores the stored seals of a returning conversation to the calls and texts they belong to.

import type { ChatRequest, ConversationTurn } from "../../canonical/chat/chat-request.ts"
import type { ContentPart, ReasoningPart } from "../../canonical/chat/content-part.ts"
import { hashQuestion, turnKeys } from "./answer-text.ts"
import type { SealBundle, SealLookup } from "./seal-cache.ts"

/** The request with the seals of its calls put back: only those that the upstream itself has made. */
export function restoreCallSeals(request: ChatRequest, calls: SealLookup["calls"], minter: string): ChatRequest {
  const kept = new Map<string, SealBundle>()
  for (const part of calls.size > 0 ? request.turns.flatMap(({ parts }) => parts) : []) {
    const found = part.kind === "tool-call" ? calls.get(part.id) : undefined
    if (part.kind === "tool-call" && found) kept.set(part.id, mintedBy(minter, found))
  }
  return restoreSeals(request, kept)
}

/** Ids of calls are not unique at every host: what another one has made is of another conversation. */
function mintedBy(minter: string, { sealed, before }: SealBundle): SealBundle {
  const own = sealed?.mintedBy === minter ? { sealed } : {}
  return { ...own, before: before.filter((thought) => thought.sealed?.mintedBy === minter) }
}

/** The request with the seals of its tool calls restored. */
export function restoreSeals(request: ChatRequest, kept: ReadonlyMap<string, SealBundle>): ChatRequest {
  if (kept.size === 0) return request
  const isNew = newSealFilter(request)
  const restore = (turn: ConversationTurn) => (turn.role === "assistant" ? restoreTurn(turn, kept, isNew) : turn)
  return { ...request, turns: request.turns.map(restore) }
}

/** Thoughts before the first call belong before the whole turn; the client may have sent them back unsealed. */
function restoreTurn(
  turn: ConversationTurn,
  kept: ReadonlyMap<string, SealBundle>,
  isNew: NewSealFilter,
): ConversationTurn {
  const parts: ContentPart[] = []
  let opening: readonly ReasoningPart[] | undefined
  for (const part of turn.parts) {
    if (part.kind !== "tool-call") {
      parts.push(part)
      continue
    }
    const found = part.sealed ? undefined : kept.get(part.id)
    const before = found?.before.filter(isNew) ?? []
    if (opening) parts.push(...before)
    opening ??= before
    parts.push(found?.sealed ? { ...part, sealed: found.sealed } : part)
  }
  if (!opening || opening.length === 0) return { ...turn, parts }
  return { ...turn, parts: [...opening, ...parts.filter((part) => part.kind !== "reasoning" || part.sealed)] }
}

type NewSealFilter = (thought: ReasoningPart) => boolean

/** Whether a thought's seal is none that the client gave back itself; some protocols make a turn of each item. */
function newSealFilter({ turns }: ChatRequest): NewSealFilter {
  const parts = turns.flatMap((turn) => turn.parts)
  const present = new Set(parts.map((part) => (part.kind === "reasoning" ? part.sealed?.data : undefined)))
  return ({ sealed }) => !present.has(sealed?.data)
}

/** The request with the seals behind its texts restored, as far as this upstream made them. */
export function restoreTrailingSeals(request: ChatRequest, texts: SealLookup["texts"], minter: string): ChatRequest {
  if (texts.size === 0) return request
  const { turns } = request
  const isNew = newSealFilter(request)
  return {
    ...request,
    turns: turns.map((turn, index) => {
      const hasText = turn.role === "assistant" && turn.parts.some(({ kind }) => kind === "text")
      const keys = hasText ? turnKeys(turn.parts, hashQuestion(turns, index)) : []
      const key = keys.find((each) => texts.has(each))
      const seals = key === undefined ? [] : (texts.get(key)?.before ?? [])
      return appendSeals(
        turn,
        seals.filter((thought) => thought.sealed?.mintedBy === minter && isNew(thought)),
      )
    }),
  }
}

function appendSeals(turn: ConversationTurn, seals: readonly ReasoningPart[]): ConversationTurn {
  if (seals.length === 0) return turn
  const text = turn.parts.findLastIndex(({ kind }) => kind === "text")
  return { ...turn, parts: turn.parts.toSpliced(text + 1, 0, ...seals) }
}
