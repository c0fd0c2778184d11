// Shared by whole and streamed responses: ids, and the parts that a client of this protocol can be shown.

import type { ForeignPart, MediaPart, ToolCallPart, ToolResultPart } from "../../../../canonical/chat/content-part.ts"
import type { JsonObject } from "../../../../canonical/json.ts"
import type { ClientResponseContext } from "../../../chat-codec.ts"
import { dropped } from "../../../losses.ts"
import { isOwn, PROTOCOL } from "../passthrough-fields.ts"
import { remoteId, remoteResult } from "./encode-remote-calls.ts"

export function messageId(id: string | undefined, context: ClientResponseContext): string {
  return id !== undefined && /^msg_[\w-]+$/.test(id) ? id : `msg_${context.id}`
}

type CallOpening = Pick<ToolCallPart, "id" | "name" | "runsAt" | "server" | "extra">

/**
 * The opening of a call without its input; undefined if another provider ran it, because it would never be answered.
 */
export function callOpening(
  call: CallOpening,
  { id: fallback, number }: { id: string; number: number },
): JsonObject | undefined {
  const { name, runsAt, extra } = call
  const members = isOwn(extra) ? extra.members : {}
  const direct = { caller: { type: "direct" } }
  if (runsAt === "client") {
    return { type: "tool_use", id: call.id || `toolu_${fallback}${number}`, name, ...direct, ...members }
  }
  if (call.server !== undefined) {
    return { type: "mcp_tool_use", id: remoteId(call.id), name, server_name: call.server, ...members }
  }
  return call.id.startsWith("srvtoolu_")
    ? { type: "server_tool_use", id: call.id, name, ...direct, ...members }
    : undefined
}

/** A complete part as a block of this protocol; undefined if it cannot be one. */
export function wholeBlock(part: MediaPart | ForeignPart | ToolResultPart): JsonObject | undefined {
  if (part.kind === "foreign") return part.protocol === PROTOCOL ? (part.value as JsonObject) : undefined
  if (part.kind === "media" || part.name === undefined) return undefined
  const [found, ...content] = part.parts
  if (found?.kind !== "foreign") return undefined
  if (found.protocol !== PROTOCOL) return part.isRemote ? remoteResult(part, content) : undefined
  const members = isOwn(part.extra) ? part.extra.members : {}
  return { type: `${part.name}_tool_result`, tool_use_id: part.callId, content: found.value, ...members }
}

export function reportResponseLoss(
  { losses }: ClientResponseContext,
  { path, what }: { path: string; what: string },
): void {
  losses.push(dropped.meaning(path, `a messages response cannot contain ${what}`))
}
