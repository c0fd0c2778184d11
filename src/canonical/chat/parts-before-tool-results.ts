// The assistant's parts before the final tool results: vendors that sign reasoning require them there.

import type { ConversationTurn } from "./chat-request.ts"
import type { ContentPart } from "./content-part.ts"

/** All assistant parts directly before the final tool results, over one turn or several; empty without such results. */
export function partsBeforeToolResults(turns: readonly ConversationTurn[]): ContentPart[] {
  const last = turns.findLastIndex(({ role }) => role === "assistant")
  const hasResults = turns.slice(last + 1).some(({ parts }) => parts.some(({ kind }) => kind === "tool-result"))
  if (!hasResults) return []
  const before = turns.slice(0, last + 1)
  const first = before.findLastIndex(({ role }) => role !== "assistant") + 1
  return before.slice(first).flatMap(({ parts }) => parts)
}
