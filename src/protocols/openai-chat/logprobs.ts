// How likely tokens were, both ways.
import { isObject, type Json } from "../../canonical/json.ts"
import type { TokenLogprob } from "../../canonical/response.ts"
import { decodeToken } from "../openai-logprobs.ts"

export function decodeLogprobs(wire: Json | undefined): TokenLogprob[] {
  if (!isObject(wire)) return []
  return [wire.content, wire.refusal].flatMap((tokens) => (Array.isArray(tokens) ? tokens.flatMap(decodeToken) : []))
}

export function encodeLogprobs(tokens: readonly TokenLogprob[]): Json {
  const token = ({ token, logprob, bytes }: Omit<TokenLogprob, "others">) => ({ token, logprob, bytes: bytes ?? null })
  return { content: tokens.map((each) => ({ ...token(each), top_logprobs: each.others.map(token) })), refusal: null }
}
