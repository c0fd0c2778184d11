// How likely each token was: `logprobsResult`, both ways.
import { isObject, type Json, type JsonObject } from "../../canonical/json.ts"
import type { TokenLogprob } from "../../canonical/response.ts"

type Likely = TokenLogprob["others"][number]

export function decodeLogprobs(result: Json | undefined): TokenLogprob[] {
  if (!isObject(result) || !Array.isArray(result.chosenCandidates)) return []
  const tops = Array.isArray(result.topCandidates) ? result.topCandidates : []
  return result.chosenCandidates.flatMap((chosen: Json, index) => {
    const likely = likelyIn(chosen)
    return likely ? [{ ...likely, others: othersIn(tops[index]) }] : []
  })
}

function othersIn(top: Json | undefined): Likely[] {
  if (!isObject(top) || !Array.isArray(top.candidates)) return []
  return top.candidates.flatMap((each: Json) => likelyIn(each) ?? [])
}

function likelyIn(value: Json | undefined): Likely | undefined {
  if (!isObject(value) || typeof value.token !== "string" || typeof value.logProbability !== "number") return undefined
  return { token: value.token, logprob: value.logProbability }
}

export function encodeLogprobs(tokens: readonly TokenLogprob[]): JsonObject {
  const topCandidates = tokens.map(({ others }) => ({ candidates: others.map(encodeLikely) }))
  return {
    chosenCandidates: tokens.map(encodeLikely),
    ...(tokens.some(({ others }) => others.length > 0) && { topCandidates }),
  }
}

function encodeLikely({ token, logprob }: Likely): JsonObject {
  return { token, logProbability: logprob }
}
