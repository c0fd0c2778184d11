import { Database } from "bun:sqlite"
import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { EntryRow, HoldRow, LedgerProblem } from "../../contract.ts"
import { StoreError } from "../../contract.ts"
import { openSqlite } from "../open-sqlite.ts"
import { ledgerTable } from "./ledger-table.ts"

let folder: string
let path: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "trivium-ledger-store-"))
  path = join(folder, "trivium.db")
})
afterEach(() => rmSync(folder, { recursive: true }))

const AT = 20_000 * 86_400_000
const hold: HoldRow = {
  ...{ requestId: "r1", accountId: 5, tenant: "acme", keyId: "k1", amountNano: 50n, lowerBoundNano: 0n },
  ...{ day: 20_000, epoch: 1, at: AT, budgets: [] },
}
const use = { model: "m", provider: "p", counts: { input: 1 }, priceVersion: null }
const settled: EntryRow = {
  ...{ kind: "settled", requestId: "r2", eventId: null, tenant: "acme", keyId: "k1", day: 20_000, at: AT },
  ...{ accountId: 5, nano: { account: -30n, funding: 0n, revenue: 30n, suspense: 0n, writeOff: 0n, debt: 0n }, use },
  ...{ heldNano: 50n, protocol: "openai" },
}
const NOTHING = { account: 0n, funding: 0n, revenue: 0n, suspense: 0n, writeOff: 0n, debt: 0n }
const cheap: EntryRow = { ...settled, nano: { ...settled.nano, account: -10n, revenue: 10n } }
const topUp: EntryRow = {
  ...{ ...settled, kind: "top-up", requestId: null, eventId: "e1", tenant: null, keyId: null, use: null },
  ...{ heldNano: null, protocol: null },
  nano: { ...settled.nano, account: 100n, funding: -100n, revenue: 0n },
}

/** A sound ledger: one open hold, one settled request, one top-up, one price; flushed. */
function writeLedger(): void {
  const store = openSqlite(path)
  const { accounts, holds, entries, prices, transaction, nextEpoch, beginFlush, flush } = store.ledger
  transaction(() => {
    nextEpoch()
    accounts.insert("tenant:acme", 0n)
    entries.insert(topUp, null)
    prices.insert("v1", "{}")
  })
  transaction(() => {
    holds.insert(hold)
    entries.insert(settled, "{}")
  })
  beginFlush()
  while (flush(0));
  store.close()
}

/** Adds a request with a debt of 5, and two recovered ones, of which one had its suspense returned. */
function writeDebtAndSuspense(): void {
  const store = openSqlite(path)
  const { entries, transaction } = store.ledger
  transaction(() => {
    const owing = { account: 0n, funding: 0n, revenue: 5n, suspense: 0n, writeOff: 0n, debt: -5n }
    entries.insert({ ...settled, requestId: "r3", nano: owing }, null)
    const recovered = { ...NOTHING, account: -2n, suspense: 2n }
    entries.insert({ ...settled, kind: "recovered", requestId: "r4", nano: recovered }, null)
    entries.insert({ ...settled, kind: "recovered", requestId: "r5", nano: recovered }, null)
  })
  const returned = { ...NOTHING, account: 2n, suspense: -2n }
  const ending: EntryRow = { ...settled, kind: "suspense-returned", requestId: null, eventId: "r4", nano: returned }
  transaction(() => entries.insert(ending, null))
  store.close()
}

/** Changes the file without the gateway. */
function tamper(...statements: string[]): void {
  const database = new Database(path)
  for (const statement of statements) database.run(statement)
  database.close()
}

function runAudit(openSince = 0): readonly LedgerProblem[] {
  // The marker may have detected it already.
  const store = openSqlite(path, { onLoss: () => {} })
  const audit = store.ledger.audit(openSince)
  while (audit.sum(1));
  while (audit.compare(1));
  audit.close()
  store.close()
  return audit.problems
}

