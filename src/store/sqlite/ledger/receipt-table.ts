// Facts of receipts beyond their entries, and the prices they name.
import type { Database } from "bun:sqlite"
import type { PriceTable, ReceiptTable } from "../../contract.ts"
import type { LedgerState } from "./ledger-state.ts"

interface FactsColumns {
  readonly first: bigint
  readonly at: bigint
  readonly facts: string | null
}

const NO_FACTS = "{}"

/** Facts are dropped in the order of their entries: all before a mark are gone. */
export function receiptTable(database: Database, standing: LedgerState): ReceiptTable {
  const row = "SELECT first, at, facts FROM journal WHERE first"
  const rowAt = database.query<FactsColumns, [number | bigint]>(`${row} <= ?1 ORDER BY first DESC LIMIT 1`)
  const rowAfter = database.query<FactsColumns, [bigint]>(`${row} > ?1 ORDER BY first LIMIT 1`)
  const mark = database.query<{ value: bigint }, []>("SELECT value FROM ledger_marks WHERE name = 'facts-from-entry'")
  const moveMark = database.query("UPDATE ledger_marks SET value = ?1 WHERE name = 'facts-from-entry'")
  const drop = database.query("UPDATE journal SET facts = NULL WHERE first = ?1 AND facts IS NOT NULL")
  const firstKept = () => Number(mark.get()?.value)
  return {
    find: (entryId) => {
      const isThere = entryId >= firstKept() && entryId <= standing.ready().entries.last
      const found = isThere ? rowAt.get(entryId) : null
      if (!found) return undefined
      const facts = found.facts === null ? undefined : JSON.parse(found.facts)[String(entryId - found.first)]
      return facts === undefined ? NO_FACTS : JSON.stringify(facts)
    },
    dropBefore: (time, limit) => {
      const start = firstKept()
      const { last } = standing.ready().entries
      const end = Math.min(start + limit, last + 1)
      let next = start
      while (next < end) {
        const found = rowAt.get(next)
        if (!found || found.at >= time) break
        const behind = Number(rowAfter.get(found.first)?.first ?? last + 1)
        next = Math.min(behind, end)
        if (next === behind) drop.run(found.first)
      }
      moveMark.run(next)
      return next - start
    },
  }
}

export function priceTable(database: Database): PriceTable {
  const insert = database.query("INSERT INTO prices VALUES (?1, ?2) ON CONFLICT DO NOTHING")
  const find = database.query<{ pricing: string }, [string]>("SELECT pricing FROM prices WHERE version = ?1")
  const page = database.query<{ version: string; pricing: string }, [string, number]>(
    "SELECT version, pricing FROM prices WHERE version > ?1 ORDER BY version LIMIT ?2",
  )
  return {
    insert: (version, pricing) => void insert.run(version, pricing),
    find: (version) => find.get(version)?.pricing,
    page: (after, limit) => page.all(after, limit),
  }
}
