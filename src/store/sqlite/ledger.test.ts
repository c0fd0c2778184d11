import { Database } from "bun:sqlite"
import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { EntryRow, HoldRow, LedgerProblem } from "../contract.ts"
import { StoreError } from "../contract.ts"
import { ledgerTable } from "./ledger.ts"
import { openSqlite } from "./open.ts"

let folder: string
let path: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "trivium-ledger-store-"))
  path = join(folder, "trivium.db")
})
afterEach(() => rmSync(folder, { recursive: true }))

const hold: HoldRow = {
  ...{ requestId: "r-open", accountId: 5n, tenant: "acme", keyId: "k1", amountNano: 50n, lowerBoundNano: 0n },
  ...{ day: 20_000, epoch: 1, at: 1_728_000_000_000, budgets: null },
}
const entry: EntryRow = {
  ...{ kind: "settled", requestId: "r-settled", eventId: null, tenant: "acme", keyId: "k1", day: 20_000, at: 2 },
  ...{ accountId: 5n, nano: { account: -30n, funding: 0n, revenue: 30n, suspense: 0n, writeOff: 0n } },
}

/** Books that are right: one open hold, one settled request, one top-up, one price. */
function writeBooks(): void {
  const store = openSqlite(path)
  const { accounts, holds, entries, spend, usage, prices, transaction, nextEpoch } = store.ledger
  transaction(() => {
    nextEpoch()
    const account = accounts.insert("tenant:acme", 0n)
    const topUp = { ...entry, kind: "top-up", requestId: null, eventId: "e1", tenant: null, keyId: null } as const
    entries.insert({ ...topUp, nano: { ...entry.nano, account: 100n, funding: -100n, revenue: 0n } })
    accounts.move(1n, { postedNano: -100n, heldNano: 0n })
    accounts.move(account.id, { postedNano: 100n, heldNano: 50n })
    holds.insert(hold)
    entries.insert(entry)
    accounts.move(2n, { postedNano: 30n, heldNano: 0n })
    accounts.move(account.id, { postedNano: -30n, heldNano: 0n })
    for (const holder of ["key:k1", "tenant:acme"]) spend.add(holder, { day: 20_000, spentNano: 30n, heldNano: 50n })
    const counts = { input: 1, cacheRead: 0, cacheWrite: 0, cacheWrite1h: 0, audioInput: 0, imageInput: 0, images: 0 }
    usage.add({
      ...{ day: 20_000, tenant: "acme", keyId: "k1", model: "m", provider: "p", requests: 1, paidNano: 30n, ...counts },
      ...{ output: 0, reasoning: 0, audioOutput: 0, imageOutput: 0 },
    })
    prices.insert("v1", "{}")
  })
  store.close()
}

/** What is done to the file behind the gateway's back. */
function tamper(...statements: string[]): void {
  const database = new Database(path)
  for (const statement of statements) database.run(statement)
  database.close()
}

function audited(openSince = 0): readonly LedgerProblem[] {
  const store = openSqlite(path)
  const audit = store.ledger.audit(openSince)
  while (audit.sum(1));
  while (audit.compare(1));
  audit.close()
  store.close()
  return audit.problems
}

describe("what is booked stays as it is (I14)", () => {
  test.each([
    "UPDATE entries SET revenue = 1",
    "DELETE FROM entries",
    "UPDATE prices SET pricing = '{}'",
    "DELETE FROM prices",
  ])("%s fails", (statement) => {
    writeBooks()
    expect(() => tamper(statement)).toThrow("stays")
  })

  test("an entry that does not sum to zero is not booked (I1)", () => {
    const store = openSqlite(path)
    expect(() => store.ledger.entries.insert({ ...entry, nano: { ...entry.nano, revenue: 29n } })).toThrow("CHECK")
    store.close()
  })

  test("a request and an event are booked once", () => {
    const { ledger, close } = openSqlite(path)
    ledger.entries.insert(entry)
    expect(() => ledger.entries.insert({ ...entry, kind: "released" })).toThrow("UNIQUE")
    const event = { ...entry, requestId: null, eventId: "e1" }
    ledger.entries.insert(event)
    expect(() => ledger.entries.insert(event)).toThrow("UNIQUE")
    close()
  })
})

describe("an account", () => {
  test("is never moved below its floor (I4)", () => {
    const { ledger, close } = openSqlite(path)
    const { accounts } = ledger
    const { id } = accounts.insert("key:k", -10n)
    expect(accounts.move(id, { postedNano: 0n, heldNano: 11n })).toBe(false)
    expect(accounts.move(id, { postedNano: -5n, heldNano: 5n })).toBe(true)
    expect(accounts.setFloor(id, -9n)).toBe(false)
    expect(accounts.get(id)).toEqual({ id, name: "key:k", postedNano: -5n, heldNano: 5n, floorNano: -10n })
    close()
  })

  test("keeps amounts beyond 2^53, and refuses what no integer holds", () => {
    const { ledger, close } = openSqlite(path)
    const { id } = ledger.accounts.insert("key:k", null)
    const large = 2n ** 62n + 1n
    ledger.accounts.move(id, { postedNano: large, heldNano: 0n })
    expect(() => ledger.accounts.move(id, { postedNano: large, heldNano: 0n })).toThrow()
    expect(ledger.accounts.get(id).postedNano).toBe(large)
    close()
  })
})

