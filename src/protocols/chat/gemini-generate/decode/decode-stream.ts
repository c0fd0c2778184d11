// Decodes a streamGenerateContent stream into canonical events: for the translate lane, and as the relay's observer.

import type { StreamEvent } from "../../../../canonical/chat/stream-event.ts"
import { isObject, type Json } from "../../../../canonical/json.ts"
import type { SseFrame } from "../../../../transport/streams/sse.ts"
import type { StreamStep } from "../../../../transport/streams/stream-step.ts"
import type { UpstreamResponseContext } from "../../../chat-codec.ts"
import { brokenEvent, parseData } from "../../../parse-event.ts"
import { decodeErrorBody } from "../errors.ts"
import { foreignChunkEvent, GeminiChunkDecoder } from "./decode-stream-chunk.ts"

/** An empty event or an end marker, which hosts of other protocols send and this protocol's clients fail on. */
export function isIdle(data: string): boolean {
  const text = data.trim()
  return text === "" || text === "[DONE]"
}

/** Without a context it only observes, which costs less. */
export function decodeStream(context?: UpstreamResponseContext): StreamStep<SseFrame, StreamEvent> {
  const reader = new GeminiChunkDecoder(context)
  return {
    push(frame) {
      const text = jsonOfFrame(frame)
      if (text === undefined) return []
      const chunk = parseData(text)
      if (isError(chunk)) return [{ type: "stream-error", error: decodeErrorBody(chunk) }]
      if (frame.data === undefined || !isObject(chunk)) return [brokenEvent()]
      const events = reader.read(chunk)
      const more = context && foreignChunkEvent(chunk)
      return more ? [more, ...events] : events
    },
    finish: () => (reader.isWhole() ? [...reader.close(), { type: "stream-end" }] : []),
  }
}

/** The JSON of a frame. The vendor writes an error inside a stream bare, not as an event. */
function jsonOfFrame({ raw, data }: SseFrame): string | undefined {
  if (data !== undefined) return isIdle(data) ? undefined : data
  return /^\s*[[{]/.test(raw) ? raw : undefined
}

function isError(chunk: Json | undefined): boolean {
  const body = Array.isArray(chunk) ? chunk[0] : chunk
  return isObject(body) && body.error !== undefined && body.error !== null
}
