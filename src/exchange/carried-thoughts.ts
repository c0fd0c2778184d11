// Thoughts for clients that drop them, but give back what stands on a call: they ride in the seal of the call they led
// to, and are put back before it when the conversation returns. No state is kept.
import { isObject, type Json } from "../canonical/json.ts"
import type { Part, ReasoningPart } from "../canonical/part.ts"
import type { ChatRequest, Turn } from "../canonical/request.ts"
import type { Sealed } from "../canonical/sealed.ts"
import type { Kept } from "./kept-seals.ts"
import { withKept } from "./restore-seals.ts"

/** Who "mints" a seal in which thoughts ride. */
const CARRIER = "trivium:thoughts"

/** What a call bears to the client: its own seal, and the thoughts before it where there are any. */
export function carryThoughts({ before, sealed }: Kept): Sealed | undefined {
  if (before.length === 0) return sealed
  const thoughts = before.map(({ form, text, sealed: seal }) => ({ form, text, sealed: seal }))
  return { mintedBy: CARRIER, data: JSON.stringify({ thoughts, sealed }) }
}

/** The request with every thought that rode back in its place. */
export function withCarried(request: ChatRequest): ChatRequest {
  const kept = new Map<string, Kept>()
  const turns = request.turns.map((turn) => unloaded(turn, kept))
  return kept.size === 0 ? request : withKept({ ...request, turns }, kept)
}

function unloaded(turn: Turn, kept: Map<string, Kept>): Turn {
  if (!turn.parts.some(isCarrier)) return turn
  // Some clients do give thoughts back.
  const told = turn.parts.flatMap((part) => (part.kind === "reasoning" && part.sealed ? [part.sealed.data] : []))
  const parts = turn.parts.map((part) => {
    if (part.kind !== "tool-call" || !isCarrier(part)) return part
    const { sealed, ...call } = part
    const { before, ...own } = opened(sealed?.data ?? "")
    kept.set(part.id, { ...own, before: before.filter((thought) => !told.includes(thought.sealed?.data ?? "")) })
    return call
  })
  return { ...turn, parts }
}

function isCarrier(part: Part): boolean {
  return part.kind === "tool-call" && part.sealed?.mintedBy === CARRIER
}

/** A client may have written it: what is not as we wrote it is left out. */
function opened(data: string): Kept {
  const said = parsed(data)
  if (!isObject(said)) return { before: [] }
  const thoughts = Array.isArray(said.thoughts) ? said.thoughts : []
  const sealed = sealIn(said.sealed)
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

function sealIn(value: Json | undefined): Sealed | undefined {
  if (!isObject(value)) return undefined
  const { mintedBy, data } = value
  return typeof mintedBy === "string" && typeof data === "string" ? { mintedBy, data } : undefined
}

function parsed(text: string): Json | undefined {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