describe("booked entries cannot be changed (I14)", () => {
  test.each([
    "UPDATE journal SET entries = '[]'",
    "DELETE FROM journal",
    "UPDATE journal SET at = 1",
    "UPDATE journal SET facts = '{}'",
    "UPDATE ended_requests SET lines = ''",
    "DELETE FROM ended_requests",
    "UPDATE prices SET pricing = '{}'",
    "DELETE FROM suspended",
    "UPDATE suspended SET entry = 1",
    "DELETE FROM prices",
  ])("%s fails in the store itself", (statement) => {
    writeLedger()
    writeDebtAndSuspense()
    expect(() => tamper(statement)).toThrow(/stays|ended once/)
  })

  test("an entry that does not sum to zero is not booked (I1)", () => {
    writeLedger()
    const { ledger, close } = openSqlite(path)
    const wrong = { ...cheap, requestId: "r3", nano: { ...cheap.nano, revenue: 9n } }
    expect(() => ledger.transaction(() => ledger.entries.insert(wrong, null))).toThrow("CHECK")
    expect(ledger.entries.ofRequest("r3")).toBeUndefined()
    close()
  })

  test("a request and an event are booked once (I5, I13)", () => {
    writeLedger()
    const { ledger, close } = openSqlite(path)
    const { entries, transaction } = ledger
    expect(() => transaction(() => entries.insert({ ...cheap, kind: "released" }, null))).toThrow("ended twice")
    expect(() => transaction(() => entries.insert(topUp, null))).toThrow("UNIQUE")
    const twice = { ...settled, requestId: "r3" }
    const both = () => [twice, twice].map((each) => entries.insert(each, null))
    expect(() => transaction(both)).toThrow("ended twice")
    expect([entries.ofRequest("r2")?.kind, entries.ofEvent("e1")?.kind]).toEqual(["settled", "top-up"])
    close()
  })

  test("suspense is ended once", () => {
    writeLedger()
    writeDebtAndSuspense()
    const { ledger, close } = openSqlite(path)
    const { entries, suspense, transaction } = ledger
    const nano = { ...NOTHING, account: 2n, suspense: -2n }
    const ending = (eventId: string): EntryRow => ({
      ...settled,
      kind: "suspense-returned",
      requestId: null,
      eventId,
      nano,
    })
    expect(() => transaction(() => entries.insert(ending("r4"), null))).toThrow("ended twice")
    const twice = () => [ending("r5"), ending("r5")].map((each) => entries.insert(each, null))
    expect(() => transaction(twice)).toThrow("ended twice")
    expect(suspense.page(0n, 9)).toEqual([{ requestId: "r5", entry: 5n, at: AT, endedBy: null }])
    transaction(() => {
      entries.insert(ending("r5"), null)
      expect(suspense.find("r5")?.endedBy).toBe(7n)
    })
    expect([suspense.find("r5")?.endedBy, suspense.countOpen()]).toEqual([7n, 0])
    close()
  })

  test("an entry is read as it was booked, even before it is durable", () => {
    writeLedger()
    const { ledger, close } = openSqlite(path)
    const large = 2n ** 62n
    const nano = { account: -large, funding: 0n, revenue: large + 2n, suspense: 0n, writeOff: -2n, debt: 0n }
    const counts = { input: 1, output: 0, images: 2 }
    const other = { ...settled, requestId: "r\n3", nano, use: { ...use, counts, priceVersion: "v1" } }
    ledger.transaction(() => {
      ledger.entries.insert(other, null)
      ledger.accounts.setFloor(5, null)
      expect(ledger.entries.ofRequest("r\n3")).toEqual({ ...other, id: 3n })
    })
    expect(ledger.entries.ofRequest("r\n3")).toEqual({ ...other, id: 3n })
    expect(ledger.entries.ofEvent("e1")).toEqual({ ...topUp, id: 1n })
    close()
  })
})

