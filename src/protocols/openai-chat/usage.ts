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
  // OpenRouter reports Gemini's cache writes beside the prompt: where both cannot be inside it, the write is not.
  const written = (cacheRead ?? 0) + (cacheWrite ?? 0) > prompt ? 0 : (cacheWrite ?? 0)
  const input = Math.max(0, prompt - (cacheRead ?? 0) - written - (audioInput ?? 0))
  return { input, ...known({ cacheRead, cacheWrite, audioInput }) }
}

function outputBuckets(wire: JsonObject): Usage {
  const completion = count(wire, "completion_tokens")
  if (completion === undefined) return {}
  const details = detail(wire, "completion_tokens_details")
  const audioOutput = count(details, "audio_tokens")
  const outside = uncounted(wire, completion)
  const said = count(details, "reasoning_tokens")
  const reasoning = said === undefined && outside === 0 ? undefined : Math.max(said ?? 0, outside)
  // No more can have been reasoned than was put out, whatever is said.
  const inside = Math.min((reasoning ?? 0) - outside, completion)
  const output = Math.max(0, completion - inside - (audioOutput ?? 0))
  return { output, ...known({ reasoning: reasoning === undefined ? undefined : inside + outside, audioOutput }) }
}

/** xAI and Gemini count reasoning beside `completion_tokens`, Gemini without naming it: the total tells. */
function uncounted(wire: JsonObject, completion: number): number {
  const total = count(wire, "total_tokens") ?? 0
  return Math.max(0, total - (count(wire, "prompt_tokens") ?? total) - completion)
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
