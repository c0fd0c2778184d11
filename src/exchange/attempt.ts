// Tries one target after the other until one answers. Only what is not the caller's doing moves on to the next.
import { asGatewayError, type FailedAttempt, GatewayError } from "../canonical/error.ts"
import { type FailureKind, failureKind, movesOn } from "../routing/failure.ts"
import type { Target } from "../routing/plan.ts"
import type { ResendAllowance } from "../transport/resend-allowance.ts"
import { SseLimitError } from "../transport/sse.ts"
import { TransportError, type TransportFault } from "../transport/transport-error.ts"
import { Beside } from "./beside.ts"
import type { Bill } from "./bill.ts"
import type { Call, House } from "./call.ts"
import { Course, type Failure } from "./course.ts"
import { type Contender, firstToAnswer, hedgeAfterMs } from "./hedge.ts"
import type { Attempt } from "./lane.ts"
import { type Way, wayTo } from "./lane-choice.ts"
import { ClientGoneError, noteAttempt, noteFailedAttempt, noteOutrun } from "./record.ts"
import type { ReadRequest } from "./request.ts"
import { TimeoutError } from "./running.ts"
import { UnsayableError } from "./translate-lane.ts"

/** A request, and where it may go. */
export interface Attempts {
  readonly call: Call
  readonly house: House
  readonly request: ReadRequest
  readonly targets: readonly Target[]
  /** Absent where nothing is charged. */
  readonly bill: Bill | undefined
  /** The conversation it is part of, where it matters who answers that. */
  readonly session?: string | undefined
  /** Whether a second attempt may be made beside one that takes long. */
  readonly hedges?: boolean | undefined
  /** Shared by all attempts, so that their number bounds how often a provider sees the request. */
  readonly resends: ResendAllowance
}

/** How attempts are made. */
export interface Sending<Answer> {
  /** Resolves when the target has begun to answer for good. */
  send(attempt: Attempt): Promise<Answer>
  /** An answer that another one came before. */
  drop(answer: Answer): void
}

/** The attempt that was answered. */
export interface Won<Answer> {
  readonly attempt: Attempt
  readonly answer: Answer
}

export async function attempt<Answer>(attempts: Attempts, sending: Sending<Answer>): Promise<Won<Answer>> {
  const course = courseOf(attempts)
  const errors: GatewayError[] = []
  const failed: FailedAttempt[] = []
  let unsayable: GatewayError | undefined
  const fail = (thrown: unknown, tried: Tried) => {
    const { error, ...failure } = failureOf(thrown, tried)
    course.failed(failure)
    errors.push(error)
    failed.push(told(tried.target, error))
  }
  for (let step = course.next(); step; step = course.next()) {
    const { target, waitMs } = step
    if (waitMs > 0) await rest(waitMs, { ...attempts, after: errors.at(-1) })
    let made: Attempt | undefined
    try {
      made = begin(await wayTo(target, attempts), attempts)
      if (!attempts.hedges) return { attempt: made, answer: await sending.send(made) }
    } catch (thrown) {
      if (thrown instanceof UnsayableError) unsayable ??= thrown.error
      else fail(thrown, { target, made, attempts })
      continue
    }
    const won = await hedged(made, { attempts, sending, course, fail })
    if (won) return won
  }
  if (unsayable && errors.length === 0) throw unsayable
  throw exhausted(errors, failed)
}

interface Hedging<Answer> {
  readonly attempts: Attempts
  readonly sending: Sending<Answer>
  readonly course: Course
  /** Throws where no other attempt may follow. */
  fail(thrown: unknown, tried: Tried): void
}

interface Hedged<Answer> extends Contender<Answer> {
  readonly attempt: Attempt
  readonly call: Beside
}

