// Log probabilities, both ways.

import type { TokenLogprob } from "../../../canonical/chat/chat-response.ts"
import type { Json } from "../../../canonical/json.ts"
import { decodeToken } from "../../openai/openai-logprobs.ts"

export function decodeLogprobs(wire: Json | undefined): TokenLogprob[] {
  return Array.isArray(wire) ? wire.flatMap(decodeToken) : []
}

export function encodeLogprobs(tokens: readonly TokenLogprob[]): Json[] {
  const token = ({ token, logprob, bytes }: Omit<TokenLogprob, "others">) => ({ token, logprob, bytes: bytes ?? [] })
  return tokens.map((each) => ({ ...token(each), top_logprobs: each.others.map(token) }))
}
