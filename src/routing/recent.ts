// How many attempts of the last ten seconds failed, to the second.

const SECONDS = 10

export class Recent {
  /** By second: those that were answered, then those that failed. */
  private readonly counts = new Uint32Array(2 * SECONDS)
  private second = Number.NEGATIVE_INFINITY

  add(isFailed: boolean, now: number): void {
    this.moveTo(now)
    const index = (isFailed ? SECONDS : 0) + (this.second % SECONDS)
    this.counts[index] = (this.counts[index] ?? 0) + 1
  }

  failedAt(now: number): number {
    this.moveTo(now)
    return this.sum(SECONDS)
  }

  allAt(now: number): number {
    this.moveTo(now)
    return this.sum(0) + this.sum(SECONDS)
  }

  clear(): void {
    this.counts.fill(0)
  }

  private moveTo(now: number): void {
    const second = Math.floor(now / 1000)
    if (second <= this.second) return
    const passed = Math.min(SECONDS, second - this.second)
    for (let back = 0; back < passed; back++) {
      const index = (second - back) % SECONDS
      this.counts[index] = 0
      this.counts[SECONDS + index] = 0
    }
    this.second = second
  }

  private sum(from: number): number {
    let sum = 0
    for (let index = from; index < from + SECONDS; index++) sum += this.counts[index] ?? 0
    return sum
  }
}
