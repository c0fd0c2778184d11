// A stream through a protocol's relay as the exchange does it, for tests.
import { grownPartKey, type StreamEvent } from "../canonical/chat/stream-event.ts"
import { fromByteText, toByteText } from "../transport/json/byte-text.ts"
import { Tee } from "../transport/streams/tee.ts"
import type { RequestSummary, StreamRelay } from "./contract.ts"

export function streamReading(operation: string): RequestSummary {
  const routing = { fallback: [] }
  return {
    operation,
    model: "a/b",
    stream: true,
    framing: "events",
    usageRequested: true,
    outputLimits: { candidates: 1 },
    routing,
    headers: {},
  }
}

/** The forwarded byte text, and the observer's events. */
export function relaying(relay: StreamRelay) {
  const events: StreamEvent[] = []
  const tee = new Tee<StreamEvent>({
    observer: relay.observer,
    edit: (frame) => relay.edit(frame),
    onEvent(event) {
      events.push(event)
      return event.type === "stream-end" ? "last-frame" : "go-on"
    },
    onObserverFailure: (cause) => {
      throw cause
    },
    growth: {
      partOf: grownPartKey,
      mayVary: relay.mayVary,
      onAlike: (bytes) => relay.passedAlike?.(bytes),
      onText: () => {},
    },
  })
  const textOf = (bytes: Uint8Array | undefined) => (bytes ? toByteText(bytes) : "")
  return {
    events,
    push: (piece: string) => textOf(tee.push(fromByteText(piece))),
    /** The rest, when the upstream has ended. */
    finish() {
      const passed = textOf(tee.finish())
      tee.conclude()
      return passed
    },
  }
}