describe("a transaction", () => {
  test("that throws leaves nothing, and says what was thrown", () => {
    const { ledger, close } = openSqlite(path)
    const fault = new TypeError("a bug")
    const act = () =>
      ledger.transaction(() => {
        ledger.accounts.insert("key:k", null)
        throw fault
      })
    expect(act).toThrow(fault)
    expect(ledger.accounts.find("key:k")).toBeUndefined()
    close()
  })

  test("of a store that does not take it is a StoreError, and works again when the store does", () => {
    openSqlite(path).close()
    const database = new Database(path, { readwrite: true, safeIntegers: true })
    const ledger = ledgerTable(database)
    const insert = () => ledger.transaction(() => ledger.accounts.insert("key:k", null))
    database.run("PRAGMA query_only = ON")
    expect(insert).toThrow(StoreError)
    database.run("PRAGMA query_only = OFF")
    expect(insert().name).toBe("key:k")
    database.close()
  })

  test("of a full disk is a StoreError and leaves what was there", () => {
    openSqlite(path).close()
    const database = new Database(path, { readwrite: true, safeIntegers: true })
    const ledger = ledgerTable(database)
    const pages = database.query<{ page_count: bigint }, []>("PRAGMA page_count").get()?.page_count
    database.run(`PRAGMA max_page_count = ${pages}`)
    const fill = () =>
      ledger.transaction(() => {
        for (let row = 0n; row < 100n; row++) ledger.receipts.insert(row, { at: 1, facts: "x".repeat(1000) })
      })
    expect(fill).toThrow(StoreError)
    expect(ledger.receipts.find(0n)).toBeUndefined()
    database.run("PRAGMA max_page_count = 100000")
    fill()
    expect(ledger.receipts.find(99n)).toHaveLength(1000)
    database.close()
  })
})

describe("an audit", () => {
  test("finds nothing in books that are right", () => {
    writeBooks()
    expect(audited()).toEqual([])
  })

  const unguarded = "DROP TRIGGER entries_as_booked; DROP TRIGGER entries_stay; PRAGMA ignore_check_constraints = ON"
  const wrongs: [string, string, string[]][] = [
    ["I1", "an entry that does not sum to zero", [unguarded, "UPDATE entries SET revenue = 31 WHERE id = 2"]],
    ["I2", "a balance that is not the sum of its entries", ["UPDATE ledger_accounts SET posted = 71 WHERE id = 5"]],
    ["I2", "an own account that is not", ["UPDATE ledger_accounts SET posted = 31 WHERE name = 'revenue'"]],
    ["I2", "an entry on an account that is not there", ["DELETE FROM ledger_accounts WHERE id = 5"]],
    ["I3", "held without a hold", ["DELETE FROM holds"]],
    ["I3", "a key that holds without a hold", ["UPDATE spend SET held = 51 WHERE holder = 'key:k1' AND day > 0"]],
    [
      "I4",
      "an account below its floor",
      ["PRAGMA ignore_check_constraints = ON", "UPDATE ledger_accounts SET floor = 21 WHERE id = 5"],
    ],
    ["I6", "a hold of a request that has ended", ["UPDATE holds SET request = 'r-settled'"]],
    ["I6", "a hold that a start has forgotten", ["UPDATE ledger_marks SET value = 2 WHERE name = 'epoch'"]],
    ["I14", "an entry that is gone", [unguarded, "DELETE FROM entries WHERE id = 1"]],
    ["I14", "entries that could be changed", ["DROP TRIGGER entries_as_booked"]],
    [
      "I15",
      "a key's day that is not what it paid",
      ["UPDATE spend SET spent = 29 WHERE holder = 'key:k1' AND day > 0"],
    ],
    [
      "I15",
      "a tenant's sum that is not what it paid",
      ["UPDATE spend SET spent = 29 WHERE holder = 'tenant:acme' AND day < 0"],
    ],
    ["I15", "spending that is gone", ["DELETE FROM spend WHERE day > 0"]],
    ["I15", "usage that is not what was paid", ["UPDATE usage SET paid = 29"]],
    ["I15", "usage that is gone", ["DELETE FROM usage"]],
    ["I15", "usage of another tenant", ["UPDATE usage SET tenant = 'beta'"]],
  ]
  test.each(wrongs)("%s: finds %s", (invariant, _, statements) => {
    writeBooks()
    tamper(...statements)
    expect(audited().map((problem) => problem.invariant)).toContain(invariant)
  })

  test("finds a hold that is open too long (I6)", () => {
    writeBooks()
    expect(audited(hold.at)).toEqual([])
    expect(audited(hold.at + 1)).toMatchObject([{ invariant: "I6" }])
  })

  test("does not miss usage that was dropped on purpose", () => {
    writeBooks()
    const store = openSqlite(path)
    expect(store.ledger.usage.dropBefore(20_001, 10)).toBe(1)
    store.close()
    expect(audited()).toEqual([])
  })

  test("is not confused by what is booked between its steps", () => {
    writeBooks()
    const { ledger, close } = openSqlite(path)
    const audit = ledger.audit(0)
    while (audit.sum(1));
    do {
      const nano = { ...entry.nano, account: 1n, funding: -1n, revenue: 0n }
      const eventId = crypto.randomUUID()
      ledger.transaction(() => {
        ledger.entries.insert({ ...entry, kind: "top-up", requestId: null, eventId, tenant: null, keyId: null, nano })
        ledger.accounts.move(5n, { postedNano: 1n, heldNano: 0n })
        ledger.accounts.move(1n, { postedNano: -1n, heldNano: 0n })
      })
    } while (audit.compare(1))
    expect(audit.problems).toEqual([])
    audit.close()
    close()
  })

  test("tells so much and no more", () => {
    writeBooks()
    const { ledger, close } = openSqlite(path)
    for (let number = 0; number < 150; number++)
      ledger.accounts.move(ledger.accounts.insert(`key:${number}`, null).id, { postedNano: 1n, heldNano: 0n })
    close()
    expect(audited()).toHaveLength(100)
  })
})
