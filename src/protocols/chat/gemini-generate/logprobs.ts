// Log probabilities, both ways: `logprobsResult`.

import type { TokenLogprob } from "../../../canonical/chat/chat-response.ts"
import { isObject, type Json, type JsonObject } from "../../../canonical/json.ts"

type LikelyToken = TokenLogprob["others"][number]

export function decodeLogprobs(result: Json | undefined): TokenLogprob[] {
  if (!isObject(result) || !Array.isArray(result.chosenCandidates)) return []
  const tops = Array.isArray(result.topCandidates) ? result.topCandidates : []
  return result.chosenCandidates.flatMap((chosen: Json, index) => {
    const likely = likelyIn(chosen)
    return likely ? [{ ...likely, others: othersIn(tops[index]) }] : []
  })
}

function othersIn(top: Json | undefined): LikelyToken[] {
  if (!isObject(top) || !Array.isArray(top.candidates)) return []
  return top.candidates.flatMap((each: Json) => likelyIn(each) ?? [])
}

function likelyIn(value: Json | undefined): LikelyToken | undefined {
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

function encodeLikely({ token, logprob }: LikelyToken): JsonObject {
  return { token, logProbability: logprob }
}
