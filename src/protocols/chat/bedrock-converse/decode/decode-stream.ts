// Decodes a ConverseStream, already extracted from AWS's frames, into canonical events.
import type { StreamEvent } from "../../../../canonical/chat/stream-event.ts"
import type { SseFrame } from "../../../../transport/streams/sse.ts"
import type { StreamStep } from "../../../../transport/streams/stream-step.ts"
import type { UpstreamResponseContext } from "../../../chat-codec.ts"
import { brokenEvent, parseEvent } from "../../../parse-event.ts"
import { ConverseStreamDecoder } from "./decode-stream-message.ts"

export function decodeStream(context: UpstreamResponseContext): StreamStep<SseFrame, StreamEvent> {
  const message = new ConverseStreamDecoder(context)
  return {
    push({ event, data }) {
      if (data === undefined || message.ended) return []
      const payload = parseEvent(data)
      return payload ? message.take(event, payload) : [brokenEvent()]
    },
    /** A message with a stop reason is complete, even without usage. */
    finish() {
      return message.ended || !message.stopped ? [] : message.end()
    },
  }
}
