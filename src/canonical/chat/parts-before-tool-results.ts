// What stands before the tools' results at the end of a conversation: vendors that sign thoughts want them there.

import type { ConversationTurn } from "./chat-request.ts"
import type { ContentPart } from "./content-part.ts"

/** All the assistant said right before its tools' results, in one turn or several; nothing where none stand at the end. */
export function partsBeforeToolResults(turns: readonly ConversationTurn[]): ContentPart[] {
  const last = turns.findLastIndex(({ role }) => role === "assistant")
  const hasResults = turns.slice(last + 1).some(({ parts }) => parts.some(({ kind }) => kind === "tool-result"))
  if (!hasResults) return []
  const before = turns.slice(0, last + 1)
  const first = before.findLastIndex(({ role }) => role !== "assistant") + 1
  return before.slice(first).flatMap(({ parts }) => parts)
}
