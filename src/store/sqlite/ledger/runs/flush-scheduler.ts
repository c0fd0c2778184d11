// Schedules flushes of the memtable and merges of runs, in steps short enough that no request waits for them.
import type { Database } from "bun:sqlite"
import type { LedgerTable } from "../../../contract.ts"
import type { LedgerState } from "../ledger-state.ts"
import { Memtable } from "../memtable.ts"
import { type FlushSteps, MemtableFlush } from "./memtable-flush.ts"
import { RunCompaction } from "./run-compaction.ts"

/** Entries that are read again at a start. */
const MAX_MEMTABLE_ENTRIES = 32_768
/** Keys in memory, twice as many during a flush. */
const MAX_MEMTABLE_KEYS = 16_384
/**
 * The number of runs of one level that are merged when there is time, and the number at which the merge cannot wait.
 */
const COMPACTION_RUNS = { some: 16, many: 64 }

interface FlushSchedulerOptions {
  readonly database: Database
  readonly state: LedgerState
  readonly transaction: LedgerTable["transaction"]
}

export class FlushScheduler {
  private readonly flush: MemtableFlush
  private readonly compactions: readonly RunCompaction[]
  private steps: FlushSteps | undefined
  private upTo = { entry: 0, chain: 0n }

  constructor(private readonly options: FlushSchedulerOptions) {
    const { database, state } = options
    const { usage, spend, entries } = state
    this.flush = new MemtableFlush(database, { usage, spend, ended: entries.ended, chainMarks: entries.chainMarks })
    this.compactions = [usage, spend].map((runs) => new RunCompaction(database, runs))
  }

  isDue(): boolean {
    const { active } = this.options.state.memtables
    return active.entries >= MAX_MEMTABLE_ENTRIES || active.usage.size >= MAX_MEMTABLE_KEYS
  }

  begin(): void {
    const { memtables, entries } = this.options.state.ready()
    if (memtables.flushing || memtables.active.entries === 0) return
    memtables.flushing = memtables.active
    memtables.active = new Memtable()
    this.steps = undefined
    this.upTo = { entry: entries.last, chain: entries.chain }
  }

  step(forMs: number): boolean {
    const { state } = this.options
    const { memtables } = state.ready()
    // Runs can wait; memory cannot.
    if (this.isDue()) this.begin()
    if (!memtables.flushing) return this.compactRuns(COMPACTION_RUNS.many, forMs)
    const run = state.flushed.run + 1
    this.steps ??= this.flush.steps(memtables.flushing, { run, upTo: this.upTo })
    const { steps } = this
    const isDone = this.write(() => {
      const mayGoOn = createTimeLimit(forMs)
      do if (steps.next().done) return true
      while (mayGoOn())
      return false
    })
    if (!isDone) return true
    state.flushed = { entry: this.upTo.entry, run }
    memtables.flushing = undefined
    return true
  }

  compact(forMs: number): boolean {
    const { memtables } = this.options.state.ready()
    return memtables.flushing ? true : this.compactRuns(COMPACTION_RUNS.some, forMs)
  }

  private compactRuns(runs: number, forMs: number): boolean {
    return this.write(() => {
      const merge = this.compactions.find((each) => each.isDue(runs))
      merge?.step(createTimeLimit(forMs))
      return merge !== undefined
    })
  }

  private write<Result>(work: () => Result): Result {
    try {
      return this.options.transaction(work)
    } catch (thrown) {
      this.steps = undefined
      for (const merge of this.compactions) merge.forget()
      throw thrown
    }
  }
}

function createTimeLimit(forMs: number): () => boolean {
  const end = performance.now() + forMs
  return () => performance.now() < end
}
