// The observed health of one account, and of one model there: availability, latency, output length and quality. Written
// by `HealthMonitor`, read by the plan.
import { Breaker, type BreakerState } from "./breaker.ts"
import { DecayedMean, DecayedPercentiles } from "./decayed-statistics.ts"
import { RecentOutcomes } from "./recent-outcomes.ts"

const LATENCY = { ms: 30_000, samples: 16 }
const SUCCESS = { ms: 120_000, samples: 64 }
const LENGTH = { ms: 3_600_000, samples: 128 }
const QUALITY = { ms: 6 * 3_600_000, samples: 256 }
/**
 * A target hangs if this many requests wait without a first event for this many times its usual latency. It is tried
 * again after a minute without requests.
 */
const HANGING = { waiting: 5, leastMs: 5000, times: 3, mostMs: 60_000 }
/** With fewer waiting requests, silence is no evidence. */
const SILENT_WAITING = 3
/** This many flawless answers are assumed in advance, so that a few bad ones do not disqualify a target. */
const TRUSTED_ANSWERS = 20

/** One model at one account. */
export class TargetHealth {
  readonly breaker = new Breaker()
  readonly recent = new RecentOutcomes()
  readonly success = new DecayedMean(SUCCESS)
  readonly outputTokens = new DecayedMean(LENGTH)
  private readonly clean = new DecayedMean(QUALITY)
  private first: DecayedPercentiles | undefined
  private whole: DecayedPercentiles | undefined
  /** Failures since the last answer. */
  inRow = 0
  usedAt: number
  /** Attempts without a first event, and since when there has been none. */
  private waiting = 0
  private silentSince = 0

  constructor(now: number) {
    this.usedAt = now
  }

  /** Time to the first token of a stream. */
  get firstTokenMs(): DecayedPercentiles | undefined {
    return this.first
  }

  /** Time to the end of a whole answer. */
  get totalMs(): DecayedPercentiles | undefined {
    return this.whole
  }

  noteWaiting(now: number): void {
    if (this.waiting === 0) this.silentSince = now
    this.waiting++
  }

  noteWaited(): void {
    this.waiting--
  }

  noteLife(now: number): void {
    this.silentSince = now
  }

  /** The time for which several requests have waited without an event; 0 if few wait. */
  silentMsAt(now: number): number {
    return this.waiting < SILENT_WAITING ? 0 : now - this.silentSince
  }

  /** Timeouts are long: many more requests would wait in vain before they expire. */
  hangsAt(now: number): boolean {
    if (this.waiting < HANGING.waiting || now - this.usedAt >= HANGING.mostMs) return false
    const usualMs = Math.max(this.first?.p90 ?? 0, this.whole?.p90 ?? 0)
    return usualMs > 0 && now - this.silentSince >= Math.max(HANGING.leastMs, HANGING.times * usualMs)
  }

  noteFirstToken(ms: number, now: number): void {
    this.first ??= new DecayedPercentiles(LATENCY)
    this.first.add(ms, now)
  }

  noteTotal(ms: number, now: number): void {
    this.whole ??= new DecayedPercentiles(LATENCY)
    this.whole.add(ms, now)
  }

  noteQuality(isClean: boolean, now: number): void {
    this.clean.add(isClean ? 1 : 0, now)
  }

  /** The share of flawless answers; with few samples, weighted towards all of them. */
  cleanShareAt(now: number): number {
    const seen = this.clean.samplesAt(now)
    return ((this.clean.value ?? 1) * seen + TRUSTED_ANSWERS) / (seen + TRUSTED_ANSWERS)
  }

  /** The measured share of the quality score, from 0 to 1. */
  confidenceAt(now: number): number {
    const seen = this.clean.samplesAt(now)
    return seen / (seen + TRUSTED_ANSWERS)
  }
}

export class AccountHealth {
  readonly breaker = new Breaker()
  /** Targets by the model's name at the provider. */
  readonly targets = new Map<string, TargetHealth>()

  /** Its own health or that of a model there, whichever is worse. */
  stateOf(target: TargetHealth | undefined, now: number): BreakerState {
    const whole = this.breaker.stateAt(now)
    if (whole === "out" || !target) return whole
    const own = target.breaker.stateAt(now)
    if (own === "in") return target.hangsAt(now) ? "out" : whole
    return own
  }
}
