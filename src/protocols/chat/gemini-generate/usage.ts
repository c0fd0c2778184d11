// Token counts of Gemini's `usageMetadata`: the prompt includes cache reads, the candidates exclude reasoning, and tool
// input is not part of the prompt. Each has shares by modality.

import { isObject, type Json, type JsonObject } from "../../../canonical/json.ts"
import { totalTokens, type Usage } from "../../../canonical/usage.ts"
import { readTokenCount, reportedUsage } from "../../usage/token-counts.ts"

export function decodeUsage(wire: Json | undefined): Usage | undefined {
  if (!isObject(wire)) return undefined
  const usage: MutableGeminiUsage = {}
  readInput(wire, usage)
  readOutput(wire, usage)
  return reportedUsage(wire, usage)
}

type MutableGeminiUsage = { -readonly [Name in keyof Usage]: Usage[Name] }

function readInput(wire: JsonObject, usage: MutableGeminiUsage): void {
  const prompt = readTokenCount(wire, "promptTokenCount")
  const byTools = readTokenCount(wire, "toolUsePromptTokenCount")
  if (prompt === undefined && byTools === undefined) return
  const cacheRead = readTokenCount(wire, "cachedContentTokenCount")
  let fresh = Math.max(0, (prompt ?? 0) - (cacheRead ?? 0)) + (byTools ?? 0)
  const take = (modality: string): number | undefined => {
    const sent = modalityTokens(wire, "promptTokensDetails", modality)
    const used = modalityTokens(wire, "toolUsePromptTokensDetails", modality)
    if (sent === undefined && used === undefined) return undefined
    const cached = modalityTokens(wire, "cacheTokensDetails", modality) ?? 0
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

function readOutput(wire: JsonObject, usage: MutableGeminiUsage): void {
  const thoughts = readTokenCount(wire, "thoughtsTokenCount")
  const candidates = readTokenCount(wire, "candidatesTokenCount")
  const rest = unaccountedTokens(wire)
  const output = visibleTokens(candidates, { thoughts, rest })
  if (output !== undefined) splitOutput(wire, output, usage)
  const reasoning = thoughts ?? (candidates !== undefined && rest !== undefined && rest > 0 ? rest : undefined)
  if (reasoning !== undefined) usage.reasoning = reasoning
}

interface OtherTokenCounts {
  readonly thoughts: number | undefined
  readonly rest: number | undefined
}

/** This wire omits a count of 0, so a missing count follows from the total. */
function visibleTokens(candidates: number | undefined, { thoughts, rest }: OtherTokenCounts): number | undefined {
  if (candidates === undefined) return rest !== undefined && rest >= 0 ? rest : undefined
  // Some hosts include thoughts in the candidates' tokens: then the total is smaller by exactly these.
  const thoughtsInside = thoughts !== undefined && rest === -thoughts && thoughts <= candidates
  return thoughtsInside ? candidates - thoughts : candidates
}

function splitOutput(wire: JsonObject, output: number, usage: MutableGeminiUsage): void {
  const audio = modalityTokens(wire, "candidatesTokensDetails", "AUDIO")
  const audioOutput = audio && Math.min(audio, output)
  const image = modalityTokens(wire, "candidatesTokensDetails", "IMAGE")
  const imageOutput = image && Math.min(image, output - (audioOutput ?? 0))
  usage.output = output - (audioOutput ?? 0) - (imageOutput ?? 0)
  if (audioOutput !== undefined) usage.audioOutput = audioOutput
  if (imageOutput !== undefined) usage.imageOutput = imageOutput
}

/** The part of the total that no named count includes; undefined if there is no total or no prompt count. */
function unaccountedTokens(wire: JsonObject): number | undefined {
  const total = readTokenCount(wire, "totalTokenCount")
  const prompt = readTokenCount(wire, "promptTokenCount")
  if (total === undefined || prompt === undefined) return undefined
  const others = ["toolUsePromptTokenCount", "candidatesTokenCount", "thoughtsTokenCount"]
  return others.reduce((rest, name) => rest - (readTokenCount(wire, name) ?? 0), total - prompt)
}

/** The tokens of one modality; undefined if not reported. */
function modalityTokens(wire: JsonObject, name: string, modality: string): number | undefined {
  const details = wire[name]
  if (!Array.isArray(details)) return undefined
  let sum: number | undefined
  for (const detail of details) {
    if (isObject(detail) && detail.modality === modality) sum = (sum ?? 0) + (readTokenCount(detail, "tokenCount") ?? 0)
  }
  return sum
}

export function encodeUsage(usage: Usage): JsonObject {
  const { audioInput, imageInput, output, audioOutput, imageOutput, reasoning, cacheRead } = usage
  const outputCounts = { output, reasoning, audioOutput, imageOutput }
  const total = totalTokens(usage)
  const prompt = total - totalTokens(dropUnknownCounts(outputCounts))
  const answered = sum(output, audioOutput, imageOutput)
  return {
    promptTokenCount: prompt,
    ...(answered !== undefined && { candidatesTokenCount: answered }),
    ...(reasoning !== undefined && { thoughtsTokenCount: reasoning }),
    totalTokenCount: total,
    ...(cacheRead !== undefined && { cachedContentTokenCount: cacheRead }),
    ...details("promptTokensDetails", { AUDIO: audioInput, IMAGE: imageInput }),
    ...details("candidatesTokensDetails", { AUDIO: audioOutput, IMAGE: imageOutput }),
  }
}

function dropUnknownCounts(counts: { readonly [name: string]: number | undefined }): Usage {
  return Object.fromEntries(Object.entries(counts).filter(([, count]) => count !== undefined))
}

function sum(...counts: readonly (number | undefined)[]): number | undefined {
  const known = counts.filter((count) => count !== undefined)
  return known.length === 0 ? undefined : known.reduce((all, count) => all + count, 0)
}

function details(name: string, shares: Readonly<Record<string, number | undefined>>): JsonObject {
  const entries = Object.entries(shares).flatMap(([modality, tokenCount]) =>
    tokenCount === undefined ? [] : [{ modality, tokenCount }],
  )
  return entries.length === 0 ? {} : { [name]: entries }
}
