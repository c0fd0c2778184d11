import { Database } from "bun:sqlite"
import { afterEach, beforeEach, expect, test } from "bun:test"
import { copyFileSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { EntryRow } from "../../src/store/contract.ts"
import { INITIAL_VERSION } from "../../src/store/sqlite/migrations.ts"
import { openSqlite } from "../../src/store/sqlite/open-sqlite.ts"
import { earlierMigrations } from "./earlier-migrations.ts"

let folder: string
let path: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "trivium-migrations-"))
  path = join(folder, "trivium.db")
})
afterEach(() => rmSync(folder, { recursive: true }))

/** Runs the migrations after `from`, up to `to`, with writes after some of them. */
function runEarlierMigrations(file: string, { from = 0, to, writes = {} }: EarlierRun): void {
  const database = new Database(file)
  // Each statement would otherwise wait for the disk.
  database.run("PRAGMA synchronous = OFF")
  database.transaction(() => {
    for (const [index, step] of earlierMigrations.slice(0, to).entries()) {
      if (index < from) continue
      database.run(step)
      writes[index + 1]?.(database)
    }
    database.run(`PRAGMA user_version = ${to}`)
  })()
  database.close()
}

type WritesByVersion = Readonly<Record<number, (database: Database) => unknown>>

interface EarlierRun {
  readonly from?: number
  readonly to: number
  readonly writes?: WritesByVersion
}

/** A store of an earlier version, with the given writes. */
function createOlderStore(version: number, write: (database: Database) => unknown = () => {}): void {
  runEarlierMigrations(path, { to: version, writes: { [version]: write } })
}

/** Every object of the schema and every row, of tables and views. */
function readStore(file: string) {
  const database = new Database(file, { readonly: true, safeIntegers: true })
  const objects = database
    .query<{ type: string; name: string; sql: string | null }, []>("SELECT type, name, sql FROM sqlite_master")
    .all()
    .sort((a, b) => (a.name < b.name ? -1 : 1))
  // An added column is written into the statement without the line breaks of the others.
  const schema = objects.map(({ type, name, sql }) => ({ type, name, sql: sql?.replace(/\s+/g, "") }))
  const named = objects.filter(({ type }) => type === "table" || type === "view")
  const rows = Object.fromEntries(named.map(({ name }) => [name, database.query(`SELECT * FROM ${name}`).all()]))
  const version = database.query("PRAGMA user_version").get()
  database.close()
  return { schema, rows, version }
}

const EARLIER_VERSIONS = earlierMigrations.map((_, index) => index + 1)

test("the initial schema has the version of the last migration that it replaces", () => {
  expect(INITIAL_VERSION).toBe(earlierMigrations.length)
})

test.each(EARLIER_VERSIONS)("an empty store of version %d is taken over as a new store is made", (version) => {
  createOlderStore(version)
  openSqlite(path).close()
  const fresh = join(folder, "fresh.db")
  openSqlite(fresh).close()
  expect(readStore(path)).toEqual(readStore(fresh))
})

test.each(EARLIER_VERSIONS)(
  "a store of version %d keeps the rows that the earlier migrations would keep",
  (version) => {
    runEarlierMigrations(path, { to: version, writes: ROWS_SINCE })
    const migrated = join(folder, "migrated.db")
    copyFileSync(path, migrated)
    runEarlierMigrations(migrated, { from: version, to: earlierMigrations.length })
    openSqlite(path).close()
    const [taken, expected] = [readStore(path), readStore(migrated)]
    expect(taken).toEqual(expected)
    expect(taken.rows.keys).toHaveLength(1)
    expect(taken.rows.entries).toHaveLength(version < 5 ? 0 : 5)
  },
)

test("a journal whose receipts were all dropped is taken over as the earlier migrations would", () => {
  const writes = { ...ROWS_SINCE, 9: (database: Database) => database.run("DELETE FROM receipt_groups") }
  runEarlierMigrations(path, { to: 9, writes })
  const migrated = join(folder, "migrated.db")
  copyFileSync(path, migrated)
  runEarlierMigrations(migrated, { from: 9, to: earlierMigrations.length })
  openSqlite(path).close()
  expect(readStore(path)).toEqual(readStore(migrated))
})

/** The rows that a store of these versions begins to have. */
const ROWS_SINCE: WritesByVersion = {
  1: (database) =>
    database.run("INSERT INTO keys VALUES ('key_1', 'a', 'default', 'h', '…1', NULL, 1, NULL, NULL, NULL, NULL)"),
  2: (database) => database.run("INSERT INTO credentials VALUES ('openai', 'https://api.openai.com', 'sealed', 3)"),
  4: (database) => database.run("INSERT INTO tenants (name, created_at, strict, budget_day) VALUES ('acme', 1, 1, 7)"),
  5: writeJournal,
  6: writeRepeats,
  8: (database) => database.run("INSERT INTO responses VALUES (1, 'acme', 'resp_1', 5, 3, x'010203')"),
}

