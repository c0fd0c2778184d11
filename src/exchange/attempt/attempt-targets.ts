// Tries targets in turn until one responds. Only failures that are not the caller's fault move on to the next.
import { asGatewayError, type FailedAttempt, GatewayError } from "../../canonical/gateway-error.ts"
import { allowsFallback, type FailureKind, failureKind } from "../../routing/failure-kind.ts"
import type { Target } from "../../routing/route-plan.ts"
import { SseLimitError } from "../../transport/streams/sse.ts"
import { TransportError, type TransportFault } from "../../transport/transport-error.ts"
import { ClientGoneError } from "../client-gone-error.ts"
import type { ExchangeDeps } from "../exchange-deps.ts"
import { chooseLane, type LaneDispatch } from "../lanes/choose-lane.ts"
import type { Attempt } from "../lanes/lane.ts"
import { UntranslatableError } from "../lanes/translate-lane.ts"
import type { ReadRequest } from "../read-request.ts"
import type { ReservedExchange } from "../reserved-exchange.ts"
import { type AttemptFailure, AttemptSchedule } from "./attempt-schedule.ts"
import { hedgeAfterMs, type RaceEntrant, raceAttempts } from "./hedge.ts"
import { TimeoutError } from "./upstream-calls.ts"

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
  exchange: ReservedExchange,
  driver: AttemptDriver<Answer>,
): Promise<AnsweredAttempt<Answer>> {
  const failures = new AttemptFailures(exchange)
  const { schedule } = failures
  for (let step = schedule.next(); step; step = schedule.next()) {
    const { target, waitMs } = step
    if (waitMs > 0) await waitBeforeRetry(waitMs, exchange, failures.last)
    let attempt: Attempt | undefined
    try {
      const choosing = chooseLane(target, exchange)
      attempt = beginAttempt(choosing instanceof Promise ? await choosing : choosing, exchange)
      if (!exchange.hedges) return { attempt, answer: await driver.send(attempt) }
    } catch (thrown) {
      failures.add(thrown, target, attempt)
      continue
    }
    const answered = await attemptHedged(attempt, { exchange, driver, failures })
    if (answered) return answered
  }
  throw failures.toError()
}

/** The failures of an exchange's attempts, and the schedule that depends on them. */
class AttemptFailures {
  readonly schedule: AttemptSchedule
  private readonly errors: GatewayError[] = []
  private readonly failed: FailedAttempt[] = []
  private untranslatable: GatewayError | undefined

  constructor(private readonly exchange: ReservedExchange) {
    this.schedule = newSchedule(exchange)
  }

  get last(): GatewayError | undefined {
    return this.errors.at(-1)
  }

  /** Throws if no other attempt may follow. */
  add(thrown: unknown, target: Target, attempt: Attempt | undefined): void {
    if (thrown instanceof UntranslatableError) {
      this.untranslatable ??= thrown.error
      return
    }
    const { error, ...failure } = failureOf(thrown, { target, attempt, exchange: this.exchange })
    this.schedule.noteFailure(failure)
    this.errors.push(error)
    this.failed.push(toFailedAttempt(target, error))
  }

  toError(): GatewayError {
    if (this.untranslatable && this.errors.length === 0) return this.untranslatable
    return exhaustedError(this.errors, this.failed)
  }
}

interface HedgeContext<Answer> {
  readonly exchange: ReservedExchange
  readonly driver: AttemptDriver<Answer>
  readonly failures: AttemptFailures
}

/** One of two parallel attempts. */
class RacingAttempt<Answer> implements RaceEntrant<Answer> {
  readonly attempt: Attempt
  readonly answer: Promise<Answer>
  private isCancelled = false

  constructor(
    attempt: Attempt,
    private readonly context: HedgeContext<Answer>,
  ) {
    const { call } = attempt
    this.attempt = { ...attempt, client: { isGone: () => this.isCancelled || call.isGone() } }
    this.answer = context.driver.send(this.attempt)
  }

  onFailed(thrown: unknown): void {
    this.context.failures.add(thrown, this.attempt.target, this.attempt)
  }

