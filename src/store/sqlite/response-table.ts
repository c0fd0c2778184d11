// Stored responses of tenants. Rows are numbered as they arrive, so that the oldest are found without an index of
// times; triggers maintain the totals of each tenant, so that bounds need no counting.
import type { Database } from "bun:sqlite"
import type { ResponseBounds, ResponseRow, ResponseTable } from "../contract.ts"

interface StoredResponseColumns {
  readonly tenant: string
  readonly id: string
  readonly at: bigint
  readonly sealed: Uint8Array
}

interface ResponseSums {
  readonly count: bigint
  readonly bytes: bigint
}

export function responseTable(database: Database): ResponseTable {
  const find = database.query<StoredResponseColumns, [string, string]>(
    "SELECT tenant, id, at, sealed FROM responses WHERE tenant = ?1 AND id = ?2",
  )
  const findByItem = database.query<StoredResponseColumns, [string, string]>(
    `SELECT responses.tenant, id, at, sealed FROM response_items JOIN responses USING (number)
     WHERE response_items.tenant = ?1 AND item = ?2`,
  )
  const insert = database.query<{ number: bigint }, [string, string, number, Uint8Array]>(
    "INSERT INTO responses (tenant, id, at, bytes, sealed) VALUES (?1, ?2, ?3, length(?4), ?4) RETURNING number",
  )
  const insertItem = database.query("INSERT OR REPLACE INTO response_items (tenant, item, number) VALUES (?1, ?2, ?3)")
  const remove = database.query<{ number: bigint }, [string, string]>(
    "DELETE FROM responses WHERE tenant = ?1 AND id = ?2 RETURNING number",
  )
  const oldest = database.query<{ at: bigint }, []>("SELECT at FROM responses ORDER BY number LIMIT 1")
  // Only the oldest rows are read: a search for more would read the whole table.
  const dropOld = database.query<{ number: bigint }, [number, number]>(
    `DELETE FROM responses WHERE at < ?1 AND number IN (SELECT number FROM responses ORDER BY number LIMIT ?2)
     RETURNING number`,
  )
  return {
    find: (tenant, id) => toResponseRow(find.get(tenant, id)),
    findByItem: (tenant, item) => toResponseRow(findByItem.get(tenant, item)),
    insert: ({ tenant, id, at, sealed }, items) => {
      const row = insert.get(tenant, id, at, sealed)
      if (row) for (const item of items) insertItem.run(tenant, item, row.number)
    },
    // The number of changes includes those by triggers; the returned rows do not.
    remove: (tenant, id) => remove.all(tenant, id).length > 0,
    dropBefore: (time, limit) => {
      const first = oldest.get()
      return first && first.at < time ? dropOld.all(time, limit).length : 0
    },
    keepWithin: createKeepWithin(database),
  }
}

function createKeepWithin(database: Database): ResponseTable["keepWithin"] {
  const sumsOf = database.query<ResponseSums, [string]>("SELECT count, bytes FROM response_sums WHERE tenant = ?1")
  const total = database.query<ResponseSums, []>("SELECT count, bytes FROM response_total")
  const dropOf = database.query(
    "DELETE FROM responses WHERE number = (SELECT min(number) FROM responses WHERE tenant = ?1)",
  )
  // A response that was just stored has been promised to its client.
  const largest = (by: "count" | "bytes") =>
    database.query<{ tenant: string }, [string]>(
      `SELECT tenant FROM response_sums WHERE tenant <> ?1 OR count > 1 ORDER BY ${by} DESC, tenant DESC LIMIT 1`,
    )
  const most = { count: largest("count"), bytes: largest("bytes") }
  const dropOne = (tenant: string) => {
    if (dropOf.run(tenant).changes === 0) throw new Error("the responses kept are not what their sums say")
  }
  return ({ ofTenant, ofAll }, tenant) => {
    while (excessOf(sumsOf.get(tenant), ofTenant)) dropOne(tenant)
    for (let excess = excessOf(total.get(), ofAll); excess; excess = excessOf(total.get(), ofAll))
      dropOne(most[excess].get(tenant)?.tenant ?? tenant)
  }
}

/** The exceeded bound, if any. */
function excessOf(sums: ResponseSums | null, { rows, bytes }: ResponseBounds): "count" | "bytes" | undefined {
  if (sums === null) return undefined
  if (sums.bytes > bytes) return "bytes"
  return sums.count > rows ? "count" : undefined
}

function toResponseRow(columns: StoredResponseColumns | null): ResponseRow | undefined {
  return columns ? { ...columns, at: Number(columns.at) } : undefined
}
