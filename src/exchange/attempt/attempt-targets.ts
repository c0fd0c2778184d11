// Tries targets in turn until one responds. Only failures that are not the caller's fault move on to the next.
import { asGatewayError, type FailedAttempt, GatewayError } from "../../canonical/gateway-error.ts"
import { allowsFallback, type FailureKind, failureKind } from "../../routing/failure-kind.ts"
import type { Target } from "../../routing/route-plan.ts"
import type { ResendAllowance } from "../../transport/resend-allowance.ts"
import { SseLimitError } from "../../transport/streams/sse.ts"
import { TransportError, type TransportFault } from "../../transport/transport-error.ts"
import type { ChargeSession } from "../charge/charge-session.ts"
import type { ClientCall, ExchangeDeps } from "../exchange-deps.ts"
import { ClientGoneError, noteAttempt, noteFailedAttempt, noteLostRace } from "../exchange-record.ts"
import { chooseLane, type LaneDispatch } from "../lanes/choose-lane.ts"
import type { Attempt } from "../lanes/lane.ts"
import { UntranslatableError } from "../lanes/translate-lane.ts"
import type { ReadRequest } from "../read-request.ts"
import { type AttemptFailure, AttemptSchedule } from "./attempt-schedule.ts"
import { firstToAnswer, type HedgeContender, hedgeAfterMs } from "./hedge.ts"
import { HedgedCall } from "./hedged-call.ts"
import { TimeoutError } from "./upstream-calls.ts"

/** A request, and where it may go. */
export interface AttemptInput {
  readonly call: ClientCall
  readonly deps: ExchangeDeps
  readonly request: ReadRequest
  readonly targets: readonly Target[]
  /** Absent if nothing is charged. */
  readonly chargeSession: ChargeSession | undefined
  /** The session, if affinity matters. */
  readonly session?: string | undefined
  /** True if a slow attempt may be hedged. */
  readonly hedges?: boolean | undefined
  /** Shared by all attempts, so that their number bounds how often a provider sees the request. */
  readonly resends: ResendAllowance
}

/** How attempts are made. */
export interface AttemptDriver<Answer> {
  /** Resolves when the target has committed to a response. */
  send(attempt: Attempt): Promise<Answer>
  /** Discards a response that lost the race. */
  drop(answer: Answer): void
}

/** The attempt that was answered. */
export interface AnsweredAttempt<Answer> {
  readonly attempt: Attempt
  readonly answer: Answer
}

export async function attemptTargets<Answer>(
  attempts: AttemptInput,
  sending: AttemptDriver<Answer>,
): Promise<AnsweredAttempt<Answer>> {
  const course = newSchedule(attempts)
  const errors: GatewayError[] = []
  const failed: FailedAttempt[] = []
  let unsayable: GatewayError | undefined
  const fail = (thrown: unknown, tried: TriedTarget) => {
    const { error, ...failure } = failureOf(thrown, tried)
    course.noteFailure(failure)
    errors.push(error)
    failed.push(toFailedAttempt(tried.target, error))
  }
  for (let step = course.next(); step; step = course.next()) {
    const { target, waitMs } = step
    if (waitMs > 0) await waitBeforeRetry(waitMs, { ...attempts, after: errors.at(-1) })
    let made: Attempt | undefined
    try {
      made = beginAttempt(await chooseLane(target, attempts), attempts)
      if (!attempts.hedges) return { attempt: made, answer: await sending.send(made) }
    } catch (thrown) {
      if (thrown instanceof UntranslatableError) unsayable ??= thrown.error
      else fail(thrown, { target, made, attempts })
      continue
    }
    const won = await runHedged(made, { attempts, sending, course, fail })
    if (won) return won
  }
  if (unsayable && errors.length === 0) throw unsayable
  throw exhaustedError(errors, failed)
}

interface HedgeContext<Answer> {
  readonly attempts: AttemptInput
  readonly sending: AttemptDriver<Answer>
  readonly course: AttemptSchedule
  /** Throws if no other attempt may follow. */
  fail(thrown: unknown, tried: TriedTarget): void
}

interface HedgedAttempt<Answer> extends HedgeContender<Answer> {
  readonly attempt: Attempt
  readonly call: HedgedCall
}

/** The attempt or its hedge; undefined if both failed. */
async function runHedged<Answer>(
  made: Attempt,
  { attempts, sending, course, fail }: HedgeContext<Answer>,
): Promise<AnsweredAttempt<Answer> | undefined> {
  const { call, deps, request } = attempts
  const contend = (of: Attempt, hedged: HedgedCall): HedgedAttempt<Answer> => {
    const attempt = { ...of, call: hedged }
    return { attempt, call: hedged, answer: sending.send(attempt), lostRace: () => outrun(attempt, hedged) }
  }
  const outrun = ({ target, trial }: Attempt, hedged: HedgedCall) => {
    const { attemptStartedAt: startedAt } = hedged.record
    noteLostRace(call.record, { target, startedAt })
    const { stream } = request.reading
    if (trial) deps.health.lostRace(trial, { ms: performance.now() - startedAt, stream })
    hedged.loseRace()
  }
  const won = await firstToAnswer<Answer, HedgedAttempt<Answer>>(contend(made, new HedgedCall(call)), {
    afterMs: hedgeAfterMs(made.target, deps.health, request.reading.stream),
    begin: async () => {
      const target = course.takeHedge()
      if (!target) return undefined
      const hedged = new HedgedCall(call, { ...call.record })
      try {
        const second = beginAttempt(await chooseLane(target, { ...attempts, call: hedged }), {
          ...attempts,
          call: hedged,
        })
        call.record.attempts = hedged.record.attempts
        return contend(second, hedged)
      } catch (thrown) {
        if (!(thrown instanceof UntranslatableError)) deps.onFault(thrown)
        return undefined
      }
    },
    failed: ({ attempt: { target }, attempt: made }, thrown) => fail(thrown, { target, made, attempts }),
    drop: (answer) => sending.drop(answer),
  })
  if (!won) return undefined
  won.contender.call.winRace()
  return { attempt: won.contender.attempt, answer: won.answer }
}

