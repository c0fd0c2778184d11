import { expect, test } from "bun:test"
import { createKeyRegistry } from "../../access/key-registry.fixture.ts"
import { Ledger } from "../../ledger/ledger.ts"
import { openSqlite } from "../../store/sqlite/open-sqlite.ts"
import { AdminService } from "./admin-service.ts"

const store = openSqlite(":memory:")
const killed = new Ledger({ table: store.ledger })
killed.recover()
for (const requestId of ["killed-1", "killed-2"])
  await killed.hold({ requestId, tenant: "acme", keyId: "k1", amountNano: 5n, at: Date.now() })
const ledger = new Ledger({ table: store.ledger })
ledger.recover()

/** Every kind of change. */
const CHANGES: readonly [string, (service: AdminService, id: string) => Promise<unknown>][] = [
  ["a key is created", ({ keys }) => keys.create({ name: "a" })],
  ["a key is created with a balance", ({ keys }) => keys.create({ name: "a", balance: "1" })],
  ["a key is changed", ({ keys }, id) => keys.update(id, { name: "b" })],
  ["a key is given a balance", ({ keys }, id) => keys.update(id, { own_balance: true })],
  ["a key is topped up", ({ keys }, id) => keys.topUp(id, { usd: "1" })],
  ["a key is rotated", ({ keys }, id) => keys.rotate(id, {})],
  ["a key is revoked", ({ keys }, id) => keys.revoke(id)],
  ["a tenant is created", ({ tenants }) => tenants.create({ name: crypto.randomUUID() })],
  ["a tenant is changed", ({ tenants }) => tenants.update("acme", { strict: true })],
  ["a tenant is topped up", ({ tenants }) => tenants.topUp("acme", { usd: "1" })],
  ["suspense is settled", ({ suspense }) => suspense.settle("killed-1", {})],
  ["suspense is returned", ({ suspense }) => suspense.return("killed-2")],
  ["all suspense is returned", ({ suspense }) => suspense.returnAll()],
]

function adminServiceWith(sync: () => Promise<void>): { service: AdminService; id: string } {
  const keys = createKeyRegistry()
  keys.tenants.create("acme")
  return { service: new AdminService({ keys, ledger, sync }), id: keys.create({ name: "first" }).key.id }
}

test.each(CHANGES)("the response that reports that %s is sent only after the change is on disk", async (_, change) => {
  const { promise, resolve } = Promise.withResolvers<void>()
  let syncs = 0
  const { service, id } = adminServiceWith(() => {
    syncs += 1
    return promise
  })
  let isAnswered = false
  const response = change(service, id).then(() => {
    isAnswered = true
  })
  for (let waited = 0; syncs === 0 && waited < 2000; waited += 1) await Bun.sleep(1)
  await Bun.sleep(5)
  expect([syncs, isAnswered]).toEqual([1, false])
  resolve()
  await response
})

test.each(CHANGES)("if %s and the disk fails, the caller gets an error", async (_, change) => {
  const { service, id } = adminServiceWith(() => Promise.reject(new Error("input/output error")))
  await expect(change(service, id)).rejects.toMatchObject({ code: "store_unavailable", status: 503 })
})
