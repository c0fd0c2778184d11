// Token counts of Converse's `usage`: `inputTokens` excludes cache reads and writes, and `outputTokens` includes
// reasoning, which is not reported separately.
import { isObject, type Json, type JsonObject } from "../../../canonical/json.ts"
import type { Usage } from "../../../canonical/usage.ts"
import { readTokenCount, reportedUsage } from "../../usage/token-counts.ts"

export function decodeUsage(wire: Json | undefined): Usage | undefined {
  if (!isObject(wire)) return undefined
  const input = readTokenCount(wire, "inputTokens")
  const output = readTokenCount(wire, "outputTokens")
  const cacheRead = readTokenCount(wire, "cacheReadInputTokens")
  return reportedUsage(wire, {
    ...(input !== undefined && { input }),
    ...(cacheRead !== undefined && { cacheRead }),
    ...decodeCacheWrites(wire),
    ...(output !== undefined && { output }),
  })
}

/** Writes with a lifetime of one hour are only in the details. */
function decodeCacheWrites(wire: JsonObject): Usage {
  const all = readTokenCount(wire, "cacheWriteInputTokens")
  if (all === undefined) return {}
  const { cacheDetails: details } = wire
  if (!Array.isArray(details)) return { cacheWrite: all }
  let hour = 0
  for (const each of details) if (isObject(each) && each.ttl === "1h") hour += readTokenCount(each, "inputTokens") ?? 0
  const cacheWrite1h = Math.min(hour, all)
  return { cacheWrite: all - cacheWrite1h, ...(cacheWrite1h > 0 && { cacheWrite1h }) }
}
