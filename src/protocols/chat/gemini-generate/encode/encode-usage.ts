// Buckets of tokens as `usageMetadata`: the prompt with what was cached, candidates without thoughts, and their sum.
import type { JsonObject } from "../../../../canonical/json.ts"
import { totalTokens, type Usage } from "../../../../canonical/usage.ts"

export function encodeUsage(usage: Usage): JsonObject {
  const { audioInput, imageInput, output, audioOutput, imageOutput, reasoning, cacheRead } = usage
  const said = { output, reasoning, audioOutput, imageOutput }
  const total = totalTokens(usage)
  const prompt = total - totalTokens(dropUnknownCounts(said))
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
  const told = counts.filter((count) => count !== undefined)
  return told.length === 0 ? undefined : told.reduce((all, count) => all + count, 0)
}

function details(name: string, shares: Readonly<Record<string, number | undefined>>): JsonObject {
  const told = Object.entries(shares).flatMap(([modality, tokenCount]) =>
    tokenCount === undefined ? [] : [{ modality, tokenCount }],
  )
  return told.length === 0 ? {} : { [name]: told }
}
