// How likely tokens were, both ways.
import { isObject, type Json } from "../../canonical/json.ts"
import type { TokenLogprob } from "../../canonical/response.ts"

export function decodeLogprobs(wire: Json | undefined): TokenLogprob[] {
  return Array.isArray(wire) ? wire.flatMap(decodeToken) : []
}

function decodeToken(wire: Json): TokenLogprob[] {
  const [chosen] = tokenIn(wire)
  if (!chosen || !isObject(wire)) return []
  return [{ ...chosen, others: Array.isArray(wire.top_logprobs) ? wire.top_logprobs.flatMap(tokenIn) : [] }]
}

function tokenIn(wire: Json): Omit<TokenLogprob, "others">[] {
  if (!isObject(wire) || typeof wire.token !== "string" || typeof wire.logprob !== "number") return []
  const { token, logprob, bytes } = wire
  const known = Array.isArray(bytes) && bytes.every((byte) => typeof byte === "number")
  return [{ token, logprob, ...(known && { bytes: bytes as number[] }) }]
}

export function encodeLogprobs(tokens: readonly TokenLogprob[]): Json[] {
  const token = ({ token, logprob, bytes }: Omit<TokenLogprob, "others">) => ({ token, logprob, bytes: bytes ?? [] })
  return tokens.map((each) => ({ ...token(each), top_logprobs: each.others.map(token) }))
}
