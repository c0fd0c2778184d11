import type { Database } from "bun:sqlite"
import type { KeyRow, KeyTable } from "../contract.ts"
import {
  GRANT_COLUMNS,
  type GrantColumns,
  grantBindings,
  grantFrom,
  insertInto,
  parseList,
  type SqlBindings,
  toNumber,
  updateOf,
} from "./grant-columns.ts"

interface KeyColumns extends GrantColumns {
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
  const byHash = database.query<KeyColumns, [string]>("SELECT * FROM keys WHERE hash = ?1")
  const byPreviousHash = database.query<KeyColumns, [string]>("SELECT * FROM keys WHERE previous_hash = ?1")
  const byId = database.query<KeyColumns, [string]>("SELECT * FROM keys WHERE id = ?1")
  const all = database.query<KeyColumns, []>("SELECT * FROM keys ORDER BY created_at, id")
  const count = database.query<{ n: bigint }, []>("SELECT count(*) AS n FROM keys")
  return {
    insert: (row) => void insert.run(keyBindings(row)),
    replace: (row) => void replace.run(keyBindings(row)),
    findByHash: (hash) => toKeyRowIfFound(byHash.get(hash) ?? byPreviousHash.get(hash)),
    findById: (id) => toKeyRowIfFound(byId.get(id)),
    list: () => all.all().map((columns) => toKeyRow(columns)),
    count: () => Number(count.get()?.n ?? 0),
  }
}

function keyBindings(row: KeyRow): SqlBindings {
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

function toKeyRowIfFound(columns: KeyColumns | null): KeyRow | undefined {
  return columns ? toKeyRow(columns) : undefined
}

function toKeyRow(columns: KeyColumns): KeyRow {
  return {
    id: columns.id,
    name: columns.name,
    tenant: columns.tenant,
    hash: columns.hash,
    hint: columns.hint,
    createdAt: Number(columns.created_at),
    expiresAt: toNumber(columns.expires_at),
    revokedAt: toNumber(columns.revoked_at),
    previousHash: columns.previous_hash,
    previousUntil: toNumber(columns.previous_until),
    addresses: parseList(columns.addresses),
    keepAnswers: columns.keep_answers !== 0n,
    ownBalance: columns.own_balance !== 0n,
    strictBalance: columns.strict_balance !== 0n,
    hedge: columns.hedge !== 0n,
    modelMap: columns.model_map === null ? null : (JSON.parse(columns.model_map) as KeyRow["modelMap"]),
    ...grantFrom(columns),
  }
}
