// Has the sums of what was booked folded and put in order, a little at a time. What is booked stays so whatever becomes
// of it, so a store that fails here is only tried again later.
import { setImmediate as nextTurn } from "node:timers/promises"
import type { LedgerTable } from "../store/contract.ts"

/** How much of a turn a fold may take, */
const FLUSH_MS = 1
/** and what can wait takes one hundredth of the time. */
const COMPACT_MS = 1
const COMPACT_EVERY_MS = 100

type CompactionTable = Pick<LedgerTable, "flushIsDue" | "beginFlush" | "flush" | "compact">

export class CompactionScheduler {
  private isFlushing = false
  private timer: ReturnType<typeof setTimeout> | undefined

  constructor(private readonly table: CompactionTable) {}

  /** Something was booked. */
  scheduleFlush(): void {
    if (this.isFlushing || !this.table.flushIsDue()) return
    this.isFlushing = true
    setImmediate(() => {
      runQuietly(() => this.table.beginFlush())
      this.continueFlush()
    })
  }

  /** Folds all that is booked by now. Twice, because a fold that is under way may have begun before the last of it. */
  async flushAll(): Promise<void> {
    for (const _ of ["what was begun", "the rest"]) {
      this.table.beginFlush()
      while (this.table.flush(FLUSH_MS)) await nextTurn()
    }
  }

  compactLater(): void {
    if (this.timer) return
    this.timer = setTimeout(() => {
      this.timer = undefined
      if (runQuietly(() => this.table.compact(COMPACT_MS))) this.compactLater()
    }, COMPACT_EVERY_MS)
    this.timer.unref()
  }

  private continueFlush(): void {
    this.isFlushing = runQuietly(() => this.table.flush(FLUSH_MS))
    if (this.isFlushing) setImmediate(() => this.continueFlush())
    else this.compactLater()
  }
}

/** Whether it worked and there is more to do. */
function runQuietly(work: () => unknown): boolean {
  try {
    return work() === true
  } catch {
    return false
  }
}
