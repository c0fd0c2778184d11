// When what was booked is folded into the sums and when runs are merged, each time for so long that nobody waits for it.
import type { Database } from "bun:sqlite"
import type { LedgerTable } from "../contract.ts"
import { Fold, type Pieces } from "./ledger-fold.ts"
import { Merge } from "./ledger-merge.ts"
import type { Standing } from "./ledger-standing.ts"
import { Tail } from "./ledger-tail.ts"

/** So many entries are read again at a start, */
const MOST_ENTRIES = 32_768
/** and so many keys are kept in memory, twice while a fold goes on. */
const MOST_KEYS = 16_384
/** Runs of one level that are merged when there is time, and those that are too many to wait for it. */
const RUNS = { some: 16, many: 64 }

interface FoldingOptions {
  readonly database: Database
  readonly standing: Standing
  readonly transaction: LedgerTable["transaction"]
}

export class Folding {
  private readonly fold: Fold
  private readonly merges: readonly Merge[]
  private pieces: Pieces | undefined
  private upTo = { entry: 0, chain: 0n }

  constructor(private readonly options: FoldingOptions) {
    const { database, standing } = options
    const { usage, spend, entries } = standing
    this.fold = new Fold(database, { usage, spend, ended: entries.ended, chainMarks: entries.chainMarks })
    this.merges = [usage, spend].map((runs) => new Merge(database, runs))
  }

  isDue(): boolean {
    const { fresh } = this.options.standing.tails
    return fresh.entries >= MOST_ENTRIES || fresh.usage.size >= MOST_KEYS
  }

  begin(): void {
    const { tails, entries } = this.options.standing.ready()
    if (tails.folding || tails.fresh.entries === 0) return
    tails.folding = tails.fresh
    tails.fresh = new Tail()
    this.pieces = undefined
    this.upTo = { entry: entries.last, chain: entries.chain }
  }

  step(forMs: number): boolean {
    const { standing } = this.options
    const { tails } = standing.ready()
    // Runs can wait; memory cannot.
    if (this.isDue()) this.begin()
    if (!tails.folding) return this.merge(RUNS.many, forMs)
    const run = standing.folded.run + 1
    this.pieces ??= this.fold.pieces(tails.folding, { run, upTo: this.upTo })
    const { pieces } = this
    const isDone = this.write(() => {
      const mayGoOn = timer(forMs)
      do if (pieces.next().done) return true
      while (mayGoOn())
      return false
    })
    if (!isDone) return true
    standing.folded = { entry: this.upTo.entry, run }
    tails.folding = undefined
    return true
  }

  tidy(forMs: number): boolean {
    const { tails } = this.options.standing.ready()
    return tails.folding ? true : this.merge(RUNS.some, forMs)
  }

  private merge(runs: number, forMs: number): boolean {
    return this.write(() => {
      const merge = this.merges.find((each) => each.isDue(runs))
      merge?.step(timer(forMs))
      return merge !== undefined
    })
  }

  private write<Result>(work: () => Result): Result {
    try {
      return this.options.transaction(work)
    } catch (thrown) {
      this.pieces = undefined
      for (const merge of this.merges) merge.forget()
      throw thrown
    }
  }
}

function timer(forMs: number): () => boolean {
  const end = performance.now() + forMs
  return () => performance.now() < end
}
