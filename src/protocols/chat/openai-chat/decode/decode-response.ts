// Decodes a whole chat completion as a stream with one delta per candidate.
import { assembleResponse } from "../../../../canonical/chat/assemble-response.ts"
import type { ChatResponse } from "../../../../canonical/chat/chat-response.ts"
import type { StreamEvent } from "../../../../canonical/chat/stream-event.ts"
import { isObject, type Json, type JsonObject } from "../../../../canonical/json.ts"
import type { UpstreamResponseContext } from "../../../chat-codec.ts"
import { decodeUsage } from "../usage.ts"
import { decodeHead } from "./decode-stream.ts"
import { ChatCandidateDecoder } from "./decode-stream-candidate.ts"

/** Undefined if it is not a response of this protocol. */
export function decodeResponse(body: JsonObject, context: UpstreamResponseContext): ChatResponse | undefined {
  const { choices, error, usage: counted } = body
  if (!Array.isArray(choices) || (error !== undefined && error !== null)) return undefined
  const events: StreamEvent[] = [{ type: "stream-start", ...decodeHead(body) }]
  for (const [position, choice] of choices.entries() as Iterable<[number, Json]>) {
    if (!isObject(choice)) continue
    const index = typeof choice.index === "number" ? choice.index : position
    const candidate = new ChatCandidateDecoder(index, context)
    candidate.grow({ ...choice, delta: choice.message ?? null }, events)
    if (!candidate.ended) candidate.endParts(events)
  }
  const usage = decodeUsage(counted)
  if (usage) events.push({ type: "usage", usage })
  return assembleResponse(events)
}
