// Requests answered under an idempotency key, and their responses. Rows are numbered as they arrive, so that the oldest
// are found without an index of times; triggers maintain the totals of each tenant, so that bounds need no counting.
import type { Database } from "bun:sqlite"
import type { IdempotencyBounds, IdempotencyRow, IdempotencyTable, SealedResponse } from "../contract.ts"

interface IdempotencyColumns {
  readonly hash: string
  readonly asked: string
  readonly request: string
  readonly at: bigint
  readonly tenant: string
}

interface SealedResponseColumns {
  readonly status: bigint
  readonly content_type: string
  readonly sealed: Uint8Array
}

export function idempotencyTable(database: Database): IdempotencyTable {
  const find = database.query<IdempotencyColumns, [string]>(
    "SELECT hash, asked, request, at, tenant FROM repeats WHERE hash = ?1",
  )
  const findAnswer = database.query<SealedResponseColumns, [string]>(
    `SELECT status, content_type, sealed FROM repeat_answers
     WHERE id = (SELECT id FROM repeats WHERE hash = ?1)`,
  )
  const remove = database.query("DELETE FROM repeats WHERE hash = ?1")
  const insert = database.query("INSERT INTO repeats (hash, asked, request, at, tenant) VALUES (?1, ?2, ?3, ?4, ?5)")
  const insertAnswer = database.query(
    `INSERT INTO repeat_answers (id, status, content_type, sealed, bytes, tenant)
     VALUES (?1, ?2, ?3, ?4, length(?4), ?5)`,
  )
  const oldest = database.query<{ at: bigint }, []>("SELECT at FROM repeats ORDER BY id LIMIT 1")
  // Only the oldest rows are read: a search for more would read the whole table.
  const dropOld = database.query<{ id: bigint }, [number, number]>(
    "DELETE FROM repeats WHERE at < ?1 AND id IN (SELECT id FROM repeats ORDER BY id LIMIT ?2) RETURNING id",
  )
  return {
    find: (hash) => toIdempotencyRow(find.get(hash)),
    findAnswer: (hash) => toSealedResponse(findAnswer.get(hash)),
    insert: ({ hash, bodyHash, requestId, at, tenant }, answer) => {
      remove.run(hash)
      const { lastInsertRowid } = insert.run(hash, bodyHash, requestId, at, tenant)
      if (answer) insertAnswer.run(lastInsertRowid, answer.status, answer.contentType, answer.sealed, tenant)
    },
    dropBefore: (time, limit) => {
      // Most often there is none, and this costs a tenth of a search for several.
      const first = oldest.get()
      return first && first.at < time ? dropOld.all(time, limit).length : 0
    },
    keepWithin: createKeepWithin(database),
  }
}

interface IdempotencySums {
  readonly rows: bigint
  readonly bytes: bigint
  readonly allRows: bigint
  readonly allBytes: bigint
}

function createKeepWithin(database: Database): IdempotencyTable["keepWithin"] {
  const sumsOf = database.query<IdempotencySums, [string]>(
    `SELECT own.rows, own.bytes, every.rows AS allRows, every.bytes AS allBytes
     FROM repeat_total AS every LEFT JOIN repeat_sums AS own ON own.tenant = ?1`,
  )
  const dropRow = database.query("DELETE FROM repeats WHERE id = (SELECT min(id) FROM repeats WHERE tenant = ?1)")
  const dropAnswer = database.query(
    "DELETE FROM repeat_answers WHERE id = (SELECT min(id) FROM repeat_answers WHERE tenant = ?1)",
  )
  const largest = (by: "rows" | "bytes") =>
    database.query<{ tenant: string }, []>(`SELECT tenant FROM repeat_sums ORDER BY ${by} DESC, tenant DESC LIMIT 1`)
  const [mostRows, mostBytes] = [largest("rows"), largest("bytes")]
  const isBeyond = (of: IdempotencyBounds, { rows, answerBytes }: IdempotencyBounds) => ({
    rows: of.rows > rows,
    bytes: of.answerBytes > answerBytes,
  })
  return ({ ofTenant, ofAll }, tenant) => {
    for (;;) {
      const { rows, bytes, allRows, allBytes } = sumsOf.get(tenant) as IdempotencySums
      const own = isBeyond({ rows: Number(rows), answerBytes: Number(bytes) }, ofTenant)
      const all = isBeyond({ rows: Number(allRows), answerBytes: Number(allBytes) }, ofAll)
      let dropped: { readonly changes: number }
      if (own.rows) dropped = dropRow.run(tenant)
      else if (all.rows) dropped = dropRow.run(mostRows.get()?.tenant ?? tenant)
      else if (own.bytes) dropped = dropAnswer.run(tenant)
      else if (all.bytes) dropped = dropAnswer.run(mostBytes.get()?.tenant ?? tenant)
      else return
      if (dropped.changes === 0) throw new Error("the memtable does not match its sums")
    }
  }
}

function toIdempotencyRow(columns: IdempotencyColumns | null): IdempotencyRow | undefined {
  if (!columns) return undefined
  const { hash, asked, request, at, tenant } = columns
  return { hash, bodyHash: asked, requestId: request, at: Number(at), tenant }
}

function toSealedResponse(columns: SealedResponseColumns | null): SealedResponse | undefined {
  if (!columns) return undefined
  const { status, content_type, sealed } = columns
  return { status: Number(status), contentType: content_type, sealed }
}
