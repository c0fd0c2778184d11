// Means and percentiles with exponential decay: a sample's weight halves after some time, and after some newer samples.
// So a busy target is judged by its last moments, and a quiet one by samples from minutes ago.

export interface HalfLife {
  readonly ms: number
  readonly samples: number
}

/** The remaining share of the weight, `elapsedMs` and one sample later. */
function decayFactor({ ms, samples }: HalfLife, elapsedMs: number): number {
  return 2 ** -(elapsedMs / ms + 1 / samples)
}

export class DecayedMean {
  private sum = 0
  private weight = 0
  private at = 0

  constructor(private readonly halfLife: HalfLife) {}

  add(value: number, now: number): void {
    const decay = this.weight === 0 ? 0 : decayFactor(this.halfLife, now - this.at)
    this.sum = this.sum * decay + value
    this.weight = this.weight * decay + 1
    this.at = now
  }

  /** Undefined without samples. */
  get value(): number | undefined {
    return this.weight === 0 ? undefined : this.sum / this.weight
  }

  /** The total weight, in fresh samples. */
  samplesAt(now: number): number {
    return this.weight * 2 ** -((now - this.at) / this.halfLife.ms)
  }
}

/** The width of a bucket as a ratio: a percentile is wrong by half of that at most. */
const GROWTH = 1.1
const LOG_GROWTH = Math.log(GROWTH)
const SHORTEST_MS = 1
/** The last bucket begins at half an hour. */
const BUCKETS = 152
/** New samples get heavier instead of old ones lighter, until the numbers grow too large. */
const HEAVIEST = 1e6

export class DecayedPercentiles {
  private readonly buckets = new Float32Array(BUCKETS)
  /** The weight of a new sample. */
  private unit = 1
  private total = 0
  private at = 0
  private half = 0
  private nineTenths = 0
  private isStale = false

  constructor(private readonly halfLife: HalfLife) {}

  add(durationMs: number, now: number): void {
    if (this.total > 0) this.unit /= decayFactor(this.halfLife, now - this.at)
    if (this.unit > HEAVIEST) this.lighten()
    this.at = now
    const bucket = Math.floor(Math.log(Math.max(durationMs, SHORTEST_MS)) / LOG_GROWTH)
    const index = Math.min(bucket, BUCKETS - 1)
    this.buckets[index] = (this.buckets[index] ?? 0) + this.unit
    this.total += this.unit
    this.isStale = true
  }

  /** Undefined without samples. */
  get p50(): number | undefined {
    if (this.isStale) this.find()
    return this.total > 0 ? this.half : undefined
  }

  get p90(): number | undefined {
    if (this.isStale) this.find()
    return this.total > 0 ? this.nineTenths : undefined
  }

  /** The total weight, in fresh samples. */
  samplesAt(now: number): number {
    return (this.total / this.unit) * 2 ** -((now - this.at) / this.halfLife.ms)
  }

  private find(): void {
    let seen = 0
    let index = 0
    for (; seen < this.total * 0.5 && index < BUCKETS; index++) seen += this.buckets[index] ?? 0
    this.half = middleOf(index - 1)
    for (; seen < this.total * 0.9 && index < BUCKETS; index++) seen += this.buckets[index] ?? 0
    this.nineTenths = middleOf(index - 1)
    this.isStale = false
  }

  private lighten(): void {
    let total = 0
    for (let index = 0; index < BUCKETS; index++) {
      const lighter = (this.buckets[index] ?? 0) / this.unit
      this.buckets[index] = lighter
      total += this.buckets[index] ?? 0
    }
    this.total = total
    this.unit = 1
  }
}

function middleOf(bucket: number): number {
  return SHORTEST_MS * GROWTH ** (bucket + 0.5)
}
