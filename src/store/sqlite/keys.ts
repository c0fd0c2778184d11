import type { Database } from "bun:sqlite"
import type { KeyRow, KeyTable } from "../contract.ts"

interface Columns {
  readonly id: string
  readonly name: string
  readonly tenant: string
  readonly hash: string
  readonly hint: string
  readonly models: string | null
  readonly created_at: bigint
  readonly expires_at: bigint | null
  readonly revoked_at: bigint | null
  readonly previous_hash: string | null
  readonly previous_until: bigint | null
  readonly strict: bigint
}

export function keyTable(database: Database): KeyTable {
  const insert = database.query(
    `INSERT INTO keys VALUES ($id, $name, $tenant, $hash, $hint, $models, $createdAt, $expiresAt, $revokedAt,
       $previousHash, $previousUntil, $strict)`,
  )
  const replace = database.query(
    `UPDATE keys SET name = $name, tenant = $tenant, hash = $hash, hint = $hint, models = $models,
       created_at = $createdAt, expires_at = $expiresAt, revoked_at = $revokedAt,
       previous_hash = $previousHash, previous_until = $previousUntil, strict = $strict
     WHERE id = $id`,
  )
  const byHash = database.query<Columns, [string]>("SELECT * FROM keys WHERE hash = ?1 OR previous_hash = ?1")
  const byId = database.query<Columns, [string]>("SELECT * FROM keys WHERE id = ?1")
  const all = database.query<Columns, []>("SELECT * FROM keys ORDER BY created_at, id")
  const count = database.query<{ n: bigint }, []>("SELECT count(*) AS n FROM keys")
  return {
    insert: (row) => void insert.run(bindings(row)),
    replace: (row) => void replace.run(bindings(row)),
    findByHash: (hash) => toRow(byHash.get(hash)),
    findById: (id) => toRow(byId.get(id)),
    list: () => all.all().map((columns) => fromColumns(columns)),
    count: () => Number(count.get()?.n ?? 0),
  }
}

function bindings(row: KeyRow): Record<string, string | number | null> {
  return {
    $id: row.id,
    $name: row.name,
    $tenant: row.tenant,
    $hash: row.hash,
    $hint: row.hint,
    $models: row.models && JSON.stringify(row.models),
    $createdAt: row.createdAt,
    $expiresAt: row.expiresAt,
    $revokedAt: row.revokedAt,
    $previousHash: row.previousHash,
    $previousUntil: row.previousUntil,
    $strict: Number(row.strict),
  }
}

function toRow(columns: Columns | null): KeyRow | undefined {
  return columns ? fromColumns(columns) : undefined
}

function fromColumns(columns: Columns): KeyRow {
  return {
    id: columns.id,
    name: columns.name,
    tenant: columns.tenant,
    hash: columns.hash,
    hint: columns.hint,
    models: columns.models === null ? null : JSON.parse(columns.models),
    createdAt: Number(columns.created_at),
    expiresAt: time(columns.expires_at),
    revokedAt: time(columns.revoked_at),
    previousHash: columns.previous_hash,
    previousUntil: time(columns.previous_until),
    strict: columns.strict !== 0n,
  }
}

function time(value: bigint | null): number | null {
  return value === null ? null : Number(value)
}
