// The ledger's tables, and the transaction of a group of operations. A transaction survives the process at once, and a
// power loss from the next checkpoint on: until then the file stays intact, but the last transactions may be missing
// together.
import type { Database } from "bun:sqlite"
import { type HoldRow, type LedgerTable, StoreError } from "../../contract.ts"
import { startLedgerAudit } from "./audit/ledger-audit.ts"
import type { JournalChainLink } from "./journal-chain.ts"
import { LedgerState } from "./ledger-state.ts"
import { priceTable, receiptTable } from "./receipt-table.ts"
import { FlushScheduler } from "./runs/flush-scheduler.ts"
import { usageTable } from "./usage-table.ts"

/** The contract, and the position of the table. */
interface SqliteLedger extends LedgerTable {
  link(): JournalChainLink
}

export function ledgerTable(database: Database, { onBooked }: { readonly onBooked?: () => void } = {}): SqliteLedger {
  const nextEpoch = database.query<{ value: bigint }, []>(
    "UPDATE ledger_marks SET value = value + 1 WHERE name = 'epoch' RETURNING value",
  )
  // The value must change: SQLite does not write an unchanged row.
  const touch = database.query(
    "INSERT INTO ledger_marks VALUES ('probes', 1) ON CONFLICT (name) DO UPDATE SET value = value + 1",
  )
  const transactions = new LedgerTransactions(database)
  const state = new LedgerState(database, { finishRollback: () => transactions.finishRollback(), onBooked })
  const transaction: LedgerTable["transaction"] = (work) => transactions.run(work, state)
  const flushScheduler = new FlushScheduler({ database, state, transaction })
  return {
    ...moneyTables(state),
    usage: usageTable(database, state),
    receipts: receiptTable(database, state),
    prices: priceTable(database),
    transaction,
    nextEpoch: () => Number(nextEpoch.get()?.value),
    touch: () => void touch.run(),
    flushIsDue: () => flushScheduler.isDue(),
    beginFlush: () => flushScheduler.begin(),
    flush: (forMs) => flushScheduler.step(forMs),
    compact: (forMs) => flushScheduler.compact(forMs),
    audit: (openSince) => startLedgerAudit({ database, state, openSince }),
    link: () => {
      const { last: entry, chain } = state.ready().entries
      return { entry, chain }
    },
  }
}

type MoneyTables = Pick<LedgerTable, "accounts" | "holds" | "entries" | "spend" | "overshoots" | "suspense">

function moneyTables(state: LedgerState): MoneyTables {
  return {
    accounts: {
      find: (name) => state.ready().accounts.find(name),
      payer: (keyId, tenant) => state.ready().accounts.payer(keyId, tenant),
      get: (id) => state.ready().accounts.get(id),
      insert: (name, floorNano) => state.ready().accounts.insert(name, floorNano),
      setFloor: (id, floorNano) => state.ready().accounts.setFloor(id, floorNano),
    },
    holds: {
      insert: (row) => state.ready().hold(row),
      find: (requestId) => state.ready().holds.find(requestId),
      grow: (requestId, byNano) => state.ready().grow(requestId, byNano),
      note: (requestId, lowerBoundNano) => state.ready().note(requestId, lowerBoundNano),
      ofEarlierEpochs: (epoch, limit) => {
        const rows: HoldRow[] = []
        for (const row of state.ready().holds.all()) if (row.epoch < epoch) rows.push(row)
        return rows.sort(byAge).slice(0, limit)
      },
    },
    entries: {
      insert: (row, facts) => state.ready().book(row, facts),
      ofRequest: (requestId) => state.ready().entries.ofRequest(requestId),
      ofEvent: (eventId) => state.ready().entries.ofEvent(eventId),
      get: (id) => state.ready().entries.get(Number(id)),
    },
    spend: {
      ofKey: (keyId, days) => state.ready().spending.ofKey(keyId, days),
      ofTenant: (tenant, days) => state.ready().spending.ofTenant(tenant, days),
      latestDay: (spender, day) => state.ready().spending.latestDay(spender, day),
    },
    overshoots: {
      find: (holder, period) => state.ready().overshoots.find(holder, period),
      put: (row) => state.ready().overshoots.put(row),
    },
    suspense: {
      find: (requestId) => state.ready().entries.suspense.find(requestId),
      page: (after, limit) => state.ready().entries.suspense.page(after, limit),
      countOpen: () => state.ready().entries.suspense.countOpen(),
    },
  }
}

/** Request ids sort by time. */
function byAge(a: HoldRow, b: HoldRow): number {
  return a.at - b.at || (a.requestId < b.requestId ? -1 : 1)
}

class LedgerTransactions {
  private isOpen = false
  private readonly begin
  private readonly commit
  private readonly rollback

  constructor(private readonly database: Database) {
    this.begin = database.query("BEGIN IMMEDIATE")
    this.commit = database.query("COMMIT")
    this.rollback = database.query("ROLLBACK")
  }

  run<Result>(work: () => Result, state: LedgerState): Result {
    try {
      this.finishRollback()
      this.begin.run()
      this.isOpen = true
      const result = work()
      state.write()
      this.commit.run()
      this.isOpen = false
      state.committed()
      return result
    } catch (thrown) {
      this.isOpen = false
      state.forget()
      this.undo()
      throw isStoreFailure(thrown)
        ? new StoreError(`The store rejects writes: ${String(thrown)}`, { cause: thrown })
        : thrown
    }
  }

  /** After a failed rollback nothing may be read or written before it succeeds: the open changes are not durable. */
  finishRollback(): void {
    if (!this.isOpen && this.database.inTransaction) this.rollback.run()
  }

  private undo(): void {
    try {
      this.finishRollback()
    } catch {
      // Retried before anything else is done.
    }
  }
}

/** A violated constraint is a fault of one operation, not of the store. */
function isStoreFailure(thrown: unknown): boolean {
  if (!(thrown instanceof Error) || !("code" in thrown)) return false
  const code = String(thrown.code)
  return code.startsWith("SQLITE_") && !code.startsWith("SQLITE_CONSTRAINT")
}
