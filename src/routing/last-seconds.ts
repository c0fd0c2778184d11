// Counts events of the last ten seconds, to the second.

export const COUNTED_SECONDS = 10

export class LastSeconds {
  private readonly counts = new Uint32Array(COUNTED_SECONDS)
  private second = Number.NEGATIVE_INFINITY

  add(now: number): void {
    this.moveTo(now)
    const index = this.second % COUNTED_SECONDS
    this.counts[index] = (this.counts[index] ?? 0) + 1
  }

  sumAt(now: number): number {
    this.moveTo(now)
    let sum = 0
    for (const count of this.counts) sum += count
    return sum
  }

  clear(): void {
    this.counts.fill(0)
  }

  private moveTo(now: number): void {
    const second = Math.floor(now / 1000)
    if (second <= this.second) return
    const passed = Math.min(COUNTED_SECONDS, second - this.second)
    for (let back = 0; back < passed; back++) this.counts[(second - back) % COUNTED_SECONDS] = 0
    this.second = second
  }
}
