// Counts the answered and the failed attempts of the last seconds.
import { LastSeconds } from "./last-seconds.ts"

export class RecentOutcomes {
  private readonly answered = new LastSeconds()
  private readonly failed = new LastSeconds()

  add(isFailed: boolean, now: number): void {
    if (isFailed) this.failed.add(now)
    else this.answered.add(now)
  }

  failedAt(now: number): number {
    return this.failed.sumAt(now)
  }

  allAt(now: number): number {
    return this.answered.sumAt(now) + this.failed.sumAt(now)
  }

  clear(): void {
    this.answered.clear()
    this.failed.clear()
  }
}
