// A streamed answer: attempts until one speaks, then what it says, heart-beats in silence, and one proper end.

import type { Deadline } from "../transport/deadlines.ts"
import { type Attempts, attempt, type Sending } from "./attempt.ts"
import type { House } from "./call.ts"
import type { ClientAnswer } from "./client-answer.ts"
import { clientStream } from "./client-stream.ts"
import { answerOf, ClientGoneError } from "./record.ts"
import { UpstreamStream } from "./upstream-stream.ts"

const CONTENT_TYPES = { events: "text/event-stream; charset=utf-8", array: "application/json; charset=utf-8" }

/** How streams are asked for. */
const streams: Sending<UpstreamStream> = {
  send: (attempt) => UpstreamStream.open(attempt),
  drop: (stream) => void stream.fail(new ClientGoneError()),
}

export async function answerStreamed(attempts: Attempts): Promise<ClientAnswer> {
  const { call, house, request, bill } = attempts
  const opening = attempt(attempts, streams).then(({ answer }) => answer)
  const forget = () => {
    bill?.keepInput()
    request.text = ""
    request.body = undefined
    call.forgetBody()
  }
  // Once the stream has begun, its reader hears of a failure; should nobody read any more, nobody needs to.
  opening.then(forget, forget)
  const opened = await withPatience(opening, house)
  const contentType = CONTENT_TYPES[request.reading.framing]
  const body = clientStream(opened ?? opening, { ...attempts, contentType })
  // While attempts still go on, nobody knows yet who will answer.
  const answer = answerOf(opened ? call.record : { ...call.record, attempts: 0 }, body, contentType)
  answer.headers.set("cache-control", "no-cache")
  // Proxies that buffer by default are told not to.
  answer.headers.set("x-accel-buffering", "no")
  return answer
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
