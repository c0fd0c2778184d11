// Preserves reasoning for clients that drop it but return a tool call's seal: the reasoning travels in the seal of the
// call it led to, and is restored before the call when the conversation returns. No state is stored.

import type { ChatRequest, ConversationTurn } from "../../canonical/chat/chat-request.ts"
import type { ContentPart, ReasoningPart } from "../../canonical/chat/content-part.ts"
import type { SealedContent } from "../../canonical/chat/sealed-content.ts"
import { isObject, type Json, parseJson } from "../../canonical/json.ts"
import { restoreSeals } from "./restore-seals.ts"
import type { SealBundle } from "./seal-cache.ts"

/** Who "mints" a seal in which thoughts ride. */
const CARRIER = "trivium:thoughts"

/** What a call bears to the client: its own seal, and the thoughts before it where there are any. */
export function carryThoughts({ before, sealed }: SealBundle): SealedContent | undefined {
  if (before.length === 0) return sealed
  const thoughts = before.map(({ form, text, sealed: seal }) => ({ form, text, sealed: seal }))
  return { mintedBy: CARRIER, data: JSON.stringify({ thoughts, sealed }) }
}

/** The request with every thought that rode back in its place. */
export function restoreCarriedThoughts(request: ChatRequest): ChatRequest {
  const kept = new Map<string, SealBundle>()
  const turns = request.turns.map((turn) => unloadTurn(turn, kept))
  return kept.size === 0 ? request : restoreSeals({ ...request, turns }, kept)
}

function unloadTurn(turn: ConversationTurn, kept: Map<string, SealBundle>): ConversationTurn {
  if (!turn.parts.some(isCarrier)) return turn
  // Some clients do give thoughts back.
  const carried = turn.parts.flatMap((part) => (part.kind === "reasoning" && part.sealed ? [part.sealed.data] : []))
  const parts = turn.parts.map((part) => {
    if (part.kind !== "tool-call" || !isCarrier(part)) return part
    const { sealed, ...call } = part
    const { before, ...own } = openCarrier(sealed?.data ?? "")
    kept.set(part.id, { ...own, before: before.filter((thought) => !carried.includes(thought.sealed?.data ?? "")) })
    return call
  })
  return { ...turn, parts }
}

function isCarrier(part: ContentPart): boolean {
  return part.kind === "tool-call" && part.sealed?.mintedBy === CARRIER
}

/** A client may have written it: what is not as we wrote it is left out. */
function openCarrier(data: string): SealBundle {
  const value = parseJson(data)
  if (!isObject(value)) return { before: [] }
  const thoughts = Array.isArray(value.thoughts) ? value.thoughts : []
  const sealed = sealIn(value.sealed)
  return { before: thoughts.flatMap(thoughtIn), ...(sealed && { sealed }) }
}

const FORMS: readonly string[] = ["full", "summary", "hidden"] satisfies ReasoningPart["form"][]

function thoughtIn(value: Json): ReasoningPart[] {
  if (!isObject(value)) return []
  const { form, text } = value
  const sealed = sealIn(value.sealed)
  if (!sealed || typeof text !== "string" || typeof form !== "string" || !FORMS.includes(form)) return []
  return [{ kind: "reasoning", form: form as ReasoningPart["form"], text, sealed }]
}

function sealIn(value: Json | undefined): SealedContent | undefined {
  if (!isObject(value)) return undefined
  const { mintedBy, data } = value
  return typeof mintedBy === "string" && typeof data === "string" ? { mintedBy, data } : undefined
}
