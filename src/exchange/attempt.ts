// Tries one target after the other until one answers. Only what is not the caller's doing moves on to the next.
import { asGatewayError, type FailedAttempt, GatewayError } from "../canonical/error.ts"
import type { Target } from "../routing/plan.ts"
import { SseLimitError } from "../transport/sse.ts"
import { TransportError, type TransportFault } from "../transport/transport-error.ts"
import type { Bill } from "./bill.ts"
import type { Call, House } from "./call.ts"
import type { Attempt } from "./lane.ts"
import { passes, translatedWay } from "./lane-choice.ts"
import { ClientGoneError, noteAttempt, noteFailedAttempt } from "./record.ts"
import { relayLane } from "./relay-lane.ts"
import type { ReadRequest } from "./request.ts"
import { UnsayableError } from "./translate-lane.ts"

const MAX_ATTEMPTS = 8

/** A request, and where it may go. */
export interface Attempts {
  readonly call: Call
  readonly house: House
  readonly request: ReadRequest
  readonly targets: readonly Target[]
  /** Absent where nothing is charged. */
  readonly bill: Bill | undefined
}

export async function attempt<Answer>(
  attempts: Attempts,
  send: (attempt: Attempt) => Promise<Answer>,
): Promise<Answer> {
  const { call, house, request, targets, bill } = attempts
  const errors: GatewayError[] = []
  const failed: FailedAttempt[] = []
  let unsayable: GatewayError | undefined
  for (const target of targets) {
    const { attempts: before } = call.record
    if (before === MAX_ATTEMPTS) break
    try {
      if (passes(target, attempts)) {
        noteAttempt(call.record, target)
        return await send({ call, house, request, bill, target, lane: relayLane })
      }
      const way = await translatedWay(target, attempts)
      noteAttempt(call.record, way.target)
      return await send({ call, house, request, bill, ...way })
    } catch (thrown) {
      if (thrown instanceof UnsayableError) {
        unsayable ??= thrown.error
        continue
      }
      if (call.isGone()) throw thrown instanceof ClientGoneError ? thrown : new ClientGoneError("", { cause: thrown })
      const error = asUpstreamError(thrown)
      if (!mayMoveOn(error)) throw error
      // A fault of ours on the way to a target is an attempt too, or the record would miss the one that answers.
      if (call.record.attempts === before) noteAttempt(call.record, target)
      noteFailedAttempt(call.record, target, error)
      errors.push(error)
      failed.push(told(target, error))
    }
  }
  if (unsayable && errors.length === 0) throw unsayable
  throw exhausted(errors, failed)
}

export function asUpstreamError(thrown: unknown): GatewayError {
  if (thrown instanceof SseLimitError) {
    const message = "The provider sent an event larger than the gateway takes."
    return new GatewayError("upstream_unavailable", message, { owner: "upstream", cause: thrown })
  }
  if (!(thrown instanceof TransportError)) return asGatewayError(thrown)
  return new GatewayError("upstream_unavailable", SENTENCES[thrown.fault], { owner: "upstream", cause: thrown })
}

const SENTENCES: Readonly<Record<TransportFault, string>> = {
  connect: "The provider could not be reached.",
  "connect-timeout": "The provider did not accept a connection in time.",
  reset: "The connection to the provider broke.",
  "too-large": "The provider's answer is larger than the gateway takes.",
}

function mayMoveOn(error: GatewayError): boolean {
  if (error.code === "shutting_down") return false
  return error.owner !== "caller" || error.code === "context_length_exceeded"
}

function told(target: Target, error: GatewayError): FailedAttempt {
  return {
    model: target.model.id,
    provider: target.account.id,
    ...(error.upstreamStatus !== undefined && { status: error.upstreamStatus }),
    reason: error.message,
  }
}

/** What the caller hears when every target has failed. */
function exhausted(errors: readonly GatewayError[], attempts: readonly FailedAttempt[]): GatewayError {
  const tooLong = errors.every((error) => error.code === "context_length_exceeded")
  if (tooLong && errors[0]) return errors[0]
  const waits = errors.flatMap((error) => error.retryAfterMs ?? [])
  const limited = errors.length > 0 && errors.every((error) => error.code === "upstream_rate_limited")
  const last = errors.at(-1)
  const message =
    attempts.length === 1 && last
      ? last.message
      : `None of ${attempts.length} attempts was answered. The last: ${last?.message ?? "none was made."}`
  return new GatewayError(limited ? "upstream_rate_limited" : "upstream_unavailable", message, {
    owner: last?.owner ?? "gateway",
    attempts,
    retryAfterMs: waits.length > 0 ? Math.min(...waits) : undefined,
    cause: last,
  })
}
