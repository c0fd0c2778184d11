import type { Database } from "bun:sqlite"
import type { TenantRow, TenantTable } from "../contract.ts"
import {
  type Bindings,
  GRANT_COLUMNS,
  type GrantColumns,
  grantBindings,
  grantFrom,
  insertInto,
  updateOf,
} from "./grants.ts"

interface Columns extends GrantColumns {
  readonly name: string
  readonly created_at: bigint
}

const COLUMNS = { name: "$name", created_at: "$createdAt", ...GRANT_COLUMNS }

export function tenantTable(database: Database): TenantTable {
  const insert = database.query(insertInto("tenants", COLUMNS))
  const replace = database.query(updateOf("tenants", COLUMNS, "name"))
  const byName = database.query<Columns, [string]>("SELECT * FROM tenants WHERE name = ?1")
  const all = database.query<Columns, []>("SELECT * FROM tenants ORDER BY name")
  return {
    insert: (row) => void insert.run(bindings(row)),
    replace: (row) => void replace.run(bindings(row)),
    find(name) {
      const columns = byName.get(name)
      return columns ? fromColumns(columns) : undefined
    },
    list: () => all.all().map((columns) => fromColumns(columns)),
  }
}

function bindings(row: TenantRow): Bindings {
  return { $name: row.name, $createdAt: row.createdAt, ...grantBindings(row) }
}

function fromColumns(columns: Columns): TenantRow {
  return { name: columns.name, createdAt: Number(columns.created_at), ...grantFrom(columns) }
}
