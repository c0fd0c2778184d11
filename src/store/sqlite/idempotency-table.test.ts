import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { IdempotencyBounds, IdempotencyRow, SealedResponse, Store } from "../contract.ts"
import { openSqlite } from "./open-sqlite.ts"

let folder: string
let store: Store
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "trivium-repeats-"))
  store = openSqlite(join(folder, "trivium.db"))
})
afterEach(() => {
  store.close()
  rmSync(folder, { recursive: true })
})

/** Names that start in the second half of the alphabet belong to another tenant. */
const tenantOf = (name: string) => (/[n-z]/i.test(name) ? "globex" : "acme")

const row = (name: string, at = 1): IdempotencyRow => ({
  tenant: tenantOf(name),
  hash: name,
  bodyHash: `body of ${name}`,
  requestId: `r-${name}`,
  at,
})
const answer = (bytes: number): SealedResponse => ({
  ...{ status: 201, contentType: "text/event-stream; charset=utf-8", sealed: new Uint8Array(bytes).fill(0xfe) },
})
const rowsOf = (names: string) => [...names].filter((name) => store.idempotency.find(name)).join("")
const answersOf = (names: string) => [...names].filter((name) => store.idempotency.findAnswer(name)).join("")

/** Rows named by one letter each, with a response of ten bytes for capitals. */
function insert(names: string, at = 1): void {
  for (const name of names) store.idempotency.insert(row(name, at), /[A-Z]/.test(name) ? answer(10) : undefined)
}

const MANY = { rows: 1000, answerBytes: 100_000 }
const keepWithin = (bounds: IdempotencyBounds) =>
  store.idempotency.keepWithin({ ofTenant: bounds, ofAll: MANY }, "acme")
const keepAllWithin = (ofAll: IdempotencyBounds) => store.idempotency.keepWithin({ ofTenant: MANY, ofAll }, "acme")

describe("a stored answer", () => {
  test("a stored answer survives the closing of the store, byte for byte", () => {
    store.idempotency.insert(row("a", 2 ** 52), answer(1_000_000))
    store.idempotency.insert(row("b"))
    store.close()
    store = openSqlite(join(folder, "trivium.db"))
    expect(store.idempotency.find("a")).toEqual(row("a", 2 ** 52))
    expect(store.idempotency.findAnswer("a")).toEqual(answer(1_000_000))
    expect(store.idempotency.find("b")).toEqual(row("b"))
    expect(store.idempotency.findAnswer("b")).toBeUndefined()
    expect(store.idempotency.find("c")).toBeUndefined()
  })

  test("a new answer under the same hash replaces the old one", () => {
    insert("A")
    store.idempotency.insert({ ...row("A", 9), requestId: "second" })
    expect(store.idempotency.find("A")).toEqual({ ...row("A", 9), requestId: "second" })
    expect(store.idempotency.findAnswer("A")).toBeUndefined()
  })

  test("a stored answer is rolled back with its transaction", () => {
    insert("A")
    const work = () => {
      insert("AB", 5)
      keepWithin({ rows: 1, answerBytes: 0 })
      throw new Error("not settled")
    }
    expect(() => store.ledger.transaction(work)).toThrow("not settled")
    expect([rowsOf("AB"), answersOf("AB"), store.idempotency.find("A")?.at]).toEqual(["A", "A", 1])
  })
})

describe("rows from before a time", () => {
  test("only the oldest rows from before a time are dropped, with their answers", () => {
    insert("aBc", 1)
    insert("D", 3)
    expect(store.idempotency.dropBefore(3, 2)).toBe(2)
    expect([rowsOf("aBcD"), answersOf("aBcD")]).toEqual(["cD", "D"])
    expect(store.idempotency.dropBefore(3, 8)).toBe(1)
    expect(store.idempotency.dropBefore(3, 8)).toBe(0)
    expect(rowsOf("aBcD")).toBe("D")
  })

  test("an old row waits behind a younger one that was inserted first, after a clock was set back", () => {
    insert("a", 100)
    insert("b", 1)
    expect(store.idempotency.dropBefore(50, 8)).toBe(0)
    expect(store.idempotency.dropBefore(101, 8)).toBe(2)
    expect(rowsOf("ab")).toBe("")
  })
})

describe("the bounds of stored answers", () => {
  const none = { rows: 100, answerBytes: 1000 }

  test("at the bound of rows the oldest are dropped, with their answers", () => {
    insert("ABcDe")
    keepWithin(none)
    expect(rowsOf("ABcDe")).toBe("ABcDe")
    keepWithin({ ...none, rows: 3 })
    expect([rowsOf("ABcDe"), answersOf("ABcDe")]).toEqual(["cDe", "D"])
  })

  test("at the bound of bytes the oldest answers are dropped, and their rows stay", () => {
    insert("AbCDe")
    for (const [answerBytes, left] of [
      [30, "ACD"],
      [29, "CD"],
      [20, "CD"],
      [19, "D"],
      [9, ""],
    ] as const) {
      keepWithin({ ...none, answerBytes })
      expect(answersOf("AbCDe")).toBe(left)
    }
    expect(rowsOf("AbCDe")).toBe("AbCDe")
  })

  test("the bounds hold after all entries were deleted", () => {
    insert("ab")
    store.idempotency.dropBefore(2, 8)
    insert("CDE")
    keepWithin({ rows: 2, answerBytes: 10 })
    expect([rowsOf("abCDE"), answersOf("CDE")]).toEqual(["DE", "E"])
  })
})

describe("stored answers of two tenants", () => {
  test("each tenant's oldest entries are deleted at its own bound, and no other tenant's", () => {
    insert("NABCO")
    keepWithin({ rows: 2, answerBytes: 1000 })
    expect(rowsOf("NABCO")).toBe("NBCO")
    keepWithin({ rows: 100, answerBytes: 10 })
    expect([rowsOf("NABCO"), answersOf("NABCO")]).toEqual(["NBCO", "NCO"])
  })

  test("at the total bound the tenant with more entries loses its oldest, in any order of arrival", () => {
    insert("NOABCDE")
    keepAllWithin({ rows: 5, answerBytes: 1000 })
    expect(rowsOf("NOABCDE")).toBe("NOCDE")
    keepAllWithin({ rows: 100, answerBytes: 40 })
    expect([rowsOf("NOABCDE"), answersOf("NOABCDE")]).toEqual(["NOCDE", "NODE"])
    insert("PQRS")
    keepAllWithin({ rows: 6, answerBytes: 1000 })
    expect(rowsOf("NOABCDEPQRS")).toBe("CDEQRS")
  })

  test("the totals survive a restart, dropped rows and dropped answers", () => {
    insert("NABC")
    store.idempotency.dropBefore(0, 8)
    insert("B")
    store.idempotency.insert(row("C"))
    store.close()
    store = openSqlite(join(folder, "trivium.db"))
    keepAllWithin({ rows: 4, answerBytes: 30 })
    expect([rowsOf("NABC"), answersOf("NABC")]).toEqual(["NABC", "NAB"])
    keepAllWithin({ rows: 3, answerBytes: 20 })
    expect([rowsOf("NABC"), answersOf("NABC")]).toEqual(["NBC", "NB"])
    keepAllWithin({ rows: 0, answerBytes: 0 })
    insert("a")
    keepAllWithin({ rows: 1, answerBytes: 0 })
    expect(rowsOf("NABCa")).toBe("a")
  })
})
