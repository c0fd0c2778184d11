// What keys have spent and used, receipts, and the prices they name.
import type { Database, SQLQueryBindings } from "bun:sqlite"
import type { PriceTable, ReceiptTable, SpendTable, UsageFilter, UsageRow, UsageTable } from "../contract.ts"
import { TOTAL_DAY } from "./total-day.ts"

export function spendTable(database: Database): SpendTable {
  const add = database.query(
    `INSERT INTO spend VALUES (?1, ?2, ?3, ?4)
     ON CONFLICT (holder, day) DO UPDATE SET spent = spent + ?3, held = held + ?4`,
  )
  // A new row may not hold less than nothing, also where it would only be added to one that is there.
  const end = database.query("UPDATE spend SET spent = spent + ?3, held = held + ?4 WHERE holder = ?1 AND day = ?2")
  const between = database.query<{ sum: bigint }, [string, number, number]>(
    "SELECT coalesce(sum(spent + held), 0) AS sum FROM spend WHERE holder = ?1 AND day BETWEEN ?2 AND ?3",
  )
  const sum = (holder: string, from: number, to: number) => between.get(holder, from, to)?.sum ?? 0n
  return {
    add: (holder, { day, spentNano, heldNano }) => {
      const statement = heldNano < 0n ? end : add
      statement.run(holder, day, spentNano, heldNano)
      statement.run(holder, TOTAL_DAY, spentNano, heldNano)
    },
    between: (holder, { from, to }) => sum(holder, from, to),
    total: (holder) => sum(holder, TOTAL_DAY, TOTAL_DAY),
  }
}

/** Members of a UsageRow that count, and their columns. */
const COUNTS = {
  requests: "requests",
  input: "input",
  cacheRead: "cache_read",
  cacheWrite: "cache_write",
  cacheWrite1h: "cache_write_1h",
  audioInput: "audio_input",
  imageInput: "image_input",
  output: "output",
  reasoning: "reasoning",
  audioOutput: "audio_output",
  imageOutput: "image_output",
  images: "images",
} as const
type Count = keyof typeof COUNTS
const COUNT_NAMES = Object.keys(COUNTS) as Count[]
const COUNT_COLUMNS = Object.values(COUNTS)

type UsageColumns = { readonly day: bigint; readonly tenant: string; readonly key: string } & {
  readonly model: string
  readonly provider: string
  readonly paid: bigint
} & Readonly<Record<(typeof COUNTS)[Count], bigint>>

export function usageTable(database: Database): UsageTable {
  const columns = ["day", "tenant", "key", "model", "provider", ...COUNT_COLUMNS, "paid"]
  const add = database.query(
    `INSERT INTO usage (${columns.join(", ")}) VALUES (${columns.map((_, at) => `?${at + 1}`).join(", ")})
     ON CONFLICT DO UPDATE SET ${[...COUNT_COLUMNS, "paid"].map((name) => `${name} = ${name} + excluded.${name}`).join(", ")}`,
  )
  const nextDay = database.query<{ day: bigint }, [number]>(
    "SELECT day FROM usage WHERE day >= ?1 ORDER BY day LIMIT 1",
  )
  const drop = database.query(
    `DELETE FROM usage WHERE (day, tenant, key, model, provider) IN
       (SELECT day, tenant, key, model, provider FROM usage WHERE day < ?1
        ORDER BY day, tenant, key, model, provider LIMIT ?2)`,
  )
  const dropped = database.query("UPDATE ledger_marks SET value = max(value, ?1) WHERE name = 'usage-from-day'")
  const dayPage = dayPages(database)
  return {
    add: (row) => {
      const { day, tenant, keyId, model, provider, requests, images, paidNano } = row
      const { input, cacheRead, cacheWrite, cacheWrite1h, audioInput, imageInput } = row
      const { output, reasoning, audioOutput, imageOutput } = row
      add.run(
        ...([day, tenant, keyId, model, provider, requests] as const),
        ...([input, cacheRead, cacheWrite, cacheWrite1h, audioInput, imageInput] as const),
        ...([output, reasoning, audioOutput, imageOutput, images, paidNano] as const),
      )
    },
    // Day by day, so that the index leads to the tenant and its key within each.
    page: (filter) => {
      const rows: UsageRow[] = []
      for (let day = filter.after?.day ?? filter.from; rows.length < filter.limit; day++) {
        const next = nextDay.get(day)?.day
        if (next === undefined || next > filter.to) break
        day = Number(next)
        rows.push(...dayPage(day, { ...filter, limit: filter.limit - rows.length }))
      }
      return rows
    },
    dropBefore: (day, limit) => {
      dropped.run(day)
      return drop.run(day, limit).changes
    },
  }
}

function dayPages(database: Database): (day: number, filter: UsageFilter) => UsageRow[] {
  // Each goes on where the index has the row before, and passes over none.
  const select = (among: string) =>
    database.query<UsageColumns, SQLQueryBindings[]>(
      `SELECT * FROM usage WHERE day = ?1 AND (?4 IS NULL OR model = ?4) AND ${among}
       ORDER BY tenant, key, model, provider LIMIT ?5`,
    )
  const all = select("?2 IS NULL AND ?3 IS NULL AND (tenant, key, model, provider) > (?6, ?7, ?8, ?9)")
  const ofTenant = select("tenant = ?2 AND ?3 IS NULL AND ?6 = ?6 AND (key, model, provider) > (?7, ?8, ?9)")
  const ofKey = select("tenant = ?2 AND key = ?3 AND ?6 = ?6 AND ?7 = ?7 AND (model, provider) > (?8, ?9)")
  return (day, { tenant, keyId, model, after, limit }) => {
    const statement = keyId !== undefined ? ofKey : tenant !== undefined ? ofTenant : all
    const {
      tenant: afterTenant,
      keyId: afterKey,
      model: afterModel,
      provider: afterProvider,
    } = after?.day === day ? after : { tenant: "", keyId: "", model: "", provider: "" }
    return statement
      .all(
        ...[day, tenant ?? null, keyId ?? null, model ?? null, limit],
        ...[afterTenant, afterKey, afterModel, afterProvider],
      )
      .map(usageOf)
  }
}

function usageOf(columns: UsageColumns): UsageRow {
  const { day, tenant, key, model, provider, paid } = columns
  const counts = Object.fromEntries(COUNT_NAMES.map((name) => [name, Number(columns[COUNTS[name]])]))
  return { day: Number(day), tenant, keyId: key, model, provider, ...(counts as Record<Count, number>), paidNano: paid }
}

export function receiptTable(database: Database): ReceiptTable {
  const insert = database.query("INSERT INTO receipts VALUES (?1, ?2, ?3)")
  const find = database.query<{ facts: string }, [bigint]>("SELECT facts FROM receipts WHERE entry = ?1")
  // Only the oldest are looked at: they are the first, and a search for more would read the whole table.
  const drop = database.query(
    `DELETE FROM receipts WHERE at < ?1 AND entry IN
       (SELECT entry FROM receipts ORDER BY entry LIMIT ?2)`,
  )
  return {
    insert: (entryId, { at, facts }) => void insert.run(entryId, at, facts),
    find: (entryId) => find.get(entryId)?.facts,
    dropBefore: (time, limit) => drop.run(time, limit).changes,
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
