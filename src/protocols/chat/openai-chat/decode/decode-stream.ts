// Decodes a chat completions stream into canonical events: for the translate lane, and as the relay's observer.

import type { StreamEvent } from "../../../../canonical/chat/stream-event.ts"
import { isObject, type JsonObject } from "../../../../canonical/json.ts"
import type { SseFrame } from "../../../../transport/streams/sse.ts"
import type { StreamStep } from "../../../../transport/streams/stream-step.ts"
import type { UpstreamResponseContext } from "../../../chat-codec.ts"
import { decodeErrorBody } from "../../../openai/openai-errors.ts"
import { brokenEvent, parseEvent } from "../../../parse-event.ts"
import { decodeUsage } from "../usage.ts"
import { ChatCandidateDecoder } from "./decode-stream-candidate.ts"

export const DONE = "[DONE]"

export function decodeStream(context?: UpstreamResponseContext): StreamStep<SseFrame, StreamEvent> {
  const candidates = new Map<number, ChatCandidateDecoder>()
  let started = false
  let ended = false

  return {
    push({ event, data }) {
      if (data === undefined || ended) return []
      if (data.trim() === DONE) {
        ended = true
        const events: StreamEvent[] = []
        for (const candidate of candidates.values()) candidate.endParts(events)
        events.push({ type: "stream-end" })
        return events
      }
      const chunk = parseEvent(data)
      if (!chunk) return [brokenEvent()]
      if (event === "error" || (chunk.error !== undefined && chunk.error !== null)) {
        return [{ type: "stream-error", error: decodeErrorBody(chunk) }]
      }
      const events: StreamEvent[] = []
      if (!started) events.push({ type: "stream-start", ...decodeHead(chunk) })
      started = true
      if (Array.isArray(chunk.choices)) {
        for (const choice of chunk.choices) {
          if (isObject(choice)) candidateOf(choice, candidates, context).grow(choice, events)
        }
      }
      const usage = decodeUsage(chunk.usage) ?? groqUsage(chunk)
      if (usage) events.push({ type: "usage", usage })
      return events
    },
    /** Some hosts omit the terminal event; a response is complete when every candidate has ended. */
    finish() {
      if (ended || candidates.size === 0) return []
      for (const candidate of candidates.values()) if (!candidate.ended) return []
      ended = true
      return [{ type: "stream-end" }]
    },
  }
}

/** Groq reported it here only, until 2025. */
function groqUsage({ x_groq }: JsonObject) {
  return isObject(x_groq) ? decodeUsage(x_groq.usage) : undefined
}

/** The response's id, model and time; some hosts send them empty. */
export function decodeHead({ id, model, created }: JsonObject): { id?: string; model?: string; created?: number } {
  return {
    ...(typeof id === "string" && id !== "" && { id }),
    ...(typeof model === "string" && model !== "" && { model }),
    ...(typeof created === "number" && created > 0 && { created }),
  }
}

function candidateOf(
  choice: JsonObject,
  candidates: Map<number, ChatCandidateDecoder>,
  context: UpstreamResponseContext | undefined,
): ChatCandidateDecoder {
  const index = typeof choice.index === "number" ? choice.index : 0
  const known = candidates.get(index)
  if (known) return known
  const candidate = new ChatCandidateDecoder(index, context)
  candidates.set(index, candidate)
  return candidate
}
