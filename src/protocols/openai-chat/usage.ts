// The arithmetic of OpenAI's `usage`: `prompt_tokens` includes cached and audio tokens, `completion_tokens` reasoning
// and audio ones.
import { isObject, type Json, type JsonObject } from "../../canonical/json.ts"
import type { Usage } from "../../canonical/usage.ts"

export function decodeUsage(wire: Json | undefined): Usage | undefined {
  if (!isObject(wire)) return undefined
  const usage = { ...inputBuckets(wire), ...outputBuckets(wire) }
  return Object.keys(usage).length === 0 ? undefined : usage
}

function inputBuckets(wire: JsonObject): Usage {
  const prompt = count(wire, "prompt_tokens")
  if (prompt === undefined) return {}
  const details = detail(wire, "prompt_tokens_details")
  // DeepSeek and Moonshot report the cached share beside the details.
  const cacheRead =
    count(details, "cached_tokens") ?? count(wire, "prompt_cache_hit_tokens") ?? count(wire, "cached_tokens")
  const cacheWrite = count(details, "cache_write_tokens")
  const audioInput = count(details, "audio_tokens")
  const input = Math.max(0, prompt - (cacheRead ?? 0) - (cacheWrite ?? 0) - (audioInput ?? 0))
  return { input, ...known({ cacheRead, cacheWrite, audioInput }) }
}

function outputBuckets(wire: JsonObject): Usage {
  const completion = count(wire, "completion_tokens")
  if (completion === undefined) return {}
  const details = detail(wire, "completion_tokens_details")
  const reasoning = count(details, "reasoning_tokens")
  const audioOutput = count(details, "audio_tokens")
  const inside = (reasonsOutside(wire, { completion, reasoning }) ? 0 : (reasoning ?? 0)) + (audioOutput ?? 0)
  return { output: Math.max(0, completion - inside), ...known({ reasoning, audioOutput }) }
}

/** xAI counts reasoning beside `completion_tokens`, not in it: its total tells. */
function reasonsOutside(
  wire: JsonObject,
  { completion, reasoning }: { completion: number; reasoning: number | undefined },
): boolean {
  const total = count(wire, "total_tokens")
  if (total === undefined || !reasoning) return false
  return total === (count(wire, "prompt_tokens") ?? 0) + completion + reasoning
}

function detail(wire: JsonObject, name: string): JsonObject {
  const details = wire[name]
  return isObject(details) ? details : {}
}

/** A token count as the upstream gave it; what is no count is as if it were not there. */
function count(wire: JsonObject, name: string): number | undefined {
  const value = wire[name]
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : undefined
}

function known(buckets: { [Name in keyof Usage]: Usage[Name] | undefined }): Usage {
  return Object.fromEntries(Object.entries(buckets).filter(([, tokens]) => tokens !== undefined))
}
