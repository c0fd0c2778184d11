// A whole chat completion in canonical words: read as a stream of one delta to each candidate.
import { fold } from "../../canonical/fold.ts"
import { isObject, type Json, type JsonObject } from "../../canonical/json.ts"
import type { ChatResponse } from "../../canonical/response.ts"
import type { StreamEvent } from "../../canonical/stream.ts"
import type { DecodeContext } from "../codec.ts"
import { decodeHead } from "./decode-stream.ts"
import { GrowingCandidate } from "./growing-candidate.ts"
import { decodeUsage } from "./usage.ts"

/** Undefined where it is no answer of this protocol. */
export function decodeResponse(body: JsonObject, context: DecodeContext): ChatResponse | undefined {
  const { choices, error, usage: counted } = body
  if (!Array.isArray(choices) || (error !== undefined && error !== null)) return undefined
  const events: StreamEvent[] = [{ type: "stream-start", ...decodeHead(body) }]
  for (const [position, choice] of choices.entries() as Iterable<[number, Json]>) {
    if (!isObject(choice)) continue
    const index = typeof choice.index === "number" ? choice.index : position
    const candidate = new GrowingCandidate(index, context)
    candidate.grow({ ...choice, delta: choice.message ?? null }, events)
    if (!candidate.ended) candidate.endParts(events)
  }
  const usage = decodeUsage(counted)
  if (usage) events.push({ type: "usage", usage })
  return fold(events)
}
