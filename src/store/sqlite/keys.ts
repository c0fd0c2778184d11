import type { Database } from "bun:sqlite"
import type { KeyRow, KeyTable } from "../contract.ts"
import {
  type Bindings,
  GRANT_COLUMNS,
  type GrantColumns,
  grantBindings,
  grantFrom,
  insertInto,
  list,
  number,
  updateOf,
} from "./grants.ts"

interface Columns extends GrantColumns {
  readonly id: string
  readonly name: string
  readonly tenant: string
  readonly hash: string
  readonly hint: string
  readonly created_at: bigint
  readonly expires_at: bigint | null
  readonly revoked_at: bigint | null
  readonly previous_hash: string | null
  readonly previous_until: bigint | null
  readonly addresses: string | null
  readonly keep_answers: bigint
  readonly own_balance: bigint
  readonly strict_balance: bigint
  readonly hedge: bigint
  readonly model_map: string | null
}

const COLUMNS = {
  id: "$id",
  name: "$name",
  tenant: "$tenant",
  hash: "$hash",
  hint: "$hint",
  created_at: "$createdAt",
  expires_at: "$expiresAt",
  revoked_at: "$revokedAt",
  previous_hash: "$previousHash",
  previous_until: "$previousUntil",
  addresses: "$addresses",
  keep_answers: "$keepAnswers",
  own_balance: "$ownBalance",
  strict_balance: "$strictBalance",
  hedge: "$hedge",
  model_map: "$modelMap",
  ...GRANT_COLUMNS,
}

export function keyTable(database: Database): KeyTable {
  const insert = database.query(insertInto("keys", COLUMNS))
  const replace = database.query(updateOf("keys", COLUMNS, "id"))
  const byHash = database.query<Columns, [string]>("SELECT * FROM keys WHERE hash = ?1")
  const byPreviousHash = database.query<Columns, [string]>("SELECT * FROM keys WHERE previous_hash = ?1")
  const byId = database.query<Columns, [string]>("SELECT * FROM keys WHERE id = ?1")
  const all = database.query<Columns, []>("SELECT * FROM keys ORDER BY created_at, id")
  const count = database.query<{ n: bigint }, []>("SELECT count(*) AS n FROM keys")
  return {
    insert: (row) => void insert.run(bindings(row)),
    replace: (row) => void replace.run(bindings(row)),
    findByHash: (hash) => toRow(byHash.get(hash) ?? byPreviousHash.get(hash)),
    findById: (id) => toRow(byId.get(id)),
    list: () => all.all().map((columns) => fromColumns(columns)),
    count: () => Number(count.get()?.n ?? 0),
  }
}

function bindings(row: KeyRow): Bindings {
  return {
    $id: row.id,
    $name: row.name,
    $tenant: row.tenant,
    $hash: row.hash,
    $hint: row.hint,
    $createdAt: row.createdAt,
    $expiresAt: row.expiresAt,
    $revokedAt: row.revokedAt,
    $previousHash: row.previousHash,
    $previousUntil: row.previousUntil,
    $addresses: row.addresses && JSON.stringify(row.addresses),
    $keepAnswers: Number(row.keepAnswers),
    $ownBalance: Number(row.ownBalance),
    $strictBalance: Number(row.strictBalance),
    $hedge: Number(row.hedge),
    $modelMap: row.modelMap && JSON.stringify(row.modelMap),
    ...grantBindings(row),
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
    createdAt: Number(columns.created_at),
    expiresAt: number(columns.expires_at),
    revokedAt: number(columns.revoked_at),
    previousHash: columns.previous_hash,
    previousUntil: number(columns.previous_until),
    addresses: list(columns.addresses),
    keepAnswers: columns.keep_answers !== 0n,
    ownBalance: columns.own_balance !== 0n,
    strictBalance: columns.strict_balance !== 0n,
    hedge: columns.hedge !== 0n,
    modelMap: columns.model_map === null ? null : (JSON.parse(columns.model_map) as KeyRow["modelMap"]),
    ...grantFrom(columns),
  }
}
