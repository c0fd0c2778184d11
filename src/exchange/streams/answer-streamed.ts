// Streamed responses: attempts until one sends content, then its stream with heart-beats and exactly one end.

import type { Deadline } from "../../transport/deadline-timer.ts"
import { type AttemptDriver, attemptTargets } from "../attempt/attempt-targets.ts"
import { buildResponse } from "../build-response.ts"
import { ClientGoneError } from "../client-gone-error.ts"
import type { ClientResponse } from "../client-response.ts"
import type { ExchangeDeps } from "../exchange-deps.ts"
import type { ReservedExchange } from "../reserved-exchange.ts"
import { openClientStream } from "./client-stream.ts"
import { UpstreamStream } from "./upstream-stream.ts"

const CONTENT_TYPES = { events: "text/event-stream; charset=utf-8", array: "application/json; charset=utf-8" }

/** Sends attempts whose responses are streamed. */
const streamDriver: AttemptDriver<UpstreamStream> = {
  send: (attempt) => UpstreamStream.open(attempt),
  drop: (stream) => void stream.fail(new ClientGoneError()),
}

export async function answerStreamed(exchange: ReservedExchange): Promise<ClientResponse> {
  const { call, deps, request, chargeSession } = exchange
  const opening = attemptTargets(exchange, streamDriver).then(({ answer }) => answer)
  const forget = () => {
    chargeSession?.keepInput()
    request.text = ""
    request.body = undefined
    call.releaseBody()
  }
  // Once the stream has begun, its reader gets the failure; without a reader it can be ignored.
  opening.then(forget, forget)
  const opened = await withPatience(opening, deps)
  const contentType = CONTENT_TYPES[request.reading.framing]
  const body = openClientStream(opened ?? opening, { ...exchange, contentType })
  // While attempts run, the serving provider is unknown.
  const answer = buildResponse(call.progress, { body, contentType, namesOrigin: opened !== undefined })
  answer.headers.set("cache-control", "no-cache")
  // Disables buffering in proxies.
  answer.headers.set("x-accel-buffering", "no")
  return answer
}

/** The opened stream; undefined if it takes longer, so that a heart-beat is sent first. */
async function withPatience(
  opening: Promise<UpstreamStream>,
  { deadlines, timeouts }: ExchangeDeps,
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
