// A token bucket that holds as much as a minute's limit and refills smoothly. All is whole numbers: nothing drifts.

/** What a limit of one a minute refills in a millisecond is one part; so many parts are one token. */
const PARTS = 60_000

export class RateBucket {
  /** In parts; below zero where more was used than had been foreseen. */
  private level: number

  /** Full at first. Times are whole milliseconds. */
  constructor(
    private perMinute: number,
    private at: number,
  ) {
    this.level = this.capacity
  }

  get limit(): number {
    return this.perMinute
  }

  /** What is left above the new limit is lost, and what it is raised by is there at once; a debt stays what it is. */
  setLimit(perMinute: number, now: number): void {
    this.refill(now)
    const raised = this.level + (perMinute - this.perMinute) * PARTS
    this.level = Math.max(raised, Math.min(this.level, 0))
    this.perMinute = perMinute
  }

  /** How long until so many may be drawn; more than the bucket takes may be when it is full. */
  waitMs(tokens: number, now: number): number {
    return this.msUntil(Math.min(tokens * PARTS, this.capacity), now)
  }

  /** How long until it is full, if nothing more is drawn. */
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
