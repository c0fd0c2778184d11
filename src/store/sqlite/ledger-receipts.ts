// What receipts show beside what was booked, and the prices they name.
import type { Database } from "bun:sqlite"
import type { PriceTable, ReceiptTable } from "../contract.ts"
import { NO_FACTS } from "./ledger-journal.ts"
import type { Standing } from "./ledger-standing.ts"

interface FactsColumns {
  readonly first: bigint
  readonly facts: string
}

export function receiptTable(database: Database, standing: Standing): ReceiptTable {
  const at = database.query<FactsColumns, [bigint]>(
    "SELECT first, facts FROM receipt_groups WHERE first <= ?1 ORDER BY first DESC LIMIT 1",
  )
  // Only the oldest is looked at: it is the first, and a search for others would read the whole table.
  const oldest = database.query<FactsColumns & { readonly at: bigint }, []>(
    "SELECT first, at, facts FROM receipt_groups ORDER BY first LIMIT 1",
  )
  const remove = database.query("DELETE FROM receipt_groups WHERE first = ?1")
  const insert = database.query("INSERT INTO receipt_groups VALUES (?1, ?2, ?3)")
  return {
    find: (entryId) => {
      standing.ready()
      const row = at.get(entryId)
      const facts = row?.facts.split("\n")[Number(entryId - row.first)]
      return facts === NO_FACTS ? undefined : facts
    },
    dropBefore: (time, limit) => {
      let went = 0
      for (let row = oldest.get(); row && row.at < time && went < limit; row = oldest.get()) {
        const lines = row.facts.split("\n")
        let taken = 0
        for (; taken < lines.length && went < limit; taken++) if (lines[taken] !== NO_FACTS) went += 1
        remove.run(row.first)
        const rest = lines.slice(taken)
        if (rest.some((line) => line !== NO_FACTS)) insert.run(row.first + BigInt(taken), row.at, rest.join("\n"))
      }
      return went
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
