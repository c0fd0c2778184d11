// How likely tokens were, both ways.
import { isObject, type Json } from "../../canonical/json.ts"
import type { TokenLogprob } from "../../canonical/response.ts"

export function decodeLogprobs(wire: Json | undefined): TokenLogprob[] {
  if (!isObject(wire)) return []
  return [wire.content, wire.refusal].flatMap((tokens) => (Array.isArray(tokens) ? tokens.flatMap(decodeToken) : []))
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

export function encodeLogprobs(tokens: readonly TokenLogprob[]): Json {
  const token = ({ token, logprob, bytes }: Omit<TokenLogprob, "others">) => ({ token, logprob, bytes: bytes ?? null })
  return { content: tokens.map((each) => ({ ...token(each), top_logprobs: each.others.map(token) })), refusal: null }
}
