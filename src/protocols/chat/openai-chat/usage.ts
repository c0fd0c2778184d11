// The arithmetic of OpenAI's `usage`: `prompt_tokens` includes cached and audio tokens, `completion_tokens` reasoning
// and audio ones.
import { isObject, type Json, type JsonObject } from "../../../canonical/json.ts"
import type { Usage } from "../../../canonical/usage.ts"
import { readCountDetails, readTokenCount, reportedUsage } from "../../usage/token-counts.ts"

export function decodeUsage(wire: Json | undefined): Usage | undefined {
  if (!isObject(wire)) return undefined
  const usage: MutableChatUsage = {}
  readInput(wire, usage)
  readOutput(wire, usage)
  return reportedUsage(wire, usage)
}

/** The reverse of `decodeUsage`. Unknown counts are 0, because the shape requires numbers. */
export function encodeUsage(usage: Usage): JsonObject {
  const { cacheRead = 0, cacheWrite = 0, cacheWrite1h = 0, audioInput = 0, imageInput = 0 } = usage
  const { reasoning = 0, audioOutput = 0, imageOutput = 0 } = usage
  const written = cacheWrite + cacheWrite1h
  const prompt = (usage.input ?? 0) + cacheRead + written + audioInput + imageInput
  const completion = (usage.output ?? 0) + reasoning + audioOutput + imageOutput
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    prompt_tokens_details: {
      cached_tokens: cacheRead,
      audio_tokens: audioInput,
      ...(written > 0 && { cache_write_tokens: written }),
    },
    completion_tokens_details: {
      reasoning_tokens: reasoning,
      audio_tokens: audioOutput,
      accepted_prediction_tokens: 0,
      rejected_prediction_tokens: 0,
    },
  }
}

type MutableChatUsage = { -readonly [Name in keyof Usage]: Usage[Name] }

function readInput(wire: JsonObject, usage: MutableChatUsage): void {
  const reported = readTokenCount(wire, "prompt_tokens")
  if (reported === undefined) return
  const details = readCountDetails(wire, "prompt_tokens_details")
  // DeepSeek and Moonshot report the cached share outside the details.
  const cacheRead =
    readTokenCount(details, "cached_tokens") ??
    readTokenCount(wire, "prompt_cache_hit_tokens") ??
    readTokenCount(wire, "cached_tokens")
  const cacheWrite = readTokenCount(details, "cache_write_tokens")
  const audioInput = readTokenCount(details, "audio_tokens")
  const prompt = reported + uncountedAudio(wire) + uncountedCache(reported, cacheRead)
  // OpenRouter does not include Gemini's cache writes in the prompt: if reads and writes exceed it, the writes are not
  // part of it.
  const written = (cacheRead ?? 0) + (cacheWrite ?? 0) > prompt ? 0 : (cacheWrite ?? 0)
  usage.input = Math.max(0, prompt - (cacheRead ?? 0) - written - (audioInput ?? 0))
  if (cacheRead !== undefined) usage.cacheRead = cacheRead
  if (cacheWrite !== undefined) usage.cacheWrite = cacheWrite
  if (audioInput !== undefined) usage.audioInput = audioInput
}

function readOutput(wire: JsonObject, usage: MutableChatUsage): void {
  const completion = readTokenCount(wire, "completion_tokens")
  if (completion === undefined) return
  const details = readCountDetails(wire, "completion_tokens_details")
  const audioOutput = readTokenCount(details, "audio_tokens")
  const outside = uncountedReasoning(wire, completion)
  const reported = readTokenCount(details, "reasoning_tokens")
  // Reasoning inside the completion cannot exceed it, whatever the host reports.
  const inside = Math.min(Math.max((reported ?? 0) - outside, 0), completion)
  usage.output = Math.max(0, completion - inside - (audioOutput ?? 0))
  if (reported !== undefined || outside > 0) usage.reasoning = inside + outside
  if (audioOutput !== undefined) usage.audioOutput = audioOutput
}

/**
 * xAI and Gemini do not include reasoning in `completion_tokens`, and Gemini does not report it: it follows from the
 * total.
 */
function uncountedReasoning(wire: JsonObject, completion: number): number {
  const cached = readTokenCount(readCountDetails(wire, "prompt_tokens_details"), "cached_tokens")
  const uncounted = uncountedAudio(wire) + uncountedCache(readTokenCount(wire, "prompt_tokens") ?? 0, cached)
  return Math.max(0, beyondTotal(wire, completion) - uncounted)
}

/** The part of the total that neither the prompt nor the completion includes. */
function beyondTotal(wire: JsonObject, completion: number): number {
  const total = readTokenCount(wire, "total_tokens") ?? 0
  return Math.max(0, total - (readTokenCount(wire, "prompt_tokens") ?? total) - completion)
}

/** Mistral does not include audio in `prompt_tokens`: then the total contains it additionally. */
function uncountedAudio(wire: JsonObject): number {
  const audio = readTokenCount(readCountDetails(wire, "prompt_tokens_details"), "audio_tokens") ?? 0
  const completion = readTokenCount(wire, "completion_tokens") ?? 0
  return audio > 0 && beyondTotal(wire, completion) === audio && isAudioAlone(wire, audio) ? audio : 0
}

/** True if the rest of the total is audio, and not as much reasoning. */
function isAudioAlone(wire: JsonObject, audio: number): boolean {
  const prompt = readTokenCount(wire, "prompt_tokens") ?? 0
  return (
    audio > prompt ||
    readTokenCount(readCountDetails(wire, "completion_tokens_details"), "reasoning_tokens") === undefined
  )
}

/** Grok at Azure does not include cached tokens in `prompt_tokens`: a share cannot exceed the whole. */
function uncountedCache(prompt: number, cacheRead = 0): number {
  return cacheRead > prompt ? cacheRead : 0
}
