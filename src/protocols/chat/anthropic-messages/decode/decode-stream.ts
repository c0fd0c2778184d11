// Decodes a messages stream into canonical events: for the translate lane, and as the relay's observer.

import type { StreamEvent } from "../../../../canonical/chat/stream-event.ts"
import type { SseFrame } from "../../../../transport/streams/sse.ts"
import type { StreamStep } from "../../../../transport/streams/stream-step.ts"
import { brokenEvent, parseEvent } from "../../../parse-event.ts"
import { MessageStreamDecoder } from "./decode-stream-message.ts"

export function decodeStream(
  { minter }: { minter: string } = { minter: "anthropic" },
): StreamStep<SseFrame, StreamEvent> {
  const message = new MessageStreamDecoder(minter)
  return {
    push({ data }) {
      if (data === undefined || message.ended) return []
      const event = parseEvent(data)
      return event ? message.take(event) : [brokenEvent()]
    },
    /** Some hosts omit the terminal event; a message with a stop reason is complete all the same. */
    finish() {
      return message.ended || !message.stopped ? [] : message.end()
    },
  }
}
