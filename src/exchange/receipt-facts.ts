// What a receipt shows beside what was booked: how the request was put, who was tried, and what was lost on the way.
import type { JsonObject } from "../canonical/json.ts"
import { usdOfNano } from "../canonical/usd.ts"
import type { ObservedAttempt } from "../telemetry/observed.ts"
import type { Call } from "./call.ts"
import type { ReadRequest } from "./request.ts"
import type { Basis } from "./spent.ts"

interface Booked {
  /** Absent where nothing was used. */
  readonly basis?: Basis
  readonly heldNano: bigint
}

export function receiptFacts({ record, caller }: Call, request: ReadRequest, { basis, heldNano }: Booked): JsonObject {
  const { target, losses, failedAttempts = [], attempts, error } = record
  const { routing, model } = request.reading
  const isOpen = target && attempts > failedAttempts.length
  const last = isOpen
    ? [{ provider: target.account.id, model: target.model.id, ...(error && { error: error.code }) }]
    : []
  const strict = routing.strict === true || caller.strict
  return {
    protocol: record.protocol ?? null,
    ...(target && target.protocol !== record.protocol && { upstream_protocol: target.protocol }),
    requested_model: model,
    stream: request.reading.stream,
    ...(basis && { basis }),
    held: usdOfNano(heldNano),
    attempts: failedAttempts.length === 0 ? last : [...failedAttempts.map(shownAttempt), ...last],
    losses: losses ? losses.map((loss) => ({ ...loss })) : [],
    policy: {
      ...(routing.strategy && { routing: routing.strategy }),
      ...(routing.fallback.length > 0 && { fallback: routing.fallback }),
      ...(strict && { strict }),
    },
  }
}

function shownAttempt({ provider, model, error }: ObservedAttempt): JsonObject {
  const status = error?.upstreamStatus
  return { provider, model, ...(status !== undefined && { status }), ...(error && { error: error.code }) }
}
