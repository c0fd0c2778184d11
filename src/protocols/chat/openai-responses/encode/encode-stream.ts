// Encodes a stream for clients of this protocol: one item at a time, in order, each piece as soon as it arrives.
// Overlapping parts wait for one another; an empty part does not make others wait.

import type { StreamEvent } from "../../../../canonical/chat/stream-event.ts"
import type { GatewayError } from "../../../../canonical/gateway-error.ts"
import type { ClientResponseContext, StreamWriter } from "../../../chat-codec.ts"
import type { FrameContext } from "../../../contract.ts"
import { errorFrames } from "../errors.ts"
import { ResponseBuilder } from "./encode-response-builder.ts"
import { openResponse } from "./encode-response-object.ts"
import { EventBuffer } from "./encode-stream-output.ts"

export function encodeStream(context: ClientResponseContext): StreamWriter {
  const wire = new EventBuffer()
  const answer = new ResponseBuilder(context, wire)
  return {
    push(event: StreamEvent) {
      answer.take(event)
      return wire.take()
    },
    /** A stream that stops early gets no end. */
    finish: () => [],
    errorFrame(error: GatewayError, { unixTime }: FrameContext) {
      const fresh = openResponse(context, unixTime)
      return errorFrames(error, { created: answer.opened, sequence: wire.sequence - 1 }, fresh)
    },
  }
}
