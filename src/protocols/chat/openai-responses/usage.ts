// Token counts of the responses interface's `usage`: `input_tokens` includes cache reads and writes, `output_tokens`
// includes reasoning.
import { isObject, type Json, type JsonObject } from "../../../canonical/json.ts"
import type { Usage } from "../../../canonical/usage.ts"
import { readCountDetails, readTokenCount, reportedUsage } from "../../usage/token-counts.ts"

export function decodeUsage(wire: Json | undefined): Usage | undefined {
  if (!isObject(wire)) return undefined
  return reportedUsage(wire, { ...inputOf(wire), ...outputOf(wire) })
}

function inputOf(wire: JsonObject): Usage {
  const all = readTokenCount(wire, "input_tokens")
  if (all === undefined) return {}
  const details = readCountDetails(wire, "input_tokens_details")
  const cacheRead = readTokenCount(details, "cached_tokens")
  const cacheWrite = readTokenCount(details, "cache_write_tokens")
  // OpenRouter does not include Gemini's cache writes in the input: if reads and writes exceed it, the writes are not
  // part of it.
  const written = (cacheRead ?? 0) + (cacheWrite ?? 0) > all ? 0 : (cacheWrite ?? 0)
  return {
    input: Math.max(0, all - (cacheRead ?? 0) - written),
    ...(cacheRead !== undefined && { cacheRead }),
    ...(cacheWrite !== undefined && { cacheWrite }),
  }
}

function outputOf(wire: JsonObject): Usage {
  const all = readTokenCount(wire, "output_tokens")
  if (all === undefined) return {}
  const reported = readTokenCount(readCountDetails(wire, "output_tokens_details"), "reasoning_tokens")
  if (reported === undefined) return { output: all }
  // xAI may not include reasoning in the output: it follows from the total.
  const total = readTokenCount(wire, "total_tokens") ?? 0
  const outside = Math.max(0, total - (readTokenCount(wire, "input_tokens") ?? total) - all)
  const inside = Math.min(Math.max(reported - outside, 0), all)
  return { output: all - inside, reasoning: inside + outside }
}

/** The reverse of `decodeUsage`. Unknown counts are 0, because the shape requires numbers. */
export function encodeUsage(usage: Usage): JsonObject {
  const { cacheRead = 0, cacheWrite, cacheWrite1h, audioInput = 0, imageInput = 0 } = usage
  const { reasoning = 0, audioOutput = 0, imageOutput = 0 } = usage
  const written = (cacheWrite ?? 0) + (cacheWrite1h ?? 0)
  const isWritten = cacheWrite !== undefined || cacheWrite1h !== undefined
  const input = (usage.input ?? 0) + cacheRead + written + audioInput + imageInput
  const output = (usage.output ?? 0) + reasoning + audioOutput + imageOutput
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: cacheRead, ...(isWritten && { cache_write_tokens: written }) },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: reasoning },
    total_tokens: input + output,
  }
}
