// A streamed answer as clients of this protocol read it: one item at a time, in order, each piece as soon as it is there.
// Parts that overlap wait for one another; a part that has said nothing yet makes nobody wait.
import type { GatewayError } from "../../canonical/error.ts"
import type { StreamEvent } from "../../canonical/stream.ts"
import type { EncodeContext, StreamWriter } from "../codec.ts"
import type { FrameContext } from "../contract.ts"
import { AnswerWriter } from "./answer-writer.ts"
import { errorFrames } from "./errors.ts"
import { EventWire } from "./output.ts"
import { openedResponse } from "./response-object.ts"

export function encodeStream(context: EncodeContext): StreamWriter {
  const wire = new EventWire()
  const answer = new AnswerWriter(context, wire)
  return {
    push(event: StreamEvent) {
      answer.take(event)
      return wire.take()
    },
    /** A stream that stops short has no end of its own. */
    finish: () => [],
    errorFrame(error: GatewayError, { unixTime }: FrameContext) {
      const fresh = openedResponse(context, unixTime)
      return errorFrames(error, { created: answer.opened, sequence: wire.sequence - 1 }, fresh)
    },
  }
}
