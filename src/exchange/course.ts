// The course of one request through its targets: one after the other, then again those that may have mended themselves;
// with pauses that spare who has just failed, and only as far as the retry budget goes. Its clock and chance are given.
import type { FailureKind } from "../routing/failure.ts"
import { blames } from "../routing/failure.ts"
import type { Health } from "../routing/health.ts"
import type { Target } from "../routing/plan.ts"
import type { RetryBudget } from "./retry-budget.ts"

export interface CourseOptions {
  readonly targets: readonly Target[]
  readonly health: Pick<Health, "takes" | "mostlyAnswers">
  readonly retries: Pick<RetryBudget, "take">
  /** Even, from 0 to below 1. */
  readonly chance: () => number
  /** How long all attempts may take together. */
  readonly limitMs: number
  /** A clock that is never set back, in ms. */
  readonly now?: () => number
}

/** Where the next attempt goes, and after how long. */
export interface Step {
  readonly target: Target
  readonly waitMs: number
}

/** An attempt that has failed. */
export interface Failure {
  readonly target: Target
  readonly kind: FailureKind
  readonly tookMs: number
  /** What a host that limits us asks for. */
  readonly retryAfterMs?: number | undefined
}

interface Mending extends Failure {
  readonly dueAt: number
}

const MAX_ATTEMPTS = 8
const MAX_TRIES_AT_ONE = 3
const BACK_OFF_MS = { first: 250, most: 8000 }
/** A host that limits us is waited for no longer than this. */
const LONGEST_WAIT_MS = 2000
/** Who took so long to fail is not asked again: the caller has waited enough. */
const SLOW_MS = 5000

/** Who let a caller wait too long is not waited for again. */
const MENDS = new Set<FailureKind>(["connect", "server"])

export class Course {
  private at = 0
  private readonly failures: Failure[] = []
  /** Those that may be asked again, who failed first before the others. */
  private readonly mending: Mending[] = []
  private readonly now: () => number
  private readonly endsAt: number

  constructor(private readonly options: CourseOptions) {
    this.now = options.now ?? performanceNow
    this.endsAt = this.now() + options.limitMs
  }

  /** Undefined where nobody is left, or nothing of the budget. */
  next(): Step | undefined {
    if (this.failures.length === MAX_ATTEMPTS) return undefined
    const step = this.inOrder() ?? this.again()
    if (!step || this.failures.length === 0) return step
    if (this.now() + step.waitMs >= this.endsAt) return undefined
    const isFree = this.failures.length === 1 && !this.triesAt(step.target) && this.mostlyAnswers(step.target)
    return isFree || this.options.retries.take() ? step : undefined
  }

  /** Who may be asked beside one that takes long; undefined where nobody, or nothing of the budget, is left. */
  beside(): Target | undefined {
    const { health, retries } = this.options
    const { at } = this
    const step = this.failures.length + 1 < MAX_ATTEMPTS ? this.inOrder() : undefined
    if (step && step.waitMs === 0 && health.takes(step.target) && retries.take()) return step.target
    this.at = at
    return undefined
  }

  failed(failure: Failure): void {
    this.failures.push(failure)
    const { kind, tookMs, retryAfterMs = Number.POSITIVE_INFINITY, target } = failure
    const isShort = kind === "limited" && retryAfterMs <= LONGEST_WAIT_MS
    if (!isShort && !MENDS.has(kind)) return
    if (tookMs >= SLOW_MS || this.triesAt(target) >= MAX_TRIES_AT_ONE) return
    this.mending.push({ ...failure, dueAt: isShort ? this.now() + retryAfterMs : 0 })
  }

  /** Who has gone out since the plan was made is passed over, but for the last. */
  private inOrder(): Step | undefined {
    const { targets, health } = this.options
    while (this.at < targets.length) {
      const target = targets[this.at++]
      if (!target) return undefined
      const isLast = this.at === targets.length
      if (isLast || target.health === "out" || health.takes(target)) return { target, waitMs: this.restFor(target) }
    }
    return undefined
  }

  /** Who limits us has said when it takes more; who fails may be out by now, and is left alone then. */
  private again(): Step | undefined {
    for (let each = this.mending.shift(); each; each = this.mending.shift()) {
      const { target, dueAt, kind } = each
      if (kind === "limited") return { target, waitMs: Math.max(0, dueAt - this.now()) + this.backOff(1) }
      if (this.options.health.takes(target)) return { target, waitMs: this.backOff(this.triesAt(target)) }
    }
    return undefined
  }

  /** Another account is another place; the same one has some rest between two attempts, also with another model. */
  private restFor({ account }: Target): number {
    let times = 0
    for (const { target, kind } of this.failures) {
      if (target.account === account && (blames(kind) === "target" || blames(kind) === "limit")) times++
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
