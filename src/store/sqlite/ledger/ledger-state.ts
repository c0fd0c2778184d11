// The current state of the ledger. The deciding sums are in memory, and are rebuilt from the store on first use and
// after a failed transaction. One process owns the store, so that nothing else changes it.
import type { Database } from "bun:sqlite"
import { type EntryRow, type HoldRow, StoreError, spentNano } from "../../contract.ts"
import { BudgetOvershoots } from "./budget-overshoots.ts"
import { LedgerAccounts } from "./ledger-accounts.ts"
import { LedgerEntries } from "./ledger-entries.ts"
import { Memtable, MemtablePair } from "./memtable.ts"
import { OpenHolds } from "./open-holds.ts"
import { SortedRuns } from "./runs/sorted-runs.ts"
import { SpendTotals } from "./spend-totals.ts"

/** Unflushed entries are in memory, so their number is bounded. */
const MAX_UNFLUSHED = 1_000_000

interface LedgerStateOptions {
  /** Called before the state is reloaded. */
  readonly finishRollback: () => void
  /** Called when entries have become durable. */
  readonly onBooked?: (() => void) | undefined
}

export class LedgerState {
  readonly memtables = new MemtablePair()
  readonly usage: SortedRuns
  readonly spend: SortedRuns
  readonly entries: LedgerEntries
  readonly accounts: LedgerAccounts
  readonly holds: OpenHolds
  readonly spending: SpendTotals
  readonly overshoots: BudgetOvershoots
  /** The last flushed entry, and the last flush. */
  flushed = { entry: -1, run: 0 }
  private isLoaded = false
  private readonly marks

  constructor(
    database: Database,
    private readonly options: LedgerStateOptions,
  ) {
    const { memtables } = this
    this.usage = new SortedRuns(database, "usage")
    this.spend = new SortedRuns(database, "spend")
    this.entries = new LedgerEntries(database, memtables)
    this.accounts = new LedgerAccounts(database, memtables)
    this.holds = new OpenHolds(database, this.entries)
    const unwritten = () => this.entries.unwritten
    this.spending = new SpendTotals({ runs: this.spend, memtables, holds: this.holds, unwritten })
    this.overshoots = new BudgetOvershoots(database)
    this.marks = database.query<{ entry: bigint; run: bigint }, []>(
      `SELECT (SELECT value FROM ledger_marks WHERE name = 'folded-entry') AS entry,
         (SELECT value FROM ledger_marks WHERE name = 'folded-run') AS run`,
    )
  }

  /** Call this before any read. */
  ready(): this {
    if (!this.isLoaded) this.load()
    return this
  }

  /** False if the request is already held or has ended. */
  hold(row: HoldRow): boolean {
    if (!this.holds.insert(row)) return false
    this.accounts.hold(this.accounts.get(row.accountId), { nano: row.amountNano, isNew: true })
    if (this.spending.isTracking) this.spending.add(row, row.amountNano)
    return true
  }

  grow(requestId: string, byNano: bigint): void {
    const row = this.holds.find(requestId)
    if (!row) throw new Error(`request ${requestId} is not held`)
    this.holds.replace({ ...row, amountNano: row.amountNano + byNano })
    this.accounts.hold(this.accounts.get(row.accountId), { nano: byNano, isNew: false })
    this.spending.add(row, byNano)
  }

  /** Does nothing if the hold is not open, or a higher bound is known. */
  note(requestId: string, lowerBoundNano: bigint): void {
    const row = this.holds.find(requestId)
    if (row && row.lowerBoundNano < lowerBoundNano) this.holds.replace({ ...row, lowerBoundNano })
  }

  /** Ends the hold of its request. */
  book(row: EntryRow, facts: string | null): void {
    const { requestId, accountId, nano } = row
    const hold = requestId === null ? undefined : this.holds.end(requestId)
    const account = this.accounts.get(accountId)
    this.accounts.post(account, nano)
    if (hold) this.accounts.release(account, hold.amountNano)
    if (this.spending.isTracking) this.spending.add(row, spentNano(nano) - (hold?.amountNano ?? 0n))
    if (this.spending.isTracking && row.use !== null) this.spending.noteDay(row)
    if (!hold && requestId !== null && !this.entries.isNew(requestId))
      throw new Error(`request ${requestId} was to be ended twice`)
    this.entries.insert(row, facts)
  }

  /** Called at the end of a transaction. */
  write(): void {
    if (this.memtables.active.entries > MAX_UNFLUSHED && this.entries.unwritten.length > 0)
      throw new StoreError("The store has not accepted the ledger's sums for too long.")
    this.accounts.check()
    this.holds.write()
    this.entries.write()
  }

  /** Called when the transaction is durable. */
  committed(): void {
    if (this.entries.committed()) this.options.onBooked?.()
    this.holds.committed()
    this.accounts.trim()
    this.spending.trim()
  }

  /** Called when the transaction has failed. */
  forget(): void {
    this.isLoaded = false
    this.entries.reset()
  }

  private load(): void {
    this.options.finishRollback()
    this.holds.forget()
    this.accounts.forget()
    this.spending.forget()
    this.loadMemtable()
    this.accounts.load()
    this.overshoots.load()
    this.holds.load()
    for (const { accountId, amountNano } of this.holds.all())
      this.accounts.hold(this.accounts.get(accountId), { nano: amountNano, isNew: true })
    this.accounts.trim()
    this.isLoaded = true
  }

  /** Except at the start there is usually nothing to load. */
  private loadMemtable(): void {
    const { entry, run } = this.marks.get() ?? { entry: 0n, run: 0n }
    let last = this.entries.last
    if (Number(entry) !== this.flushed.entry) {
      this.flushed = { entry: Number(entry), run: Number(run) }
      this.memtables.flushing = undefined
      this.memtables.active = new Memtable()
      last = this.flushed.entry
    }
    this.entries.load(last)
  }
}
