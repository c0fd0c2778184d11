// Reads a messages stream into canonical events, and says what of each frame passes in the relay lane.
import type { StreamEvent } from "../../canonical/stream.ts"
import { asciiJson, splice } from "../../transport/json-splice.ts"
import { type Frame, withData } from "../../transport/sse.ts"
import type { MayVary } from "../../transport/stencil.ts"
import type { Step } from "../../transport/step.ts"
import type { RelayContext, StreamRelay } from "../contract.ts"
import { brokenEvent, parseEvent } from "../event-data.ts"
import { errorFrame } from "./errors.ts"
import { GrowingMessage } from "./growing-message.ts"

/** The protocol has an event for it. */
export const heartbeat = 'event: ping\ndata: {"type": "ping"}\n\n'

const MAY_VARY: MayVary = new Map(["text", "thinking", "partial_json"].map((name) => [name, true]))

export function relayStream({ model }: RelayContext): StreamRelay {
  const name = asciiJson(model)
  let opened = false
  return {
    observer: decodeStream(),
    /** Only the first event names the model. Some hosts send it twice, which clients refuse. */
    edit(frame) {
      if (frame.data === undefined || !isOpening(frame.data)) return frame.raw
      if (opened) return ""
      opened = true
      return withData(frame, splice(frame.data, [{ path: ["message", "model"], set: name }]))
    },
    mayVary: MAY_VARY,
    terminal: () => 'event: message_stop\ndata: {"type":"message_stop"}\n\n',
    errorFrame,
  }
}

/** The words may stand in a text, too. */
function isOpening(data: string): boolean {
  return data.includes('"message_start"') && parseEvent(data)?.type === "message_start"
}

export function decodeStream({ minter }: { minter: string } = { minter: "anthropic" }): Step<Frame, StreamEvent> {
  const message = new GrowingMessage(minter)
  return {
    push({ data }) {
      if (data === undefined || message.ended) return []
      const event = parseEvent(data)
      return event ? message.take(event) : [brokenEvent()]
    },
    /** Some hosts leave out the terminal event; a message that said why it stopped is whole all the same. */
    finish() {
      return message.ended || !message.stopped ? [] : message.end()
    },
  }
}
