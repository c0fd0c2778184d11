// How likely tokens were, both ways.
import type { Json } from "../../canonical/json.ts"
import type { TokenLogprob } from "../../canonical/response.ts"
import { decodeToken } from "../openai-logprobs.ts"

export function decodeLogprobs(wire: Json | undefined): TokenLogprob[] {
  return Array.isArray(wire) ? wire.flatMap(decodeToken) : []
}

export function encodeLogprobs(tokens: readonly TokenLogprob[]): Json[] {
  const token = ({ token, logprob, bytes }: Omit<TokenLogprob, "others">) => ({ token, logprob, bytes: bytes ?? [] })
  return tokens.map((each) => ({ ...token(each), top_logprobs: each.others.map(token) }))
}
