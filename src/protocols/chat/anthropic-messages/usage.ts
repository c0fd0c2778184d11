// Token counts of Anthropic's `usage`: `input_tokens` excludes cache reads and writes, and `output_tokens` includes
// thinking.
import { isObject, type Json, type JsonObject } from "../../../canonical/json.ts"
import type { Usage } from "../../../canonical/usage.ts"
import { readCountDetails, readTokenCount, reportedUsage } from "../../usage/token-counts.ts"

export function decodeUsage(wire: Json | undefined): Usage | undefined {
  if (!isObject(wire)) return undefined
  const usage = reportedUsage(wire, countsIn(wire))
  return usage && addCompaction(wire, usage)
}

type MutableUsage = { -readonly [Bucket in keyof Usage]: Usage[Bucket] }

/** Plain assignments: this runs for every response. */
function countsIn(wire: JsonObject): Usage {
  const usage: MutableUsage = {}
  countInput(wire, usage)
  countOutput(wire, usage)
  return usage
}

function countInput(wire: JsonObject, usage: MutableUsage): void {
  const input = readTokenCount(wire, "input_tokens")
  const cacheRead = readTokenCount(wire, "cache_read_input_tokens")
  const written = readCountDetails(wire, "cache_creation")
  const cacheWrite1h = readTokenCount(written, "ephemeral_1h_input_tokens")
  const allWritten = readTokenCount(wire, "cache_creation_input_tokens")
  const cacheWrite =
    readTokenCount(written, "ephemeral_5m_input_tokens") ??
    (allWritten === undefined ? undefined : Math.max(0, allWritten - (cacheWrite1h ?? 0)))
  if (input !== undefined) usage.input = input
  if (cacheRead !== undefined) usage.cacheRead = cacheRead
  if (cacheWrite !== undefined) usage.cacheWrite = cacheWrite
  if (cacheWrite1h !== undefined) usage.cacheWrite1h = cacheWrite1h
}

function countOutput(wire: JsonObject, usage: MutableUsage): void {
  const all = readTokenCount(wire, "output_tokens")
  if (all === undefined) return
  const thought = readTokenCount(readCountDetails(wire, "output_tokens_details"), "thinking_tokens")
  const reasoning = thought === undefined ? 0 : Math.min(thought, all)
  usage.output = all - reasoning
  if (thought !== undefined) usage.reasoning = reasoning
}

/**
 * Merges a later usage report into an earlier one. Only the first report has the lifetime of cache writes; later writes
 * are assumed to have the same.
 */
export function laterUsage(earlier: Usage, later: Usage): Usage {
  const { cacheWrite, cacheWrite1h } = later
  const long = earlier.cacheWrite1h ?? 0
  if (cacheWrite === undefined || cacheWrite1h !== undefined || long === 0) return { ...earlier, ...later }
  const short = Math.min(earlier.cacheWrite ?? 0, cacheWrite)
  return { ...earlier, ...later, cacheWrite: short, cacheWrite1h: cacheWrite - short }
}

/** A compaction reads and writes the context once more, which the totals at the top level exclude. */
function addCompaction(wire: JsonObject, usage: Usage): Usage {
  if (!Array.isArray(wire.iterations)) return usage
  let whole = usage
  for (const each of wire.iterations) {
    if (isObject(each) && each.type === "compaction") whole = sum(whole, countsIn(each))
  }
  return whole
}

function sum(one: Usage, other: Usage): Usage {
  const both: Record<string, number> = { ...one }
  for (const [bucket, tokens] of Object.entries(other)) both[bucket] = (both[bucket] ?? 0) + tokens
  return both
}

/** The usage of a whole response. */
export function encodeUsage(usage: Usage): JsonObject {
  return { ...encodeOpeningUsage(usage), ...thinkingDetails(usage) }
}

/** The usage in a stream's first event, which does not count thinking yet. */
export function encodeOpeningUsage(usage: Usage): JsonObject {
  const { cacheWrite: ephemeral_5m_input_tokens = 0, cacheWrite1h: ephemeral_1h_input_tokens } = usage
  const isSplit = ephemeral_1h_input_tokens !== undefined
  const cache_creation = isSplit && { cache_creation: { ephemeral_5m_input_tokens, ephemeral_1h_input_tokens } }
  return { ...encodeCounts(usage), ...cache_creation }
}

/** The usage of `message_delta`, which does not contain the lifetime of cache writes. */
export function encodeClosingUsage(usage: Usage): JsonObject {
  return { ...encodeCounts(usage), ...thinkingDetails(usage) }
}

/** Unknown counts are 0, because clients require numbers. Other unknown members are omitted, as the vendor does. */
function encodeCounts(usage: Usage): JsonObject {
  const { reasoning = 0, audioOutput = 0, imageOutput = 0 } = usage
  return {
    input_tokens: (usage.input ?? 0) + (usage.audioInput ?? 0) + (usage.imageInput ?? 0),
    cache_creation_input_tokens: (usage.cacheWrite ?? 0) + (usage.cacheWrite1h ?? 0),
    cache_read_input_tokens: usage.cacheRead ?? 0,
    output_tokens: (usage.output ?? 0) + reasoning + audioOutput + imageOutput,
  }
}

function thinkingDetails({ reasoning }: Usage): JsonObject {
  return reasoning === undefined ? {} : { output_tokens_details: { thinking_tokens: reasoning } }
}

/** A passthrough path: the number of the vendor's own tool runs has no canonical counterpart. */
export const SERVER_TOOL_USE = "usage.server_tool_use"

/** The vendor's own tool runs in a usage object, if any. */
export function serverToolUse(wire: Json | undefined): JsonObject | undefined {
  const counts = isObject(wire) ? wire.server_tool_use : undefined
  if (!isObject(counts) || !Object.values(counts).some((each) => typeof each === "number" && each > 0)) return undefined
  return { [SERVER_TOOL_USE]: counts }
}

/** The usage member that receives these counts. */
export function ownToolUse(members: JsonObject): JsonObject {
  const counts = members[SERVER_TOOL_USE]
  return counts === undefined ? {} : { server_tool_use: counts }
}
