// Encodes turns as messages: user and assistant alternate strictly, and tool results come first in a user message.

import type { ConversationTurn } from "../../../../canonical/chat/chat-request.ts"
import type { JsonObject } from "../../../../canonical/json.ts"
import { approximated } from "../../../losses.ts"
import { reportForeignFields } from "../passthrough-fields.ts"
import { withCachePoints } from "./encode-cache-points.ts"
import type { BedrockEncodeContext } from "./encode-context.ts"
import { encodeParts, type PlacedBlock } from "./encode-part.ts"

interface ConverseMessage {
  readonly role: "user" | "assistant"
  readonly results: PlacedBlock[]
  readonly others: PlacedBlock[]
}

/** Placeholder for a message that must have text but has none. */
const PLACEHOLDER_TEXT: JsonObject = { text: "." }

export function encodeMessages(turns: readonly ConversationTurn[], encodeContext: BedrockEncodeContext): JsonObject[] {
  const messages: ConverseMessage[] = []
  for (const turn of turns) appendTurn(turn, { messages, encodeContext })
  if (messages[0]?.role !== "user") {
    const why = "a conversation must begin with a user message: a placeholder was inserted"
    encodeContext.losses.push(approximated.hint("messages", why))
    messages.unshift({ role: "user", results: [], others: [{ block: PLACEHOLDER_TEXT }] })
  }
  endWithoutSpace(messages.at(-1), { at: turns.at(-1)?.at ?? "messages", encodeContext })
  return messages.map(({ role, results, others }) => {
    const content = withCachePoints([...results, ...others], encodeContext)
    return { role, content: withText(content, encodeContext) }
  })
}

/** An unfinished response continues, but not after white space: Claude refuses that. */
function endWithoutSpace(
  last: ConverseMessage | undefined,
  { at, encodeContext }: { at: string; encodeContext: BedrockEncodeContext },
): void {
  const placed = last?.role === "assistant" ? last.others.pop() : undefined
  if (!last || !placed) return
  const { text } = placed.block
  const trimmed = typeof text === "string" ? text.trimEnd() : text
  last.others.push(trimmed === undefined ? placed : { ...placed, block: { ...placed.block, text: trimmed } })
  if (trimmed === text) return
  encodeContext.losses.push(approximated.hint(at, "white space is not allowed at the end of a prefilled response"))
}

function appendTurn(
  turn: ConversationTurn,
  { messages, encodeContext }: { messages: ConverseMessage[]; encodeContext: BedrockEncodeContext },
): void {
  const { at = "messages", role: turnRole, parts, extra } = turn
  const { losses } = encodeContext
  reportForeignFields(extra, { at, losses })
  if (turnRole === "instruction") {
    losses.push(approximated.meaning(at, "an instruction in the middle of the conversation is sent as a user message"))
  }
  const role = turnRole === "assistant" ? "assistant" : "user"
  const placed = encodeParts(parts, { place: role, encodeContext })
  if (placed.length === 0) return
  let last = messages.at(-1)
  if (last?.role !== role) {
    last = { role, results: [], others: [] }
    messages.push(last)
  }
  for (const each of placed) (each.block.toolResult === undefined ? last.others : last.results).push(each)
}

/** A document without text in the same message is refused. */
function withText(content: JsonObject[], { losses }: BedrockEncodeContext): JsonObject[] {
  const alone =
    content.some(({ document }) => document !== undefined) && !content.some(({ text }) => text !== undefined)
  if (!alone) return content
  losses.push(approximated.hint("messages", "a document needs accompanying text: a placeholder was inserted"))
  return [...content, PLACEHOLDER_TEXT]
}
