// How many retries the whole process may make: a share of what it attempts, and a few beside, so that those who fail are
// not asked more often because they fail.
import { COUNTED_SECONDS, LastSeconds } from "../../routing/last-seconds.ts"

const SHARE = 0.1
const EACH_SECOND = 3

export class RetryBudget {
  private readonly attempts = new LastSeconds()
  private readonly retries = new LastSeconds()

  /** `now` is a clock that is never set back, in ms. */
  constructor(private readonly now: () => number) {}

  /** An attempt is made, be it the first of its request or a retry. */
  attempted(): void {
    this.attempts.add(this.now())
  }

  /** Takes one retry; false where none is left. */
  take(): boolean {
    const now = this.now()
    const most = SHARE * this.attempts.sumAt(now) + EACH_SECOND * COUNTED_SECONDS
    if (this.retries.sumAt(now) + 1 > most) return false
    this.retries.add(now)
    return true
  }
}
