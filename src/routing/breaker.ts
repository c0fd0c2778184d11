// A circuit breaker: closed, open for some time, or half-open, when one request at a time probes for recovery.

export type BreakerState = "in" | "half-open" | "out"

export type OutageReason = "hanging" | "failing" | "limited" | "day-quota" | "spend-cap" | "credential"

/** After this long without failure, one earlier failure is forgiven. */
const FORGIVEN_MS = 30_000
/** A recovered target may still fail now and then: one failure does not lengthen its exclusion. */
const MAX_FAILED_PROBES = 2
/** A probe without a result for this long no longer blocks the next one. */
const PROBE_MS = 60_000

export class Breaker {
  private isIn = true
  private until = 0
  private cause: OutageReason | undefined
  private times = 0
  private cameInAt = Number.NEGATIVE_INFINITY
  private probedAt = Number.NEGATIVE_INFINITY
  private failedProbes = 0
  /** Changes when the breaker opens, so that attempts begun before are not counted. */
  generation = 0

  stateAt(now: number): BreakerState {
    if (this.isIn) return "in"
    const isTaken = now - this.probedAt < PROBE_MS
    return now < this.until || isTaken ? "out" : "half-open"
  }

  /** The reason it is open or half-open. */
  get why(): OutageReason | undefined {
    return this.isIn ? undefined : this.cause
  }

  /** The time from which it may be tried again. */
  get outUntil(): number {
    return this.isIn ? Number.NEGATIVE_INFINITY : this.until
  }

  /** Begins an attempt; true if it is the probe. */
  begin(now: number): boolean {
    if (this.stateAt(now) !== "half-open") return false
    this.probedAt = now
    return true
  }

  /** The probe ended without a result. */
  cancelProbe(): void {
    this.probedAt = Number.NEGATIVE_INFINITY
  }

  /** Records a failed probe; true if it decides. A target that timed out is not probed again at once. */
  failProbe(isTimeout: boolean): boolean {
    this.failedProbes++
    return isTimeout || this.failedProbes >= MAX_FAILED_PROBES
  }

  /** The number of outages that count, including one that begins now. */
  timesAt(now: number): number {
    const forgiven = this.isIn ? Math.floor((now - this.cameInAt) / FORGIVEN_MS) : 0
    return Math.max(0, this.times - forgiven) + 1
  }

  goOut(why: OutageReason, { now, ms }: { now: number; ms: number }): void {
    this.times = this.timesAt(now)
    this.isIn = false
    this.cause = why
    this.until = now + ms
    this.generation++
    this.failedProbes = 0
    this.cancelProbe()
  }

  /** Stays open at least until then. */
  stayOut(until: number): void {
    if (until > this.until) this.until = until
  }

  goIn(now: number): void {
    if (this.isIn) return
    this.isIn = true
    this.cameInAt = now
    this.cancelProbe()
  }
}
