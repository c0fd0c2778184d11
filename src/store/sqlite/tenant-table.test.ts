import { Database } from "bun:sqlite"
import { expect, test } from "bun:test"
import type { TenantRow } from "../contract.ts"
import { migrations } from "./migrations.ts"
import { tenantTable } from "./tenant-table.ts"

const row: TenantRow = {
  name: "acme",
  createdAt: 1,
  models: ["a/*"],
  protocols: null,
  requestsPerMinute: 600,
  tokensPerMinute: 1_000_000_000,
  concurrentRequests: null,
  strict: true,
  budgets: { week: 2n ** 62n, month: 0n },
}

function openMigrated(): Database {
  const database = new Database(":memory:", { safeIntegers: true })
  for (const migration of migrations) database.run(migration)
  return database
}

test("a tenant is read as it was written, and as it was changed", () => {
  const tenants = tenantTable(openMigrated())
  tenants.insert(row)
  tenants.insert({ ...row, name: "Acme" })
  expect(tenants.find("acme")).toEqual(row)
  expect(tenants.find("other")).toBeUndefined()
  const changed: TenantRow = { ...row, models: null, strict: false, requestsPerMinute: null, budgets: { day: 5n } }
  tenants.replace(changed)
  expect(tenants.list()).toEqual([{ ...row, name: "Acme" }, changed])
})
