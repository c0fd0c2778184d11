// Usage of a completion: the prompt includes cached tokens, the completion includes reasoning.
import { isObject, type Json } from "../../../canonical/json.ts"
import type { Usage } from "../../../canonical/usage.ts"
import { readCountDetails, readTokenCount, reportedUsage } from "../../usage/token-counts.ts"

export function decodeUsage(wire: Json | undefined): Usage | undefined {
  if (!isObject(wire)) return undefined
  const prompt = readTokenCount(wire, "prompt_tokens")
  const cacheRead = readTokenCount(readCountDetails(wire, "prompt_tokens_details"), "cached_tokens")
  // A request for log probabilities of the prompt has no completion, and some hosts then omit the count.
  const total = readTokenCount(wire, "total_tokens")
  const completion =
    readTokenCount(wire, "completion_tokens") ?? (total === undefined ? undefined : less(total, prompt))
  const reasoning = readTokenCount(readCountDetails(wire, "completion_tokens_details"), "reasoning_tokens")
  return reportedUsage(wire, {
    ...(prompt !== undefined && { input: less(prompt, cacheRead) }),
    ...(cacheRead !== undefined && { cacheRead }),
    ...(completion !== undefined && { output: less(completion, reasoning) }),
    ...(reasoning !== undefined && { reasoning }),
  })
}

function less(whole: number, part = 0): number {
  return Math.max(0, whole - part)
}
