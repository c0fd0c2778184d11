import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { ResponseBounds, Store } from "../contract.ts"
import { openSqlite } from "./open-sqlite.ts"

let folder: string
let store: Store
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "trivium-responses-"))
  store = openSqlite(join(folder, "trivium.db"))
})
afterEach(() => {
  store.close()
  rmSync(folder, { recursive: true })
})

/** Responses of ten bytes, named by one letter each: lower case is acme's, upper case globex's. */
const tenantOf = (name: string) => (/[A-Z]/.test(name) ? "globex" : "acme")

function insert(names: string, { at = 1, bytes = 10 } = {}): void {
  for (const id of names) {
    store.responses.insert({ tenant: tenantOf(id), id, at, sealed: new Uint8Array(bytes).fill(0xfe) }, [
      `item ${id}`,
      "latest",
    ])
  }
}

const MANY = { rows: 1000, bytes: 100_000 }
const keepWithin = (ofTenant: ResponseBounds, tenant: string) =>
  store.responses.keepWithin({ ofTenant, ofAll: MANY }, tenant)
/** By default the newest response belongs to neither tenant. */
const keepAllWithin = (ofAll: ResponseBounds, tenant = "") =>
  store.responses.keepWithin({ ofTenant: MANY, ofAll }, tenant)

const left = (names: string) => [...names].filter((name) => store.responses.find(tenantOf(name), name)).join("")

describe("a stored response", () => {
  test("a stored response survives the closing of the store, byte for byte", () => {
    insert("a", { at: 2 ** 52, bytes: 1_000_000 })
    store.close()
    store = openSqlite(join(folder, "trivium.db"))
    const sealed = new Uint8Array(1_000_000).fill(0xfe)
    expect(store.responses.find("acme", "a")).toEqual({ tenant: "acme", id: "a", at: 2 ** 52, sealed })
  })

  test("a stored response belongs to its tenant: two tenants may use the same id", () => {
    insert("a")
    expect(store.responses.find("globex", "a")).toBeUndefined()
    expect(store.responses.remove("globex", "a")).toBe(false)
    store.responses.insert({ tenant: "globex", id: "a", at: 1, sealed: new Uint8Array(1) }, [])
    expect(store.responses.remove("acme", "a")).toBe(true)
    expect(store.responses.remove("acme", "a")).toBe(false)
    expect(store.responses.find("globex", "a")?.sealed).toHaveLength(1)
  })

  test("a stored response is found by the ids of its items, the newest one if several share an id", () => {
    insert("abA")
    const byItem = (tenant: string, item: string) => store.responses.findByItem(tenant, item)?.id
    expect([byItem("acme", "item a"), byItem("acme", "latest"), byItem("globex", "latest")]).toEqual(["a", "b", "A"])
    expect(byItem("globex", "item a")).toBeUndefined()
    store.responses.remove("acme", "b")
    expect([byItem("acme", "latest"), byItem("acme", "item a")]).toEqual([undefined, "a"])
    keepWithin({ rows: 0, bytes: 0 }, "acme")
    expect(byItem("acme", "item a")).toBeUndefined()
  })

  test("a stored response is rolled back with its transaction, and does not count", () => {
    insert("a")
    const fail = () =>
      store.ledger.transaction(() => {
        insert("bcd")
        throw new Error("no")
      })
    expect(fail).toThrow("no")
    keepWithin({ rows: 1, bytes: 10 }, "acme")
    keepAllWithin({ rows: 1, bytes: 10 })
    expect(left("abcd")).toBe("a")
  })
})

test("only the oldest responses from before a time are dropped", () => {
  insert("abc", { at: 1 })
  insert("d", { at: 9 })
  insert("e", { at: 1 })
  expect(store.responses.dropBefore(1, 9)).toBe(0)
  expect(store.responses.dropBefore(5, 2)).toBe(2)
  expect(left("abcde")).toBe("cde")
  expect(store.responses.dropBefore(5, 9)).toBe(2)
  expect(left("abcde")).toBe("d")
})

describe("the bounds of stored responses", () => {
  test("a tenant beyond its bound loses its oldest responses, and no other tenant does", () => {
    insert("aAbBcC")
    keepWithin({ rows: 2, bytes: 1000 }, "acme")
    expect(left("abcABC")).toBe("bcABC")
    keepWithin({ rows: 9, bytes: 19 }, "globex")
    expect(left("abcABC")).toBe("bcC")
  })

  test("at the total bound the tenant with the most responses loses its oldest", () => {
    insert("aABCDb")
    keepAllWithin({ rows: 4, bytes: 1000 })
    expect(left("abABCD")).toBe("abCD")
    keepAllWithin({ rows: 9, bytes: 30 })
    expect(left("abABCD")).toBe("abD")
    insert("EF", { bytes: 1 })
    insert("c", { bytes: 30 })
    keepAllWithin({ rows: 9, bytes: 45 })
    expect(left("abcABCDEF")).toBe("cDEF")
    keepAllWithin({ rows: 3, bytes: 45 })
    expect(left("abcABCDEF")).toBe("cEF")
  })

  test("at the total bound the newest response stays, even if its tenant has no other", () => {
    insert("abc")
    insert("A", { bytes: 50 })
    keepAllWithin({ rows: 9, bytes: 60 }, "globex")
    expect(left("abcA")).toBe("cA")
    insert("B", { bytes: 50 })
    keepAllWithin({ rows: 9, bytes: 60 }, "globex")
    expect(left("abcAB")).toBe("cB")
    keepAllWithin({ rows: 9, bytes: 40 }, "globex")
    expect(left("abcAB")).toBe("")
  })

  test("after a restart the total bound spares a tenant with few responses", () => {
    insert("A")
    for (const id of "abcdefghij") {
      insert(id)
      store.close()
      store = openSqlite(join(folder, "trivium.db"))
      keepAllWithin({ rows: 3, bytes: 1000 })
    }
    expect(left("Aabcdefghij")).toBe("Aij")
  })

  test("the bounds hold after some or all responses were deleted", () => {
    insert("aAb")
    store.responses.remove("acme", "a")
    insert("c", { bytes: 20 })
    keepWithin({ rows: 2, bytes: 30 }, "acme")
    keepAllWithin({ rows: 3, bytes: 40 })
    expect(left("Abc")).toBe("Abc")
    keepAllWithin({ rows: 0, bytes: 0 })
    insert("d")
    keepAllWithin({ rows: 1, bytes: 10 })
    expect(left("Abcd")).toBe("d")
  })
})
