// The ledger's tables, and the one transaction that a group of operations is written in.
import type { Database } from "bun:sqlite"
import { type LedgerTable, StoreError } from "../contract.ts"
import { ledgerAudit } from "./ledger-audit.ts"
import { accountTable, entryTable, holdTable } from "./ledger-money.ts"
import { priceTable, receiptTable, spendTable, usageTable } from "./ledger-usage.ts"

export function ledgerTable(database: Database): LedgerTable {
  const nextEpoch = database.query<{ value: bigint }, []>(
    "UPDATE ledger_marks SET value = value + 1 WHERE name = 'epoch' RETURNING value",
  )
  return {
    accounts: accountTable(database),
    holds: holdTable(database),
    entries: entryTable(database),
    spend: spendTable(database),
    usage: usageTable(database),
    receipts: receiptTable(database),
    prices: priceTable(database),
    transaction: transactions(database),
    nextEpoch: () => Number(nextEpoch.get()?.value),
    audit: (openSince) => ledgerAudit(database, openSince),
  }
}

function transactions(database: Database): LedgerTable["transaction"] {
  const begin = database.query("BEGIN IMMEDIATE")
  const commit = database.query("COMMIT")
  const rollback = database.query("ROLLBACK")
  return (work) => {
    try {
      // A rollback that failed before would leave the connection within a transaction for good.
      if (database.inTransaction) rollback.run()
      begin.run()
      const result = work()
      commit.run()
      return result
    } catch (thrown) {
      if (database.inTransaction) undo(() => rollback.run())
      throw isStoreFailure(thrown)
        ? new StoreError(`The store does not take what is written: ${String(thrown)}`, { cause: thrown })
        : thrown
    }
  }
}

function undo(rollback: () => void): void {
  try {
    rollback()
  } catch {
    // The next transaction begins with it.
  }
}

/** Not a broken constraint: that is a fault of one operation, and the store is well. */
function isStoreFailure(thrown: unknown): boolean {
  if (!(thrown instanceof Error) || !("code" in thrown)) return false
  const code = String(thrown.code)
  return code.startsWith("SQLITE_") && !code.startsWith("SQLITE_CONSTRAINT")
}
