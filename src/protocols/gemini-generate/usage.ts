// The arithmetic of Gemini's `usageMetadata`: the prompt includes what was read from a cache, the candidates do not
// include thoughts, and what tools put in stands beside the prompt. Each has its shares by modality.
import { isObject, type Json, type JsonObject } from "../../canonical/json.ts"
import type { Usage } from "../../canonical/usage.ts"
import { count, reported } from "../token-count.ts"

export function decodeUsage(wire: Json | undefined): Usage | undefined {
  if (!isObject(wire)) return undefined
  const usage: Buckets = {}
  readInput(wire, usage)
  readOutput(wire, usage)
  return reported(wire, usage)
}

type Buckets = { -readonly [Name in keyof Usage]: Usage[Name] }

function readInput(wire: JsonObject, usage: Buckets): void {
  const prompt = count(wire, "promptTokenCount")
  const byTools = count(wire, "toolUsePromptTokenCount")
  if (prompt === undefined && byTools === undefined) return
  const cacheRead = count(wire, "cachedContentTokenCount")
  let fresh = Math.max(0, (prompt ?? 0) - (cacheRead ?? 0)) + (byTools ?? 0)
  const take = (modality: string): number | undefined => {
    const sent = share(wire, "promptTokensDetails", modality)
    const used = share(wire, "toolUsePromptTokensDetails", modality)
    if (sent === undefined && used === undefined) return undefined
    const cached = share(wire, "cacheTokensDetails", modality) ?? 0
    const taken = Math.min(fresh, Math.max(0, (sent ?? 0) - cached) + (used ?? 0))
    fresh -= taken
    return taken
  }
  const audioInput = take("AUDIO")
  const imageInput = take("IMAGE")
  usage.input = fresh
  if (cacheRead !== undefined) usage.cacheRead = cacheRead
  if (audioInput !== undefined) usage.audioInput = audioInput
  if (imageInput !== undefined) usage.imageInput = imageInput
}

function readOutput(wire: JsonObject, usage: Buckets): void {
  const thoughts = count(wire, "thoughtsTokenCount")
  const candidates = count(wire, "candidatesTokenCount")
  const rest = unnamed(wire)
  const output = visible(candidates, { thoughts, rest })
  if (output !== undefined) splitOutput(wire, output, usage)
  const reasoning = thoughts ?? (candidates !== undefined && rest !== undefined && rest > 0 ? rest : undefined)
  if (reasoning !== undefined) usage.reasoning = reasoning
}

interface Others {
  readonly thoughts: number | undefined
  readonly rest: number | undefined
}

/** A count of 0 is left out on this wire, so where there is no count the total tells. */
function visible(candidates: number | undefined, { thoughts, rest }: Others): number | undefined {
  if (candidates === undefined) return rest !== undefined && rest >= 0 ? rest : undefined
  // Some hosts count thoughts among the candidates' tokens: then the total is short of exactly these.
  const thoughtsInside = thoughts !== undefined && rest === -thoughts && thoughts <= candidates
  return thoughtsInside ? candidates - thoughts : candidates
}

function splitOutput(wire: JsonObject, output: number, usage: Buckets): void {
  const audio = share(wire, "candidatesTokensDetails", "AUDIO")
  const audioOutput = audio && Math.min(audio, output)
  const image = share(wire, "candidatesTokensDetails", "IMAGE")
  const imageOutput = image && Math.min(image, output - (audioOutput ?? 0))
  usage.output = output - (audioOutput ?? 0) - (imageOutput ?? 0)
  if (audioOutput !== undefined) usage.audioOutput = audioOutput
  if (imageOutput !== undefined) usage.imageOutput = imageOutput
}

/** What the total holds beyond the counts that are named; undefined where there is no total or no prompt. */
function unnamed(wire: JsonObject): number | undefined {
  const total = count(wire, "totalTokenCount")
  const prompt = count(wire, "promptTokenCount")
  if (total === undefined || prompt === undefined) return undefined
  const others = ["toolUsePromptTokenCount", "candidatesTokenCount", "thoughtsTokenCount"]
  return others.reduce((rest, name) => rest - (count(wire, name) ?? 0), total - prompt)
}

/** The tokens of one modality; undefined where they are not told. */
function share(wire: JsonObject, name: string, modality: string): number | undefined {
  const details = wire[name]
  if (!Array.isArray(details)) return undefined
  let sum: number | undefined
  for (const detail of details) {
    if (isObject(detail) && detail.modality === modality) sum = (sum ?? 0) + (count(detail, "tokenCount") ?? 0)
  }
  return sum
}