function newSchedule({ deps, request, targets }: AttemptInput): AttemptSchedule {
  const { health, retries, chance } = deps
  return new AttemptSchedule({ targets, health, retries, chance, limitMs: limitOf(deps, request) })
}

function limitOf({ timeouts }: ExchangeDeps, { reading }: ReadRequest): number {
  return reading.stream ? timeouts.streamMs : timeouts.unaryMs
}

/** Remaining time of the request for the attempt that starts now. */
export function timeLeft({ call, deps, request }: Attempt): number {
  const now = performance.now()
  return limitOf(deps, request) - (now - (call.record.failedAttempts?.[0]?.startedAt ?? now))
}

/** Pause before the next attempt; ends at once if the client has left. */
async function waitBeforeRetry(
  ms: number,
  { deps, call, after }: AttemptInput & { after: GatewayError | undefined },
): Promise<void> {
  try {
    await deps.upstreamCalls.pause(call, ms)
  } catch (thrown) {
    // No call was running, so nothing is owed.
    throw thrown instanceof ClientGoneError ? new ClientGoneError("", { cause: after }) : thrown
  }
}

function beginAttempt(
  { target, lane }: LaneDispatch,
  { call, deps, request, chargeSession, session, resends }: AttemptInput,
): Attempt {
  noteAttempt(call.record, target)
  deps.retries.attempted()
  // A host without a token counter stays available for generation.
  const trial = request.reading.counts ? undefined : deps.health.beginAttempt(target)
  return { call, deps, request, chargeSession, target, lane, trial, session, resends }
}

/** Client departure and connection failures show only in the error's cause. */
export function failureKindOf(error: GatewayError): FailureKind {
  const { cause } = error
  if (cause instanceof ClientGoneError) return "client-gone"
  if (cause instanceof TimeoutError) return "timeout"
  const fault = cause instanceof TransportError ? cause.fault : undefined
  if (fault === "connect-timeout") return "timeout"
  // The limit is the gateway's, and the next response would be as large.
  if (fault === "too-large" || cause instanceof SseLimitError) return "gateway"
  return failureKind(error)
}

interface TriedTarget {
  readonly target: Target
  /** Absent if the failure happened in transit. */
  readonly made: Attempt | undefined
  readonly attempts: AttemptInput
}

/** Returns the failure if another attempt may follow; otherwise throws it. */
function failureOf(
  thrown: unknown,
  { target, made, attempts }: TriedTarget,
): AttemptFailure & { readonly error: GatewayError } {
  const { call, deps } = attempts
  const error = asUpstreamError(thrown)
  const kind = call.isGone() ? "client-gone" : failureKindOf(error)
  const { retryAfterMs = error.retryAfterMs, quota } = made?.pause ?? {}
  if (made?.trial) deps.health.endAttempt(made.trial, { failed: kind, retryAfterMs, quota })
  if (kind === "client-gone") {
    throw thrown instanceof ClientGoneError ? thrown : new ClientGoneError("", { cause: thrown })
  }
  if (!allowsFallback(kind)) throw error
  // An internal error on the way to a target is an attempt too, so that the record counts correctly.
  if (!made) noteAttempt(call.record, target)
  const { attemptStartedAt: startedAt } = (made?.call ?? call).record
  noteFailedAttempt(call.record, { target, startedAt, error })
  return { target, kind, tookMs: performance.now() - startedAt, retryAfterMs, error }
}

export function asUpstreamError(thrown: unknown): GatewayError {
  if (thrown instanceof SseLimitError) {
    const message = "The provider sent an event larger than the gateway accepts."
    return new GatewayError("upstream_unavailable", message, { owner: "upstream", cause: thrown })
  }
  if (!(thrown instanceof TransportError)) return asGatewayError(thrown)
  return new GatewayError("upstream_unavailable", SENTENCES[thrown.fault], { owner: "upstream", cause: thrown })
}

const SENTENCES: Readonly<Record<TransportFault, string>> = {
  connect: "The provider could not be reached.",
  "connect-timeout": "The provider did not accept a connection in time.",
  reset: "The connection to the provider broke.",
  "too-large": "The provider's response is larger than the gateway accepts.",
}

function toFailedAttempt(target: Target, error: GatewayError): FailedAttempt {
  return {
    model: target.model.id,
    provider: target.account.id,
    ...(error.upstreamStatus !== undefined && { status: error.upstreamStatus }),
    reason: error.message,
  }
}

/** The error for the caller when every target has failed. */
function exhaustedError(errors: readonly GatewayError[], attempts: readonly FailedAttempt[]): GatewayError {
  const tooLong = errors.every((error) => error.code === "context_length_exceeded")
  if (tooLong && errors[0]) return errors[0]
  const waits = errors.flatMap((error) => error.retryAfterMs ?? [])
  const limited = errors.length > 0 && errors.every((error) => error.code === "upstream_rate_limited")
  const last = errors.at(-1)
  const message =
    attempts.length === 1 && last
      ? last.message
      : `All ${attempts.length} attempts failed. The last error: ${last?.message ?? "no attempt was made."}`
  return new GatewayError(limited ? "upstream_rate_limited" : "upstream_unavailable", message, {
    owner: last?.owner ?? "gateway",
    attempts,
    retryAfterMs: waits.length > 0 ? Math.min(...waits) : undefined,
    cause: last,
  })
}
