// Has the sums of what was booked folded and put in order, a little at a time. What is booked stays so whatever becomes
// of it, so a store that fails here is only tried again later.
import { setImmediate as nextTurn } from "node:timers/promises"
import type { LedgerTable } from "../store/contract.ts"

/** How much of a turn a fold may take, */
const FOLD_MS = 1
/** and what can wait takes one hundredth of the time. */
const TIDY_MS = 1
const TIDY_EVERY_MS = 100

type Table = Pick<LedgerTable, "foldIsDue" | "beginFold" | "fold" | "tidy">

export class Upkeep {
  private isFolding = false
  private timer: ReturnType<typeof setTimeout> | undefined

  constructor(private readonly table: Table) {}

  /** Something was booked. */
  look(): void {
    if (this.isFolding || !this.table.foldIsDue()) return
    this.isFolding = true
    setImmediate(() => {
      tried(() => this.table.beginFold())
      this.goOn()
    })
  }

  /** Folds all that is booked by now. Twice, because a fold that is under way may have begun before the last of it. */
  async foldAll(): Promise<void> {
    for (const _ of ["what was begun", "the rest"]) {
      this.table.beginFold()
      while (this.table.fold(FOLD_MS)) await nextTurn()
    }
  }

  tidyLater(): void {
    if (this.timer) return
    this.timer = setTimeout(() => {
      this.timer = undefined
      if (tried(() => this.table.tidy(TIDY_MS))) this.tidyLater()
    }, TIDY_EVERY_MS)
    this.timer.unref()
  }

  private goOn(): void {
    this.isFolding = tried(() => this.table.fold(FOLD_MS))
    if (this.isFolding) setImmediate(() => this.goOn())
    else this.tidyLater()
  }
}

/** Whether it worked and there is more to do. */
function tried(work: () => unknown): boolean {
  try {
    return work() === true
  } catch {
    return false
  }
}
