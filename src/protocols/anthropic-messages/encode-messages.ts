// Turns as messages: what other protocols say turn by turn, in the order and grouping the vendor wants.
import { isObject, type Json, type JsonObject } from "../../canonical/json.ts"
import type { Part } from "../../canonical/part.ts"
import type { Turn } from "../../canonical/request.ts"
import { approximated } from "../losses.ts"
import { encodeParts, loneText, type Where } from "./encode-part.ts"
import { ownMembers } from "./own.ts"
import type { Writing } from "./writing.ts"

const ROLES = { user: "user", assistant: "assistant", instruction: "system" } as const

export function encodeMessages(turns: readonly Turn[], writing: Writing): JsonObject[] {
  if (writing.own) return turns.flatMap((turn) => encodeMessage([turn], writing))
  const messages = runs(turns.map((turn) => spoken(turn, writing))).flatMap((run) =>
    // The vendor joins messages of one role itself. What calls tools, or answers them, has to stand in one.
    run.some(holdsTools) ? encodeMessage(run, writing) : run.flatMap((turn) => encodeMessage([turn], writing)),
  )
  const begun = messages[0]?.role === "user" ? messages : [opening(writing), ...messages]
  return withoutLastSpace(begun, { turn: turns.at(-1), writing })
}

interface Ending {
  readonly turn: Turn | undefined
  readonly writing: Writing
}

/** The vendor goes on with an answer that was begun, but not behind white space. */
function withoutLastSpace(messages: JsonObject[], { turn, writing }: Ending): JsonObject[] {
  const last = messages.at(-1)
  if (last?.role !== "assistant") return messages
  const content = trimmed(last.content ?? "")
  if (content === last.content) return messages
  const why = "the vendor takes no white space at the end of an answer that was begun"
  writing.losses.push(approximated.hint(turn?.at ?? "messages", why))
  return messages.with(-1, { ...last, content })
}

function trimmed(content: Json): Json {
  if (typeof content === "string") return content.trimEnd()
  const block: Json = Array.isArray(content) ? content.at(-1) : undefined
  if (!isObject(block) || typeof block.text !== "string") return content
  const text = block.text.trimEnd()
  return Array.isArray(content) && text !== block.text ? content.with(-1, { ...block, text }) : content
}

/** Only the newest models take instructions amid the turns. */
function spoken(turn: Turn, { losses }: Writing): Turn {
  if (turn.role !== "instruction") return turn
  const why = "an instruction amid the turns is said as the user"
  losses.push(approximated.meaning(turn.at ?? "messages", why))
  return { ...turn, role: "user" }
}

function opening({ losses }: Writing): JsonObject {
  losses.push(approximated.hint("messages", "a conversation begins with the user: an empty remark was put first"))
  return { role: "user", content: "." }
}

function runs(turns: readonly Turn[]): Turn[][] {
  const found: Turn[][] = []
  for (const turn of turns) {
    const last = found.at(-1)
    if (last?.[0]?.role === turn.role) last.push(turn)
    else found.push([turn])
  }
  return found
}

function holdsTools({ parts }: Turn): boolean {
  return parts.some(({ kind }) => kind === "tool-call" || kind === "tool-result")
}

/** None where nothing of it could be said. */
function encodeMessage(run: readonly Turn[], writing: Writing): JsonObject[] {
  const [first] = run
  if (!first) return []
  const role = ROLES[first.role]
  const members = run.map(({ at = "", extra }) => ownMembers(extra, { at, losses: writing.losses }))
  const parts = run.length === 1 ? first.parts : run.flatMap(({ parts }) => parts)
  const content = encodeContent(parts, { place: role, writing })
  const isEmptied = typeof content !== "string" && content.length === 0 && (parts.length > 0 || !writing.own)
  if (isEmptied) return []
  return [{ role, content, ...members[0] }]
}

function encodeContent(parts: readonly Part[], where: Where): string | Json[] {
  const { place, writing } = where
  const lone = loneText(parts)
  if (lone !== undefined && (writing.own || lone.trim() !== "")) return lone
  if (writing.own || place !== "user") return encodeParts(parts, where)
  // Results stand before anything else that is said with them.
  const results = parts.filter(({ kind }) => kind === "tool-result")
  const others = parts.filter(({ kind }) => kind !== "tool-result")
  return encodeParts([...results, ...others], where)
}
