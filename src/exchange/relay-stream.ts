// The relay lane, streamed: attempts until one speaks, then its bytes, heart-beats in silence, and one proper end.
import { asGatewayError } from "../canonical/error.ts"
import type { Target } from "../routing/plan.ts"
import { fromByteText } from "../transport/byte-text.ts"
import type { Deadline } from "../transport/deadlines.ts"
import { attempt } from "./attempt.ts"
import type { Call, House } from "./call.ts"
import { ClientGoneError, noteFailure, originHeaders } from "./record.ts"
import type { ReadRequest } from "./request.ts"
import { UpstreamStream } from "./upstream-stream.ts"

const EVENT_STREAM = "text/event-stream; charset=utf-8"

interface StreamedCall {
  readonly call: Call
  readonly house: House
  readonly request: ReadRequest
  readonly targets: readonly Target[]
}

export async function relayStreamed({ call, house, request, targets }: StreamedCall): Promise<Response> {
  const opening = attempt(targets, call, (target) => UpstreamStream.open({ call, house, request, target }))
  // Once the stream has begun, its reader hears of a failure; should nobody read any more, nobody needs to.
  opening.catch(() => {})
  const opened = await withPatience(opening, house)
  // While attempts still go on, nobody knows yet who will answer.
  const headers: Record<string, string> = opened
    ? originHeaders(call.record, EVENT_STREAM)
    : { "content-type": EVENT_STREAM, "x-request-id": call.record.requestId }
  headers["cache-control"] = "no-cache"
  // Proxies that buffer by default are told not to.
  headers["x-accel-buffering"] = "no"
  return new Response(clientStream(opened ?? opening, { call, house }), { headers })
}

/** What opened in time; undefined when it takes longer, and the client is better told that somebody is there. */
async function withPatience(
  opening: Promise<UpstreamStream>,
  { deadlines, timeouts }: House,
): Promise<UpstreamStream | undefined> {
  let deadline: Deadline | undefined
  const patience = new Promise<undefined>((resolve) => {
    deadline = deadlines.arm(timeouts.heartbeatMs, () => resolve(undefined))
  })
  try {
    return await Promise.race([opening, patience])
  } finally {
    deadline?.clear()
  }
}

/** Pulled by the client, so that a slow reader slows the upstream down instead of filling memory. */
function clientStream(
  source: UpstreamStream | Promise<UpstreamStream>,
  { call, house }: { call: Call; house: House },
): ReadableStream {
  const { heartbeatMs, stalledMs } = house.timeouts
  const heartbeat = fromByteText(call.protocol.heartbeat)
  let opened = source instanceof Promise ? undefined : source
  let beat: Deadline | undefined
  let pulling = false
  let progressAt = performance.now()
  let over = false

  const settle = () => {
    over = true
    beat?.clear()
    call.finish()
  }
  const leave = () => {
    call.record.outcome = "client-gone"
    opened?.abort(new ClientGoneError())
    settle()
  }

  return new ReadableStream<Uint8Array>({
    start(controller) {
      const pulse = () => {
        if (pulling) controller.enqueue(heartbeat)
        else if (performance.now() - progressAt >= stalledMs) {
          leave()
          call.cutOff()
          controller.error(new ClientGoneError())
          return
        }
        beat?.extend(heartbeatMs)
      }
      beat = house.deadlines.arm(heartbeatMs, pulse)
      if (!opened) controller.enqueue(heartbeat)
    },
    async pull(controller) {
      pulling = true
      try {
        opened ??= await source
        const bytes = opened.held.shift() ?? (await opened.next())
        if (over) return
        if (bytes) controller.enqueue(bytes)
        else {
          settle()
          controller.close()
        }
      } catch (thrown) {
        if (over) return
        const error = asGatewayError(thrown)
        noteFailure(call.record, error)
        controller.enqueue(fromByteText(call.protocol.errorFrame(error, { requestId: call.record.requestId })))
        settle()
        controller.close()
      }
      pulling = false
      progressAt = performance.now()
      if (!over) beat?.extend(heartbeatMs)
    },
    cancel() {
      if (!over) leave()
    },
  })
}
