// What whole and streamed answers to a client of this protocol have in common: which parts it can be shown, and why an
// answer ended.
import type { JsonObject } from "../../canonical/json.ts"
import type { Citation, ForeignPart, MediaPart, Part, ToolCallPart, ToolResultPart } from "../../canonical/part.ts"
import type { Finish } from "../../canonical/response.ts"
import type { EncodeContext } from "../codec.ts"
import { dropped } from "../losses.ts"
import { foreignCitation, ownCitation } from "./citations.ts"
import { isOwn, PROTOCOL } from "./own.ts"
import { finishOf } from "./response.ts"

export function messageId(id: string | undefined, context: EncodeContext): string {
  return id !== undefined && /^msg_[\w-]+$/.test(id) ? id : `msg_${context.id}`
}

export function encodeCitation(citation: Citation): JsonObject {
  return ownCitation(citation) ?? foreignCitation(citation)
}

type Call = Pick<ToolCallPart, "id" | "name" | "runsAt" | "server" | "extra">

/** The id of a remote server's call as this protocol has it. */
function remoteId(id: string): string {
  return id.startsWith("mcptoolu_") ? id : `mcptoolu_${id.replace(/^mcp_/, "").replace(/\W/g, "_")}`
}

/** How a call opens, but for its input; undefined for one that another provider ran, which would never be answered. */
export function callOpening(
  call: Call,
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

/** A part that is all there as a block of this protocol; undefined where it cannot be one. */
export function wholeBlock(part: MediaPart | ForeignPart | ToolResultPart): JsonObject | undefined {
  if (part.kind === "foreign") return part.protocol === PROTOCOL ? (part.value as JsonObject) : undefined
  if (part.kind === "media" || part.name === undefined) return undefined
  const [found, ...said] = part.parts
  if (found?.kind !== "foreign") return undefined
  if (found.protocol !== PROTOCOL) return part.isRemote ? remoteResult(part, said) : undefined
  const members = isOwn(part.extra) ? part.extra.members : {}
  return { type: `${part.name}_tool_result`, tool_use_id: part.callId, content: found.value, ...members }
}

function remoteResult({ callId, isError }: ToolResultPart, said: readonly Part[]): JsonObject {
  const content = said.flatMap((part) => (part.kind === "text" ? [{ type: "text", text: part.text }] : []))
  return { type: "mcp_tool_result", tool_use_id: remoteId(callId), is_error: isError, content }
}

export function lose({ losses }: EncodeContext, { path, what }: { path: string; what: string }): void {
  losses.push(dropped.meaning(path, `an answer of the messages protocol cannot hold ${what}`))
}

interface Ending {
  readonly calls: boolean
  readonly refuses: boolean
}

const WORDS: Readonly<Record<Finish["reason"], string>> = {
  stop: "end_turn",
  "stop-sequence": "stop_sequence",
  length: "max_tokens",
  "tool-calls": "tool_use",
  filtered: "refusal",
  refusal: "refusal",
  paused: "pause_turn",
  other: "end_turn",
}

/** Why it ended. Some hosts say that an answer just stopped where it calls a tool, or refuses. */
export function stopMembers(finish: Finish | undefined, { calls, refuses }: Ending): JsonObject {
  if (!finish) return { stop_reason: null, stop_sequence: null }
  const { reason, word, stopSequence } = finish
  const isVendors = word !== undefined && finishOf(word) === reason
  const plain = refuses ? "refusal" : calls ? "tool_use" : "end_turn"
  const stop_reason = isVendors ? word : reason === "stop" ? plain : WORDS[reason]
  return { stop_reason, stop_sequence: stopSequence ?? null }
}
