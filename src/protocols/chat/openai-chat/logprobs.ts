// Log probabilities, both ways.

import type { TokenLogprob } from "../../../canonical/chat/chat-response.ts"
import { isObject, type Json } from "../../../canonical/json.ts"
import { decodeToken } from "../../openai/openai-logprobs.ts"

export function decodeLogprobs(wire: Json | undefined): TokenLogprob[] {
  if (!isObject(wire)) return []
  return [wire.content, wire.refusal].flatMap((tokens) => (Array.isArray(tokens) ? tokens.flatMap(decodeToken) : []))
}

export function encodeLogprobs(tokens: readonly TokenLogprob[]): Json {
  const token = ({ token, logprob, bytes }: Omit<TokenLogprob, "others">) => ({ token, logprob, bytes: bytes ?? null })
  return { content: tokens.map((each) => ({ ...token(each), top_logprobs: each.others.map(token) })), refusal: null }
}