describe("an account", () => {
  test("an account is never left below its floor (I4)", () => {
    writeLedger()
    const { ledger, close } = openSqlite(path)
    const { accounts, holds, entries, transaction } = ledger
    const wish = { ...hold, requestId: "r3", amountNano: 21n }
    expect(() => transaction(() => holds.insert(wish))).toThrow("below its floor")
    expect(() => transaction(() => holds.grow("r1", 21n))).toThrow("below its floor")
    expect(() => transaction(() => accounts.setFloor(5, 21n))).toThrow("below its floor")
    const dear = { ...settled, requestId: "r3", nano: { ...settled.nano, account: -21n, revenue: 21n } }
    expect(() => transaction(() => entries.insert(dear, null))).toThrow("below its floor")
    const expected = { id: 5, name: "tenant:acme", postedNano: 70n, heldNano: 50n, floorNano: 0n }
    expect(accounts.get(5)).toMatchObject(expected)
    transaction(() => accounts.setFloor(5, 20n))
    expect(accounts.find("tenant:acme")).toMatchObject({ ...expected, floorNano: 20n })
    close()
  })

  test("the paying account is the key's own if it is limited, else its tenant's", () => {
    writeLedger()
    const { ledger, close } = openSqlite(path)
    const { accounts, transaction } = ledger
    expect(accounts.payer("k1", "acme")?.name).toBe("tenant:acme")
    expect(accounts.payer("k1", "beta")).toBeUndefined()
    const { id } = transaction(() => accounts.insert("key:k1", 0n))
    expect(accounts.payer("k1", "acme")?.name).toBe("key:k1")
    transaction(() => accounts.setFloor(id, null))
    expect(accounts.payer("k1", "acme")?.name).toBe("tenant:acme")
    close()
  })

  test("an account whose sum exceeds an integer is not booked on", () => {
    writeLedger()
    const { ledger, close } = openSqlite(path)
    const nano = { ...settled.nano, account: 2n ** 63n, funding: -(2n ** 63n), revenue: 0n }
    expect(() => ledger.transaction(() => ledger.entries.insert({ ...topUp, eventId: "e2", nano }, null))).toThrow()
    expect(ledger.accounts.get(5).postedNano).toBe(70n)
    close()
  })
})

test("the store file lists accounts, entries, receipts and open holds row by row", () => {
  writeLedger()
  const { ledger, close } = openSqlite(path)
  const written = { ...settled.nano, account: -10n, revenue: 12n, writeOff: -2n, debt: 0n }
  ledger.transaction(() => {
    ledger.holds.grow("r1", 5n)
    ledger.entries.insert({ ...settled, requestId: "r4", nano: written }, null)
    ledger.entries.insert({ ...cheap, requestId: "r5", use: null, nano: NOTHING }, '{"held":"0.1"}')
  })
  close()
  const database = new Database(path)
  const all = (question: string) => database.query(question).values()
  expect(all("SELECT name, posted, floor FROM ledger_accounts WHERE id IN (2, 5) ORDER BY id")).toEqual([
    ["revenue", 30, null],
    ["tenant:acme", 70, 0],
  ])
  const amounts = "amount, funding, revenue, suspense, write_off"
  expect(all(`SELECT id, kind, request, event, tenant, key, day, at, account, ${amounts} FROM entries`)).toEqual([
    [1, "top-up", null, "e1", null, null, 20_000, AT, 5, 100, -100, 0, 0, 0],
    [2, "settled", "r2", null, "acme", "k1", 20_000, AT, 5, -30, 0, 30, 0, 0],
    [3, "settled", "r4", null, "acme", "k1", 20_000, AT, 5, -10, 0, 12, 0, -2],
    [4, "settled", "r5", null, "acme", "k1", 20_000, AT, 5, 0, 0, 0, 0, 0],
  ])
  expect(all("SELECT entry, facts FROM receipts")).toEqual([
    [2, "{}"],
    [4, '{"held":"0.1"}'],
  ])
  expect(all("SELECT request, account, tenant, key, amount, lower_bound, epoch, at FROM holds")).toEqual([
    ["r1", 5, "acme", "k1", 55, 0, 1, AT],
  ])
  database.close()
})