const BEFORE_JOURNAL_WITH_FACTS = 9
const REQUESTS = ['0199aaaa-"1\\', "0199aaaa-2", "0199aaab-1", "0199aaab-2"] as const
const USED = ["m", "p", { input: 5, output: 7 }, "v1"]
const DAY = 20_000
const AT = DAY * 86_400_000

const HELD = "0199aaac-1"

/** Four requests and a top-up, of which the last row is not flushed, and an open request. */
function writeJournal(database: Database): void {
  const rows = [
    [["top-up", "e1", null, null, DAY, AT, 5, [1000, -1000, 0, 0, 0], null]],
    [
      ["settled", REQUESTS[0], "acme", "k1", DAY, AT, 5, 30, USED],
      ["released", REQUESTS[1], "acme", "k1", DAY, AT + 1, 5, 0, null],
    ],
    [
      ["settled", REQUESTS[3], "acme", "k2", DAY, AT + 2, 5, [-10, 0, "9007199254740993", 0, -9007199254740983], USED],
      ["recovered", REQUESTS[2], "acme", "k1", DAY, AT + 3, 5, [-3, 0, 2, 1, 0], ["unknown", "unknown", {}, null]],
    ],
  ]
  const facts = [
    undefined,
    '{"protocol":"openai","held":"0.5","stream":true}\nnull',
    'null\n{"protocol":"openai","held":"0.25"}',
  ]
  database.run("INSERT INTO account_rows VALUES (5, 'tenant:acme', 0, 970, 1, 1000)")
  database.run("UPDATE account_rows SET posted = -1000, run = 1 WHERE id = 1")
  database.run("UPDATE account_rows SET posted = 30, run = 1 WHERE id = 2")
  let first = 1
  for (const [at, entries] of rows.entries()) {
    const sums = [0, 0, 0, 0, 0].map((_, index) => {
      const moved = entries
        .map((entry) => entry[7])
        .map((nano) => (Array.isArray(nano) ? nano : [-Number(nano), 0, nano, 0, 0]))
      return moved.reduce((sum, nano) => sum + BigInt(nano[index] as number | string), 0n)
    })
    database.query("INSERT INTO journal VALUES (?, ?, ?, ?, ?, ?, ?)").run(first, ...sums, JSON.stringify(entries))
    const shown = facts[at]
    if (shown) database.query("INSERT INTO receipt_groups VALUES (?, ?, ?)").run(first, AT, shown)
    for (const [index, [kind, cause]] of entries.entries()) {
      const table = kind === "top-up" ? "top_ups" : "requests"
      database.query(`INSERT INTO ${table} VALUES (?, ?)`).run(cause as string, first + index)
    }
    first += entries.length
  }
  const holds = JSON.stringify([[HELD, 5, "acme", "k1", "9007199254740993", 3, 1, AT]])
  database.query("INSERT INTO hold_groups VALUES (0, 1, ?)").run(holds)
  database.run("UPDATE account_rows SET floor = -9007199254740993 WHERE id = 5")
  database.run("UPDATE ledger_marks SET value = 3 WHERE name = 'folded-entry'")
  database.run("UPDATE ledger_marks SET value = 1 WHERE name = 'folded-run'")
  database.run(`INSERT INTO sum_runs VALUES ('usage', ${DAY}, 1, 0), ('spend', ${2024 * 12 + 9}, 1, 0)`)
  const usage = "acme\tk1\tm\tp\t5,,,,,,7,,,,,1,30"
  database.query(`INSERT INTO usage VALUES (1, ${DAY}, 1, ?, ?)`).run("acme\tk1\tm\tp", usage)
  const spent = [`key:k1\t${DAY}\t30`, `tenant:acme\t${DAY}\t30`].join("\n")
  database.query(`INSERT INTO spend VALUES (1, ${2024 * 12 + 9}, 1, ?, ?)`).run(`key:k1\t${DAY}`, spent)
}

