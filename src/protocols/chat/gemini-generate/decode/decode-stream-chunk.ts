// Decodes one chunk: a whole response, or one event of a stream. Both have the same shape.

import type { StreamEvent } from "../../../../canonical/chat/stream-event.ts"
import { isObject, type JsonObject } from "../../../../canonical/json.ts"
import type { UpstreamResponseContext } from "../../../chat-codec.ts"
import { PROTOCOL } from "../passthrough-fields.ts"
import { decodeUsage } from "../usage.ts"
import { foreignCandidateMembers, GeminiCandidateDecoder } from "./decode-stream-candidate.ts"

/** Decodes the chunks of one response. Without a context it only observes. */
export class GeminiChunkDecoder {
  private readonly candidates = new Map<number, GeminiCandidateDecoder>()
  private started = false

  constructor(private readonly context?: UpstreamResponseContext) {}

  read(chunk: JsonObject): StreamEvent[] {
    const events: StreamEvent[] = []
    if (!this.started) events.push(streamStart(chunk))
    this.started = true
    if (Array.isArray(chunk.candidates)) {
      for (const candidate of chunk.candidates)
        if (isObject(candidate)) this.candidate(candidate).grow(candidate, events)
    }
    const blocked = isObject(chunk.promptFeedback) ? chunk.promptFeedback.blockReason : undefined
    if (typeof blocked === "string") this.candidate({}).block(blocked, events)
    const usage = decodeUsage(chunk.usageMetadata)
    if (usage) events.push({ type: "usage", usage })
    return events
  }

  /** There is no terminal event: a response is complete when every candidate has a finish reason. */
  isWhole(): boolean {
    if (this.candidates.size === 0) return false
    for (const candidate of this.candidates.values()) if (!candidate.ended) return false
    return true
  }

  close(): StreamEvent[] {
    const events: StreamEvent[] = []
    for (const candidate of this.candidates.values()) candidate.close(events)
    return events
  }

  private candidate({ index }: JsonObject): GeminiCandidateDecoder {
    const number = typeof index === "number" && Number.isSafeInteger(index) && index >= 0 ? index : 0
    const known = this.candidates.get(number)
    if (known) return known
    const candidate = new GeminiCandidateDecoder(number, this.context)
    this.candidates.set(number, candidate)
    return candidate
  }
}

function streamStart(chunk: JsonObject): StreamEvent {
  const { responseId, modelVersion, createTime } = chunk
  const created = typeof createTime === "string" ? Math.floor(Date.parse(createTime) / 1000) : Number.NaN
  return {
    type: "stream-start",
    ...(typeof responseId === "string" && { id: responseId }),
    ...(typeof modelVersion === "string" && { model: modelVersion }),
    ...(!Number.isNaN(created) && { created }),
  }
}

/** A response's members other than candidates, usage and names; undefined if there are none. */
export function foreignChunkMembers(chunk: JsonObject): JsonObject | undefined {
  const { candidates: _c, usageMetadata: _u, responseId: _r, modelVersion: _m, createTime: _t, ...others } = chunk
  return Object.keys(others).length === 0 ? undefined : others
}

/** A chunk's members without a canonical counterpart, in the shape of a chunk, for clients of this protocol. */
export function foreignChunkEvent(chunk: JsonObject): StreamEvent | undefined {
  const members = foreignChunkMembers(chunk)
  const candidates = (Array.isArray(chunk.candidates) ? chunk.candidates : []).filter(isObject).flatMap((candidate) => {
    const more = foreignCandidateMembers(candidate)
    return more ? [{ ...(candidate.index !== undefined && { index: candidate.index }), ...more }] : []
  })
  if (!members && candidates.length === 0) return undefined
  const value = { ...(candidates.length > 0 && { candidates }), ...members }
  return { type: "foreign", protocol: PROTOCOL, value }
}
