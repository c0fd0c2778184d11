// Log probabilities in the shape of both OpenAI chat protocols.

import type { TokenLogprob } from "../../canonical/chat/chat-response.ts"
import { isObject, type Json } from "../../canonical/json.ts"

/** Empty if it is not a token. */
export function decodeToken(wire: Json): TokenLogprob[] {
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