test("a journal without facts is migrated with all its entries", () => {
  createOlderStore(BEFORE_JOURNAL_WITH_FACTS, writeJournal)
  const { ledger, close } = openSqlite(path)
  const { entries, receipts } = ledger
  const booked = REQUESTS.map((requestId) => entries.ofRequest(requestId))
  expect(booked.map((entry) => entry?.id)).toEqual([2n, 3n, 5n, 4n])
  expect(booked[0]).toEqual({
    ...{
      id: 2n,
      kind: "settled",
      requestId: REQUESTS[0],
      eventId: null,
      tenant: "acme",
      keyId: "k1",
      day: DAY,
      at: AT,
    },
    ...{ accountId: 5, nano: { account: -30n, funding: 0n, revenue: 30n, suspense: 0n, writeOff: 0n, debt: 0n } },
    ...{ heldNano: null, protocol: null },
    use: { model: "m", provider: "p", counts: { input: 5, output: 7 }, priceVersion: "v1" },
  })
  expect(booked[1]).toMatchObject({ kind: "released", use: null })
  expect(booked[3]?.nano.revenue).toBe(9007199254740993n)
  expect(entries.ofEvent("e1")).toMatchObject({ id: 1n, nano: { account: 1000n, funding: -1000n } })
  expect([1n, 2n, 3n, 4n, 5n].map((id) => receipts.find(id))).toEqual([
    undefined,
    '{"protocol":"openai","held":"0.5","stream":true}',
    "{}",
    "{}",
    '{"protocol":"openai","held":"0.25"}',
  ])
  expect(ledger.holds.find(HELD)).toMatchObject({
    ...{ requestId: HELD, accountId: 5, tenant: "acme", keyId: "k1", amountNano: 9007199254740993n },
    ...{ lowerBoundNano: 3n, day: DAY, epoch: 1, at: AT },
  })
  for (const requestId of REQUESTS)
    expect(() => ledger.transaction(() => entries.insert({ ...(booked[0] as EntryRow), requestId }, null))).toThrow(
      "twice",
    )
  expect(ledger.suspense.page(0n, 9)).toEqual([{ requestId: REQUESTS[2], entry: 5n, at: AT + 3, endedBy: null }])
  const audit = ledger.audit(0)
  while (audit.compare(10));
  audit.close()
  expect(audit.problems).toEqual([])
  close()
})

test("the migrated file has a row for each entry, receipt and hold", () => {
  createOlderStore(BEFORE_JOURNAL_WITH_FACTS, writeJournal)
  openSqlite(path).close()
  const database = new Database(path)
  const columns = "id, kind, request, event, key, at, amount, revenue, model, counts"
  const entries = database.query(`SELECT ${columns} FROM entries`).all()
  expect(entries).toMatchObject([
    { id: 1, kind: "top-up", request: null, event: "e1", key: null, amount: 1000, revenue: 0, counts: null },
    { id: 2, kind: "settled", request: REQUESTS[0], key: "k1", amount: -30, counts: '{"input":5,"output":7}' },
    { id: 3, kind: "released", request: REQUESTS[1], at: AT + 1, amount: 0, model: null },
    { id: 4, kind: "settled", request: REQUESTS[3], key: "k2", at: AT + 2, amount: -10, model: "m" },
    { id: 5, kind: "recovered", request: REQUESTS[2], at: AT + 3, revenue: 2, model: "unknown", counts: "{}" },
  ])
  expect(database.query("SELECT entry FROM receipts").all()).toEqual([{ entry: 2 }, { entry: 5 }])
  expect(database.query("SELECT request, account, key, lower_bound, at FROM holds").all()).toEqual([
    { request: HELD, account: 5, key: "k1", lower_bound: 3, at: AT },
  ])
  database.close()
})

const BEFORE_SHARES = 12

/** Four repeatable requests, three of them with a stored answer. */
function writeRepeats(database: Database): void {
  for (const id of [1, 2, 3, 4])
    database.query("INSERT INTO repeats VALUES (?, ?, 'body', 'r', 7)").run(id, `hash-${id}`)
  for (const id of [1, 2, 4])
    database.query("INSERT INTO repeat_answers VALUES (?, 200, 'text/plain', ?, ?)").run(id, id * 10, Buffer.alloc(10))
}

test("stored idempotent answers are migrated without a tenant and evicted like a tenant's", () => {
  createOlderStore(BEFORE_SHARES, writeRepeats)
  const { idempotency, close } = openSqlite(path)
  const left = () => [1, 2, 3, 4].map((id) => idempotency.findAnswer(`hash-${id}`)?.sealed.length ?? 0)
  expect(idempotency.find("hash-1")).toEqual({ hash: "hash-1", bodyHash: "body", requestId: "r", at: 7, tenant: "" })
  expect(left()).toEqual([10, 10, 0, 10])
  idempotency.insert({ hash: "new", bodyHash: "body", requestId: "r", at: 8, tenant: "acme" })
  const many = { rows: 100, answerBytes: 1000 }
  idempotency.keepWithin({ ofTenant: many, ofAll: { rows: 100, answerBytes: 20 } }, "acme")
  expect(left()).toEqual([0, 10, 0, 10])
  idempotency.keepWithin({ ofTenant: many, ofAll: { rows: 3, answerBytes: 20 } }, "acme")
  expect([left(), idempotency.find("hash-2")]).toEqual([[0, 0, 0, 10], undefined])
  expect(idempotency.find("new")?.tenant).toBe("acme")
  close()
})

test("a key from before keys had limits has none", () => {
  createOlderStore(3, (database) =>
    database.run("INSERT INTO keys VALUES ('key_1', 'a', 'default', 'h', '…1', NULL, 1, NULL, NULL, NULL, NULL, 1)"),
  )
  const { keys, close } = openSqlite(path)
  expect(keys.findById("key_1")).toMatchObject({
    ...{ strict: true, addresses: null, protocols: null, requestsPerMinute: null, keepAnswers: false },
    ...{ ownBalance: false, budgets: {} },
  })
  close()
})
