// A stream through a protocol's relay as the exchange does it, for tests.
import { grownPart, type StreamEvent } from "../canonical/stream.ts"
import { fromByteText, toByteText } from "../transport/byte-text.ts"
import { Tee } from "../transport/tee.ts"
import type { Reading, StreamRelay } from "./contract.ts"

export function streamReading(operation: string): Reading {
  const routing = { fallback: [] }
  return {
    operation,
    model: "a/b",
    stream: true,
    framing: "events",
    usageAsked: true,
    asks: { candidates: 1 },
    routing,
    headers: {},
  }
}

/** What passes, in byte text, and what the observer has told. */
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
      partOf: grownPart,
      mayVary: relay.mayVary,
      onAlike: (bytes) => relay.passedAlike?.(bytes),
      onSaid: () => {},
    },
  })
  const textOf = (bytes: Uint8Array | undefined) => (bytes ? toByteText(bytes) : "")
  return {
    events,
    push: (piece: string) => textOf(tee.push(fromByteText(piece))),
    /** The rest, once the upstream has said all. */
    finish() {
      const passed = textOf(tee.finish())
      tee.conclude()
      return passed
    },
  }
}
