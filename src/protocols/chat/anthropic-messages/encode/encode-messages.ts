// Encodes turns as messages, in the order and grouping that the vendor requires.

import type { ConversationTurn } from "../../../../canonical/chat/chat-request.ts"
import type { ContentPart } from "../../../../canonical/chat/content-part.ts"
import { isObject, type Json, type JsonObject } from "../../../../canonical/json.ts"
import { approximated } from "../../../losses.ts"
import { ownMembers } from "../passthrough-fields.ts"
import type { AnthropicEncodeContext } from "./encode-context.ts"
import { type BlockContext, encodeParts, loneText } from "./encode-part.ts"

const ROLES = { user: "user", assistant: "assistant", instruction: "system" } as const

export function encodeMessages(
  turns: readonly ConversationTurn[],
  encodeContext: AnthropicEncodeContext,
): JsonObject[] {
  if (encodeContext.own) return turns.flatMap((turn) => encodeMessage([turn], encodeContext))
  const messages = groupByRole(turns.map((turn) => instructionAsUser(turn, encodeContext))).flatMap((run) =>
    // The vendor joins messages of one role itself, but tool calls and results must be in one message.
    run.some(holdsTools)
      ? encodeMessage(run, encodeContext)
      : run.flatMap((turn) => encodeMessage([turn], encodeContext)),
  )
  const begun = messages[0]?.role === "user" ? messages : [openingUserMessage(encodeContext), ...messages]
  return withoutLastSpace(begun, { turn: turns.at(-1), encodeContext })
}

interface LastMessageContext {
  readonly turn: ConversationTurn | undefined
  readonly encodeContext: AnthropicEncodeContext
}

/** The vendor continues an unfinished response, but not after white space. */
function withoutLastSpace(messages: JsonObject[], { turn, encodeContext }: LastMessageContext): JsonObject[] {
  const last = messages.at(-1)
  if (last?.role !== "assistant") return messages
  const content = trimContentEnd(last.content ?? "")
  if (content === last.content) return messages
  const why = "the vendor accepts no white space at the end of a prefilled response"
  encodeContext.losses.push(approximated.hint(turn?.at ?? "messages", why))
  return messages.with(-1, { ...last, content })
}

function trimContentEnd(content: Json): Json {
  if (typeof content === "string") return content.trimEnd()
  const block: Json = Array.isArray(content) ? content.at(-1) : undefined
  if (!isObject(block) || typeof block.text !== "string") return content
  const text = block.text.trimEnd()
  return Array.isArray(content) && text !== block.text ? content.with(-1, { ...block, text }) : content
}

/** Only the newest models accept instructions among the turns. */
function instructionAsUser(turn: ConversationTurn, { losses }: AnthropicEncodeContext): ConversationTurn {
  if (turn.role !== "instruction") return turn
  const why = "an instruction in the middle of the conversation is sent as a user message"
  losses.push(approximated.meaning(turn.at ?? "messages", why))
  return { ...turn, role: "user" }
}

function openingUserMessage({ losses }: AnthropicEncodeContext): JsonObject {
  losses.push(
    approximated.hint("messages", "a conversation must begin with a user message: a placeholder was inserted"),
  )
  return { role: "user", content: "." }
}

function groupByRole(turns: readonly ConversationTurn[]): ConversationTurn[][] {
  const found: ConversationTurn[][] = []
  for (const turn of turns) {
    const last = found.at(-1)
    if (last?.[0]?.role === turn.role) last.push(turn)
    else found.push([turn])
  }
  return found
}

function holdsTools({ parts }: ConversationTurn): boolean {
  return parts.some(({ kind }) => kind === "tool-call" || kind === "tool-result")
}

/** Empty if no part of it can be expressed. */
function encodeMessage(run: readonly ConversationTurn[], encodeContext: AnthropicEncodeContext): JsonObject[] {
  const [first] = run
  if (!first) return []
  const role = ROLES[first.role]
  const members = run.map(({ at = "", extra }) => ownMembers(extra, { at, losses: encodeContext.losses }))
  const parts = run.length === 1 ? first.parts : run.flatMap(({ parts }) => parts)
  const content = encodeContent(parts, { place: role, encodeContext })
  const isEmptied = typeof content !== "string" && content.length === 0 && (parts.length > 0 || !encodeContext.own)
  if (isEmptied) return []
  return [{ role, content, ...members[0] }]
}

function encodeContent(parts: readonly ContentPart[], where: BlockContext): string | Json[] {
  const { place, encodeContext } = where
  const lone = loneText(parts)
  if (lone !== undefined && (encodeContext.own || lone.trim() !== "")) return lone
  if (encodeContext.own || place !== "user") return encodeParts(parts, where)
  // Tool results come before other content of the same message.
  const results = parts.filter(({ kind }) => kind === "tool-result")
  const others = parts.filter(({ kind }) => kind !== "tool-result")
  return encodeParts([...results, ...others], where)
}
