// What whole and streamed answers to a client of this protocol have in common: which parts it can be shown, and why an
// answer ended.

import type { CandidateFinish } from "../../../../canonical/chat/chat-response.ts"
import type {
  Citation,
  ForeignPart,
  MediaPart,
  ToolCallPart,
  ToolResultPart,
} from "../../../../canonical/chat/content-part.ts"
import type { JsonObject } from "../../../../canonical/json.ts"
import type { Losses } from "../../../../canonical/loss.ts"
import type { ClientResponseContext } from "../../../chat-codec.ts"
import { approximated, dropped } from "../../../losses.ts"
import { foreignCitation, ownCitation } from "../citations.ts"
import { isOwn, PROTOCOL } from "../passthrough-fields.ts"
import { finishOf } from "../relay-response.ts"
import { remoteId, remoteResult } from "./encode-remote-calls.ts"

export function messageId(id: string | undefined, context: ClientResponseContext): string {
  return id !== undefined && /^msg_[\w-]+$/.test(id) ? id : `msg_${context.id}`
}

export function encodeCitation(citation: Citation): JsonObject {
  return ownCitation(citation) ?? foreignCitation(citation)
}

type CallOpening = Pick<ToolCallPart, "id" | "name" | "runsAt" | "server" | "extra">

/** How a call opens, but for its input; undefined for one that another provider ran, which would never be answered. */
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

export function reportResponseLoss(
  { losses }: ClientResponseContext,
  { path, what }: { path: string; what: string },
): void {
  losses.push(dropped.meaning(path, `a messages response cannot contain ${what}`))
}

interface StopContext {
  readonly calls: boolean
  readonly refuses: boolean
  readonly losses: Losses
}

const WORDS: Readonly<Record<Exclude<CandidateFinish["reason"], "stop" | "other" | "tool-calls">, string>> = {
  "stop-sequence": "stop_sequence",
  length: "max_tokens",
  filtered: "refusal",
  refusal: "refusal",
  paused: "pause_turn",
}

/**
 * Why it ended. Some hosts say that an answer just stopped, or give no reason or an odd one, where it calls a tool or
 * refuses. Clients run tools where they read `tool_use`, so it is said where tools are called.
 */
export function stopMembers(finish: CandidateFinish | undefined, { calls, refuses, losses }: StopContext): JsonObject {
  const { reason = "stop", word, stopSequence } = finish ?? {}
  const plain = refuses ? "refusal" : calls ? "tool_use" : "end_turn"
  const isPlain = reason === "stop" || reason === "other" || reason === "tool-calls"
  const isVendors = word !== undefined && finishOf(word) === reason
  if (reason === "other" && plain === "end_turn") {
    const why = `the messages protocol has no stop reason for ${word ?? reason}`
    losses.push(approximated.meaning("stop_reason", why))
  }
  return { stop_reason: isPlain ? plain : isVendors ? word : WORDS[reason], stop_sequence: stopSequence ?? null }
}