  cancel(): void {
    const { call, deps, request, trial, facts } = this.attempt
    call.progress.attempts.noteLostRace(facts)
    const { stream } = request.reading
    if (trial) deps.health.lostRace(trial, { ms: performance.now() - facts.startedAt, stream })
    this.isCancelled = true
  }

  discard(answer: Answer): void {
    this.context.driver.drop(answer)
  }
}

/** The attempt or its hedge; undefined if both failed. */
async function attemptHedged<Answer>(
  attempt: Attempt,
  context: HedgeContext<Answer>,
): Promise<AnsweredAttempt<Answer> | undefined> {
  const { exchange, failures } = context
  const { call, deps, request } = exchange
  const winner = await raceAttempts(new RacingAttempt(attempt, context), {
    afterMs: hedgeAfterMs(attempt.target, deps.health, request.reading.stream),
    startSecond: async () => {
      const target = failures.schedule.takeHedge()
      if (!target) return undefined
      try {
        const second = beginAttempt(await chooseLane(target, exchange), exchange)
        // Until one has won, the first serves the exchange.
        call.progress.attempts.serving = attempt.facts
        return new RacingAttempt(second, context)
      } catch (thrown) {
        if (!(thrown instanceof UntranslatableError)) deps.onFault(thrown)
        return undefined
      }
    },
  })
  if (!winner) return undefined
  call.progress.attempts.serving = winner.attempt.facts
  return { attempt: winner.attempt, answer: await winner.answer }
}

function newSchedule({ deps, request, targets }: ReservedExchange): AttemptSchedule {
  const { health, retries, chance } = deps
  return new AttemptSchedule({ targets, health, retries, chance, limitMs: limitOf(deps, request) })
}

function limitOf({ timeouts }: ExchangeDeps, { reading }: ReadRequest): number {
  return reading.stream ? timeouts.streamMs : timeouts.unaryMs
}

/** Remaining time of the request for this attempt, which starts now. */
export function timeLeft({ call, deps, request, facts: { startedAt } }: Attempt): number {
  return limitOf(deps, request) - (startedAt - (call.progress.attempts.firstStartedAt ?? startedAt))
}

/** Pause before the next attempt; ends at once if the client has left. */
async function waitBeforeRetry(
  ms: number,
  { deps, call }: ReservedExchange,
  after: GatewayError | undefined,
): Promise<void> {
  try {
    await deps.upstreamCalls.pause(call, ms)
  } catch (thrown) {
    // No call was running, so nothing is owed.
    throw thrown instanceof ClientGoneError ? new ClientGoneError("", { cause: after }) : thrown
  }
}

function beginAttempt({ target, lane }: LaneDispatch, exchange: ReservedExchange): Attempt {
  const { call, deps, request, chargeSession, session, resends } = exchange
  const facts = call.progress.attempts.begin(target)
  deps.retries.attempted()
  // A host without a token counter stays available for generation.
  const trial = request.reading.counts ? undefined : deps.health.beginAttempt(target)
  return { call, client: call, deps, request, chargeSession, target, lane, facts, trial, session, resends }
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
  /** Absent if the failure happened before the attempt began. */
  readonly attempt: Attempt | undefined
  readonly exchange: ReservedExchange
}

/** Returns the failure if another attempt may follow; otherwise throws it. */
function failureOf(
  thrown: unknown,
  { target, attempt, exchange }: TriedTarget,
): AttemptFailure & { readonly error: GatewayError } {
  const { call, deps } = exchange
  const error = asUpstreamError(thrown)
  const kind = call.isGone() ? "client-gone" : failureKindOf(error)
  const { retryAfterMs = error.retryAfterMs, quota } = attempt?.facts.pause ?? {}
  if (attempt?.trial) deps.health.endAttempt(attempt.trial, { failed: kind, retryAfterMs, quota })
  if (kind === "client-gone") {
    throw thrown instanceof ClientGoneError ? thrown : new ClientGoneError("", { cause: thrown })
  }
  if (!allowsFallback(kind)) throw error
  const { attempts } = call.progress
  // An internal error on the way to a target is an attempt too, so that the record counts correctly.
  const facts = attempt?.facts ?? attempts.begin(target)
  attempts.noteFailed(facts, error)
  return { target, kind, tookMs: performance.now() - facts.startedAt, retryAfterMs, error }
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
