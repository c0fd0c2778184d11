import { Database } from "bun:sqlite"
import { expect, test } from "bun:test"
import type { TenantRow } from "../contract.ts"
import { keyTable } from "./key-table.ts"
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

function openMigrated(count = migrations.length): Database {
  const database = new Database(":memory:", { safeIntegers: true })
  for (const migration of migrations.slice(0, count)) database.run(migration)
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

test("a key from before keys had limits has none", () => {
  const database = openMigrated(3)
  database.run("INSERT INTO keys VALUES ('key_1', 'a', 'default', 'h', '…1', NULL, 1, NULL, NULL, NULL, NULL, 1)")
  for (const migration of migrations.slice(3)) database.run(migration)
  expect(keyTable(database).findById("key_1")).toMatchObject({
    strict: true,
    addresses: null,
    protocols: null,
    requestsPerMinute: null,
    keepAnswers: false,
    ownBalance: false,
    budgets: {},
  })
})
