// The retry budget of the process: a share of its attempts plus a small constant, so that failing targets do not get
// more traffic because they fail.
import { COUNTED_SECONDS, LastSeconds } from "../../routing/last-seconds.ts"

const SHARE = 0.1
const EACH_SECOND = 3

export class RetryBudget {
  private readonly attempts = new LastSeconds()
  private readonly retries = new LastSeconds()

  /** `now` is a monotonic clock, in ms. */
  constructor(private readonly now: () => number) {}

  /** Counts an attempt, first or retry. */
  attempted(): void {
    this.attempts.add(this.now())
  }

  /** Takes one retry; false if none is left. */
  take(): boolean {
    const now = this.now()
    const most = SHARE * this.attempts.sumAt(now) + EACH_SECOND * COUNTED_SECONDS
    if (this.retries.sumAt(now) + 1 > most) return false
    this.retries.add(now)
    return true
  }
}