describe("a transaction", () => {
  test("a transaction that throws leaves nothing, and rethrows the error", () => {
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

  test("a transaction that the store refuses is a StoreError, and succeeds when the store works again", () => {
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

  test("a transaction on a full disk is a StoreError and changes nothing", () => {
    openSqlite(path).close()
    const database = new Database(path, { readwrite: true, safeIntegers: true })
    const ledger = ledgerTable(database)
    const pages = database.query<{ page_count: bigint }, []>("PRAGMA page_count").get()?.page_count
    database.run(`PRAGMA max_page_count = ${pages}`)
    const fill = () =>
      ledger.transaction(() => {
        const accountId = ledger.accounts.insert("tenant:acme", null).id
        for (let row = 0; row < 100; row++)
          ledger.entries.insert(
            { ...settled, accountId, requestId: `r${row}` },
            JSON.stringify({ x: "x".repeat(1000) }),
          )
      })
    expect(fill).toThrow(StoreError)
    expect([ledger.receipts.find(1n), ledger.accounts.find("tenant:acme")]).toEqual([undefined, undefined])
    database.run("PRAGMA max_page_count = 100000")
    fill()
    expect(ledger.receipts.find(100n)).toContain("x".repeat(1000))
    database.close()
  })
})

describe("an audit", () => {
  test("an audit finds nothing in a sound ledger", () => {
    writeLedger()
    expect(runAudit()).toEqual([])
  })

  const unguarded = [
    ...["journal_as_booked", "journal_stays", "ended_as_booked", "ended_stay"].map((name) => `DROP TRIGGER ${name}`),
    "PRAGMA ignore_check_constraints = ON",
  ].join("; ")
  const booked = (from: string, to: string) => `UPDATE journal SET entries = replace(entries, '${from}', '${to}')`
  const twice =
    "INSERT INTO journal SELECT 3, at, amount, funding, revenue, suspense, write_off, entries, NULL FROM journal WHERE first = 2"
  const wrongs: [string, string, string[]][] = [
    [
      "I1",
      "an entry that does not sum to zero",
      [unguarded, booked(",100,", ",[100,-99,0,0,0],"), booked("[100,-100", "[100,-99")],
    ],
    ["I2", "a balance that is not the sum of its entries", ["UPDATE account_rows SET posted = 71 WHERE id = 5"]],
    ["I2", "an own account that is not", ["UPDATE account_rows SET posted = 31 WHERE name = 'revenue'"]],
    ["I2", "an entry on an account that is not there", ["DELETE FROM account_rows WHERE id = 2"]],
    ["I4", "an account below its floor", ["UPDATE account_rows SET floor = 21 WHERE id = 5"]],
    [
      "I5",
      "a request that is not known to have ended",
      [unguarded, "UPDATE ended_requests SET lines = replace(lines, char(9) || 2, char(9) || 1)"],
    ],
    ["I5", "requests that are not known any more", [unguarded, "DELETE FROM ended_requests"]],
    ["I5", "a request that has ended twice", [unguarded, twice]],
    ["I6", "a hold that a start has forgotten", ["UPDATE ledger_marks SET value = 2 WHERE name = 'epoch'"]],
    ["I14", "entries that are gone", [unguarded, "DELETE FROM journal WHERE first = 1"]],
    ["I14", "an entry that is not as it was booked", [unguarded, booked(",30,", ",31,")]],
    ["I14", "entries that could be changed", ["DROP TRIGGER journal_as_booked"]],
    ["I15", "a key's day that is not what it paid", ["UPDATE spend SET lines = replace(lines, '30', '29')"]],
    ["I15", "spending that is gone", ["DELETE FROM spend"]],
    ["I15", "spending of another", ["UPDATE spend SET lines = replace(lines, 'k1', 'k2'), first = 'key:k2'"]],
    ["I15", "usage that is not what was paid", ["UPDATE usage SET lines = replace(lines, '1,30', '1,29')"]],
    ["I15", "usage that is gone", ["DELETE FROM usage"]],
    ["I15", "usage of another tenant", ["UPDATE usage SET lines = replace(lines, 'acme', 'beta'), first = 'beta'"]],
    [
      "I15",
      "usage that was never booked",
      ["UPDATE usage SET lines = lines || char(10) || 'beta\tk\tm\tp\t,,,,,,,,,,,1,0'"],
    ],
  ]
  test.each(wrongs)("%s: the audit finds %s", (invariant, _, statements) => {
    writeLedger()
    tamper(...statements)
    expect(runAudit().map((problem) => problem.invariant)).toContain(invariant)
  })

  const unguardedSuspense = "DROP TRIGGER suspended_stay; DROP TRIGGER suspended_end_once"
  const otherWrongs: [string, string, string[]][] = [
    ["I10", "a debt that differs from its entries", ["UPDATE account_rows SET owed = 4 WHERE id = 5"]],
    ["I10", "a debt without an entry", ["UPDATE account_rows SET owed = 1 WHERE id = 2"]],
    ["I10", "a debt by a recovery", [unguarded, booked("settled", "recovered")]],
    ["I5", "suspense that is not listed", [unguardedSuspense, "DELETE FROM suspended WHERE request = 'r5'"]],
    ["I5", "suspense that was never booked", ["INSERT INTO suspended VALUES ('r9', 9, 1, NULL)"]],
    ["I5", "suspense that is open again", [unguardedSuspense, "UPDATE suspended SET ended_by = NULL"]],
    ["I5", "suspense that no entry has ended", [unguardedSuspense, "UPDATE suspended SET ended_by = 6"]],
    ["I14", "suspense that could be ended twice", ["DROP TRIGGER suspended_end_once"]],
  ]
  test.each(otherWrongs)("%s: the audit finds %s", (invariant, _, statements) => {
    writeLedger()
    writeDebtAndSuspense()
    expect(runAudit()).toEqual([])
    tamper(...statements)
    expect(runAudit().map((problem) => problem.invariant)).toContain(invariant)
  })

  test("an audit finds a hold that is open too long (I6)", () => {
    writeLedger()
    expect(runAudit(hold.at)).toEqual([])
    expect(runAudit(hold.at + 1)).toMatchObject([{ invariant: "I6" }])
  })

  test("an audit accepts usage that was dropped on purpose", () => {
    writeLedger()
    const store = openSqlite(path)
    expect(store.ledger.usage.dropBefore(20_001, 10)).toBe(1)
    store.close()
    expect(runAudit()).toEqual([])
  })

  test("an audit is not confused by holds, entries, flushes and merges between its steps", () => {
    writeLedger()
    const { ledger, close } = openSqlite(path)
    const audit = ledger.audit(0)
    while (audit.sum(1));
    let step = 0
    do {
      step += 1
      const requestId = `r-${String(step).padStart(4, "0")}`
      ledger.transaction(() => {
        ledger.entries.insert({ ...topUp, eventId: requestId }, null)
        ledger.holds.insert({ ...hold, requestId, keyId: `k${step % 5}` })
      })
      ledger.transaction(() => ledger.entries.insert({ ...settled, requestId, keyId: `k${step % 5}` }, null))
      ledger.beginFlush()
      ledger.flush(0)
      ledger.compact(0)
    } while (audit.compare(1))
    expect(step).toBeGreaterThan(20)
    expect(audit.problems).toEqual([])
    audit.close()
    close()
  })

  test("an audit reports a bounded number of problems", () => {
    writeLedger()
    const { ledger, close } = openSqlite(path)
    ledger.transaction(() => {
      for (let number = 0; number < 150; number++) ledger.accounts.insert(`key:${number}`, null)
    })
    close()
    tamper("UPDATE account_rows SET posted = 1 WHERE id > 5")
    expect(runAudit()).toHaveLength(100)
  })
})
