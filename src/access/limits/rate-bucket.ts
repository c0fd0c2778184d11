// A token bucket that holds a minute's limit and refills continuously. All values are integers, so nothing drifts.

/** Parts per token: a limit of one per minute refills one part per millisecond. */
const PARTS = 60_000

export class RateBucket {
  /** In parts; negative if more was used than was reserved. */
  private level: number

  /** Starts full. Times are whole milliseconds. */
  constructor(
    private perMinute: number,
    private at: number,
  ) {
    this.level = this.capacity
  }

  get limit(): number {
    return this.perMinute
  }

  /** A lower limit discards tokens above it, a higher one adds the difference at once; a debt stays. */
  setLimit(perMinute: number, now: number): void {
    this.refill(now)
    const raised = this.level + (perMinute - this.perMinute) * PARTS
    this.level = Math.max(raised, Math.min(this.level, 0))
    this.perMinute = perMinute
  }

  /** The time until `tokens` may be drawn; more than the limit may be drawn from a full bucket. */
  waitMs(tokens: number, now: number): number {
    return this.msUntil(Math.min(tokens * PARTS, this.capacity), now)
  }

  /** The time until the bucket is full if nothing more is drawn. */
  resetMs(now: number): number {
    return this.msUntil(this.capacity, now)
  }

  /** Whole tokens that may be drawn now. */
  remaining(now: number): number {
    this.refill(now)
    return this.level <= 0 ? 0 : Math.floor(this.level / PARTS)
  }

  draw(tokens: number, now: number): void {
    this.refill(now)
    this.level = Math.min(this.capacity, this.level - tokens * PARTS)
  }

  private get capacity(): number {
    return this.perMinute * PARTS
  }

  private msUntil(level: number, now: number): number {
    this.refill(now)
    return this.level >= level ? 0 : Math.ceil((level - this.level) / this.perMinute)
  }

  /** A clock that steps back adds nothing. */
  private refill(now: number): void {
    const elapsed = now - this.at
    this.at = now
    if (elapsed > 0) this.level = Math.min(this.capacity, this.level + elapsed * this.perMinute)
  }
}
