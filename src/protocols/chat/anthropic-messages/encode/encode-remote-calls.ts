// Encodes calls of remote servers' tools that came from another protocol.

import type { ContentPart, ToolResultPart } from "../../../../canonical/chat/content-part.ts"
import type { JsonObject } from "../../../../canonical/json.ts"

/** The id of a remote server's call as this protocol has it. */
export function remoteId(id: string): string {
  return id.startsWith("mcptoolu_") ? id : `mcptoolu_${id.replace(/^mcp_/, "").replace(/\W/g, "_")}`
}

export function remoteResult({ callId, isError }: ToolResultPart, parts: readonly ContentPart[]): JsonObject {
  const content = parts.flatMap((part) => (part.kind === "text" ? [{ type: "text", text: part.text }] : []))
  return { type: "mcp_tool_result", tool_use_id: remoteId(callId), is_error: isError, content }
}