/** The attempt, or one that is begun beside it; undefined where both have failed. */
async function hedged<Answer>(
  made: Attempt,
  { attempts, sending, course, fail }: Hedging<Answer>,
): Promise<Won<Answer> | undefined> {
  const { call, house, request } = attempts
  const contend = (of: Attempt, beside: Beside): Hedged<Answer> => {
    const attempt = { ...of, call: beside }
    return { attempt, call: beside, answer: sending.send(attempt), outrun: () => outrun(attempt, beside) }
  }
  const outrun = ({ target, trial }: Attempt, beside: Beside) => {
    const { attemptStartedAt: startedAt } = beside.record
    noteOutrun(call.record, { target, startedAt })
    const { stream } = request.reading
    if (trial) house.health.outrun(trial, { ms: performance.now() - startedAt, stream })
    beside.outrun()
  }
  const won = await firstToAnswer<Answer, Hedged<Answer>>(contend(made, new Beside(call)), {
    afterMs: hedgeAfterMs(made.target, house.health, request.reading.stream),
    begin: async () => {
      const target = course.beside()
      if (!target) return undefined
      const beside = new Beside(call, { ...call.record })
      try {
        const second = begin(await wayTo(target, { ...attempts, call: beside }), { ...attempts, call: beside })
        call.record.attempts = beside.record.attempts
        return contend(second, beside)
      } catch (thrown) {
        if (!(thrown instanceof UnsayableError)) house.onFault(thrown)
        return undefined
      }
    },
    failed: ({ attempt: { target }, attempt: made }, thrown) => fail(thrown, { target, made, attempts }),
    drop: (answer) => sending.drop(answer),
  })
  if (!won) return undefined
  won.contender.call.wins()
  return { attempt: won.contender.attempt, answer: won.answer }
}

function courseOf({ house, request, targets }: Attempts): Course {
  const { health, retries, chance } = house
  return new Course({ targets, health, retries, chance, limitMs: limitOf(house, request) })
}

function limitOf({ timeouts }: House, { reading }: ReadRequest): number {
  return reading.stream ? timeouts.streamMs : timeouts.unaryMs
}

/** What is left of a request's time for the attempt that begins now. */
export function timeLeft({ call, house, request }: Attempt): number {
  const now = performance.now()
  return limitOf(house, request) - (now - (call.record.failedAttempts?.[0]?.startedAt ?? now))
}

/** Until the next attempt; ends at once where nobody waits for it any more. */
async function rest(ms: number, { house, call, after }: Attempts & { after: GatewayError | undefined }): Promise<void> {
  try {
    await house.running.pause(call, ms)
  } catch (thrown) {
    // Nobody was being asked, so nothing is owed.
    throw thrown instanceof ClientGoneError ? new ClientGoneError("", { cause: after }) : thrown
  }
}

function begin({ target, lane }: Way, { call, house, request, bill, session, resends }: Attempts): Attempt {
  noteAttempt(call.record, target)
  house.retries.attempted()
  // Hosts that count no tokens are not to be left by those who want answers.
  const trial = request.reading.counts ? undefined : house.health.begun(target)
  return { call, house, request, bill, target, lane, trial, session, resends }
}

/** Errors do not tell a client that has left, nor how a connection failed; their causes do. */
export function kindOf(error: GatewayError): FailureKind {
  const { cause } = error
  if (cause instanceof ClientGoneError) return "client-gone"
  if (cause instanceof TimeoutError) return "timeout"
  const fault = cause instanceof TransportError ? cause.fault : undefined
  if (fault === "connect-timeout") return "timeout"
  // The bound is ours, and the next answer is as large.
  if (fault === "too-large" || cause instanceof SseLimitError) return "gateway"
  return failureKind(error)
}

interface Tried {
  readonly target: Target
  /** Absent where it failed on the way. */
  readonly made: Attempt | undefined
  readonly attempts: Attempts
}

/** What an attempt failed with, where another may follow; else it is thrown. */
function failureOf(thrown: unknown, { target, made, attempts }: Tried): Failure & { readonly error: GatewayError } {
  const { call, house } = attempts
  const error = asUpstreamError(thrown)
  const kind = call.isGone() ? "client-gone" : kindOf(error)
  const { retryAfterMs = error.retryAfterMs, quota } = made?.pause ?? {}
  if (made?.trial) house.health.ended(made.trial, { failed: kind, retryAfterMs, quota })
  if (kind === "client-gone") {
    throw thrown instanceof ClientGoneError ? thrown : new ClientGoneError("", { cause: thrown })
  }
  if (!movesOn(kind)) throw error
  // A fault of ours on the way to a target is an attempt too, or the record would miss the one that answers.
  if (!made) noteAttempt(call.record, target)
  const { attemptStartedAt: startedAt } = (made?.call ?? call).record
  noteFailedAttempt(call.record, { target, startedAt, error })
  return { target, kind, tookMs: performance.now() - startedAt, retryAfterMs, error }
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
