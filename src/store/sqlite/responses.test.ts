import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { Store } from "../contract.ts"
import { openSqlite } from "./open.ts"

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

/** Responses of ten bytes, named by one letter each: small ones are acme's, capitals globex's. */
const tenantOf = (name: string) => (/[A-Z]/.test(name) ? "globex" : "acme")

function insert(names: string, { at = 1, bytes = 10 } = {}): void {
  for (const id of names) {
    store.responses.insert({ tenant: tenantOf(id), id, at, sealed: new Uint8Array(bytes).fill(0xfe) })
  }
}

const left = (names: string) => [...names].filter((name) => store.responses.find(tenantOf(name), name)).join("")

describe("a response", () => {
  test("is there after the store was closed, byte for byte", () => {
    insert("a", { at: 2 ** 52, bytes: 1_000_000 })
    store.close()
    store = openSqlite(join(folder, "trivium.db"))
    const sealed = new Uint8Array(1_000_000).fill(0xfe)
    expect(store.responses.find("acme", "a")).toEqual({ tenant: "acme", id: "a", at: 2 ** 52, sealed })
  })

  test("is its tenant's: two may have one of the same id", () => {
    insert("a")
    expect(store.responses.find("globex", "a")).toBeUndefined()
    expect(store.responses.remove("globex", "a")).toBe(false)
    store.responses.insert({ tenant: "globex", id: "a", at: 1, sealed: new Uint8Array(1) })
    expect(store.responses.remove("acme", "a")).toBe(true)
    expect(store.responses.remove("acme", "a")).toBe(false)
    expect(store.responses.find("globex", "a")?.sealed).toHaveLength(1)
  })

  test("is undone with the transaction it is written in, and counts for nothing", () => {
    insert("a")
    const fail = () =>
      store.ledger.transaction(() => {
        insert("bcd")
        throw new Error("no")
      })
    expect(fail).toThrow("no")
    store.responses.keepWithin({ rows: 1, bytes: 10 }, "acme")
    store.responses.keepWithin({ rows: 1, bytes: 10 })
    expect(left("abcd")).toBe("a")
  })
})

test("what is from before a time goes, of the oldest only", () => {
  insert("abc", { at: 1 })
  insert("d", { at: 9 })
  insert("e", { at: 1 })
  expect(store.responses.dropBefore(1, 9)).toBe(0)
  expect(store.responses.dropBefore(5, 2)).toBe(2)
  expect(left("abcde")).toBe("cde")
  expect(store.responses.dropBefore(5, 9)).toBe(2)
  expect(left("abcde")).toBe("d")
})

describe("there are never more", () => {
  test("of one tenant than its bounds: its oldest go, and nobody else's", () => {
    insert("aAbBcC")
    store.responses.keepWithin({ rows: 2, bytes: 1000 }, "acme")
    expect(left("abcABC")).toBe("bcABC")
    store.responses.keepWithin({ rows: 9, bytes: 19 }, "globex")
    expect(left("abcABC")).toBe("bcC")
  })

  test("of all than theirs: the oldest go, whoever's they are", () => {
    insert("aAbBcC")
    store.responses.keepWithin({ rows: 4, bytes: 1000 })
    expect(left("abcABC")).toBe("bcBC")
    store.responses.keepWithin({ rows: 9, bytes: 30 })
    expect(left("abcABC")).toBe("cBC")
  })

  test("also after some were deleted, and after all were gone", () => {
    insert("aAb")
    store.responses.remove("acme", "a")
    insert("c", { bytes: 20 })
    store.responses.keepWithin({ rows: 2, bytes: 30 }, "acme")
    store.responses.keepWithin({ rows: 3, bytes: 40 })
    expect(left("Abc")).toBe("Abc")
    store.responses.keepWithin({ rows: 0, bytes: 0 })
    insert("d")
    store.responses.keepWithin({ rows: 1, bytes: 10 })
    expect(left("Abcd")).toBe("d")
  })
})
