// Reads a ConverseStream, out of AWS's frames already, into canonical events.
import type { StreamEvent } from "../../canonical/stream.ts"
import type { Frame } from "../../transport/sse.ts"
import type { Step } from "../../transport/step.ts"
import type { DecodeContext } from "../codec.ts"
import { brokenEvent, parseEvent } from "../event-data.ts"
import { GrowingMessage } from "./growing-message.ts"

export function decodeStream(context: DecodeContext): Step<Frame, StreamEvent> {
  const message = new GrowingMessage(context)
  return {
    push({ event, data }) {
      if (data === undefined || message.ended) return []
      const said = parseEvent(data)
      return said ? message.take(event, said) : [brokenEvent()]
    },
    /** A message that said why it stopped is whole, also without what it has used. */
    finish() {
      return message.ended || !message.stopped ? [] : message.end()
    },
  }
}
