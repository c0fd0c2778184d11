import type { Database } from "bun:sqlite"
import type { TenantRow, TenantTable } from "../contract.ts"
import {
  GRANT_COLUMNS,
  type GrantColumns,
  grantBindings,
  grantFrom,
  insertInto,
  type SqlBindings,
  updateOf,
} from "./grant-columns.ts"

interface TenantColumns extends GrantColumns {
  readonly name: string
  readonly created_at: bigint
}

const COLUMNS = { name: "$name", created_at: "$createdAt", ...GRANT_COLUMNS }

export function tenantTable(database: Database): TenantTable {
  const insert = database.query(insertInto("tenants", COLUMNS))
  const replace = database.query(updateOf("tenants", COLUMNS, "name"))
  const byName = database.query<TenantColumns, [string]>("SELECT * FROM tenants WHERE name = ?1")
  const all = database.query<TenantColumns, []>("SELECT * FROM tenants ORDER BY name")
  return {
    insert: (row) => void insert.run(tenantBindings(row)),
    replace: (row) => void replace.run(tenantBindings(row)),
    find(name) {
      const columns = byName.get(name)
      return columns ? toTenantRow(columns) : undefined
    },
    list: () => all.all().map((columns) => toTenantRow(columns)),
  }
}

function tenantBindings(row: TenantRow): SqlBindings {
  return { $name: row.name, $createdAt: row.createdAt, ...grantBindings(row) }
}

function toTenantRow(columns: TenantColumns): TenantRow {
  return { name: columns.name, createdAt: Number(columns.created_at), ...grantFrom(columns) }
}
