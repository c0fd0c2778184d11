// Schedules flushes and compactions of the ledger, a little at a time. Booked entries stay whatever happens to a flush,
// so a failing store is simply retried later.
import { setImmediate as nextTurn } from "node:timers/promises"
import type { LedgerTable } from "../store/contract.ts"

/** Duration of a flush step within one turn of the event loop. */
const FLUSH_MS = 1
/** Duration of a compaction step; compaction takes one hundredth of the time. */
const COMPACT_MS = 1
const COMPACT_EVERY_MS = 100

type CompactionTable = Pick<LedgerTable, "flushIsDue" | "beginFlush" | "flush" | "compact">

export class CompactionScheduler {
  private isFlushing = false
  private timer: ReturnType<typeof setTimeout> | undefined

  constructor(private readonly table: CompactionTable) {}

  /** Called after entries were booked. */
  scheduleFlush(): void {
    if (this.isFlushing || !this.table.flushIsDue()) return
    this.isFlushing = true
    setImmediate(() => {
      runQuietly(() => this.table.beginFlush())
      this.continueFlush()
    })
  }

  /** Flushes all entries so far. Twice, because a flush in progress may have begun before the last of them. */
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

/** True if the work succeeded and there is more to do. */
function runQuietly(work: () => unknown): boolean {
  try {
    return work() === true
  } catch {
    return false
  }
}
