// The schedule of a request's attempts: each target in turn, then again those that may have recovered, with pauses after
// failures and within the retry budget. Clock and randomness are injected.
import type { FailureKind } from "../../routing/failure-kind.ts"
import { countsAgainst } from "../../routing/failure-kind.ts"
import type { HealthMonitor } from "../../routing/health-monitor.ts"
import type { Target } from "../../routing/route-plan.ts"
import type { RetryBudget } from "./retry-budget.ts"

export interface AttemptScheduleOptions {
  readonly targets: readonly Target[]
  readonly health: Pick<HealthMonitor, "accepts" | "mostlyAnswers">
  readonly retries: Pick<RetryBudget, "take">
  /** Uniform in [0, 1). */
  readonly chance: () => number
  /** Time limit for all attempts together. */
  readonly limitMs: number
  /** Monotonic clock, in ms. */
  readonly now?: () => number
}

/** Where the next attempt goes, and after how long. */
export interface ScheduledAttempt {
  readonly target: Target
  readonly waitMs: number
}

/** An attempt that has failed. */
export interface AttemptFailure {
  readonly target: Target
  readonly kind: FailureKind
  readonly tookMs: number
  /** The wait that a rate-limiting host requests. */
  readonly retryAfterMs?: number | undefined
}

interface RetryCandidate extends AttemptFailure {
  readonly dueAt: number
}

const MAX_ATTEMPTS = 8
const MAX_TRIES_AT_ONE = 3
const BACK_OFF_MS = { first: 250, most: 8000 }
/** Maximum wait for a rate-limiting host. */
const LONGEST_WAIT_MS = 2000
/** A target that took this long to fail is not retried: the caller has waited enough. */
const SLOW_MS = 5000

/** Failure kinds that a retry may fix; a target that hung is not retried. */
const MENDS = new Set<FailureKind>(["connect", "server"])

export class AttemptSchedule {
  private at = 0
  private readonly failures: AttemptFailure[] = []
  /** Targets that may be retried, earliest failure first. */
  private readonly retryCandidates: RetryCandidate[] = []
  private readonly now: () => number
  private readonly endsAt: number

  constructor(private readonly options: AttemptScheduleOptions) {
    this.now = options.now ?? performanceNow
    this.endsAt = this.now() + options.limitMs
  }

  /** Undefined if no target or no retry budget is left. */
  next(): ScheduledAttempt | undefined {
    if (this.failures.length === MAX_ATTEMPTS) return undefined
    const step = this.nextInOrder() ?? this.nextRetry()
    if (!step || this.failures.length === 0) return step
    if (this.now() + step.waitMs >= this.endsAt) return undefined
    const isFree = this.failures.length === 1 && !this.triesAt(step.target) && this.mostlyAnswers(step.target)
    return isFree || this.options.retries.take() ? step : undefined
  }

  /** The target for a hedged attempt; undefined if no target or no retry budget is left. */
  takeHedge(): Target | undefined {
    const { health, retries } = this.options
    const { at } = this
    const step = this.failures.length + 1 < MAX_ATTEMPTS ? this.nextInOrder() : undefined
    if (step && step.waitMs === 0 && health.accepts(step.target) && retries.take()) return step.target
    this.at = at
    return undefined
  }

  noteFailure(failure: AttemptFailure): void {
    this.failures.push(failure)
    const { kind, tookMs, retryAfterMs = Number.POSITIVE_INFINITY, target } = failure
    const isShort = kind === "limited" && retryAfterMs <= LONGEST_WAIT_MS
    if (!isShort && !MENDS.has(kind)) return
    if (tookMs >= SLOW_MS || this.triesAt(target) >= MAX_TRIES_AT_ONE) return
    this.retryCandidates.push({ ...failure, dueAt: isShort ? this.now() + retryAfterMs : 0 })
  }

  /** Skips targets whose breaker opened after planning, except the last one. */
  private nextInOrder(): ScheduledAttempt | undefined {
    const { targets, health } = this.options
    while (this.at < targets.length) {
      const target = targets[this.at++]
      if (!target) return undefined
      const isLast = this.at === targets.length
      if (isLast || target.health === "out" || health.accepts(target)) return { target, waitMs: this.waitFor(target) }
    }
    return undefined
  }

  /** A rate-limiting target states when to retry; a failing one is skipped if its breaker has opened. */
  private nextRetry(): ScheduledAttempt | undefined {
    for (let each = this.retryCandidates.shift(); each; each = this.retryCandidates.shift()) {
      const { target, dueAt, kind } = each
      if (kind === "limited") return { target, waitMs: Math.max(0, dueAt - this.now()) + this.backOff(1) }
      if (this.options.health.accepts(target)) return { target, waitMs: this.backOff(this.triesAt(target)) }
    }
    return undefined
  }

  /** A different account needs no pause; the same account does, even for another model. */
  private waitFor({ account }: Target): number {
    let times = 0
    for (const { target, kind } of this.failures) {
      if (target.account === account && (countsAgainst(kind) === "target" || countsAgainst(kind) === "limit")) times++
    }
    return times === 0 ? 0 : this.backOff(times)
  }

  private backOff(times: number): number {
    return this.options.chance() * Math.min(BACK_OFF_MS.most, BACK_OFF_MS.first * 2 ** (times - 1))
  }

  private triesAt({ account, upstreamModel }: Target): number {
    let tries = 0
    for (const { target } of this.failures) {
      if (target.account === account && target.upstreamModel === upstreamModel) tries++
    }
    return tries
  }

  private mostlyAnswers(target: Target): boolean {
    return this.options.health.mostlyAnswers(target)
  }
}

const performanceNow = () => performance.now()
