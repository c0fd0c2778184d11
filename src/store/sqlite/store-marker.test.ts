import { Database } from "bun:sqlite"
import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import {
  copyFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { earlierMigrations } from "../../../test/store/earlier-migrations.ts"
import type { EntryRow, KeyRow, Store } from "../contract.ts"
import { openSqlite } from "./open-sqlite.ts"

let folder: string
let path: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "trivium-marker-"))
  path = join(folder, "trivium.db")
})
afterEach(() => rmSync(folder, { recursive: true }))

const entry: EntryRow = {
  ...{ kind: "released", requestId: null, eventId: null, tenant: "acme", keyId: "k1", day: 1, at: 1, accountId: 5 },
  nano: { account: 0n, funding: 0n, revenue: 0n, suspense: 0n, writeOff: 0n, debt: 0n },
  ...{ heldNano: 1n, protocol: null, use: null },
}
const key: KeyRow = {
  ...{ id: "key_1", name: "a", tenant: "default", hash: "h1", hint: "…1", models: null, createdAt: 1 },
  ...{ expiresAt: null, revokedAt: null, previousHash: null, previousUntil: null, addresses: null, strict: false },
  ...{
    keepAnswers: false,
    ownBalance: false,
    strictBalance: false,
    hedge: false,
    modelMap: null,
    protocols: null,
    budgets: {},
  },
  ...{ requestsPerMinute: null, tokensPerMinute: null, concurrentRequests: null },
}

let requests = 0
/** Books entries, each in its own transaction. */
function book(store: Store, count: number): void {
  const { ledger } = store
  if (!ledger.accounts.find("tenant:acme")) ledger.transaction(() => ledger.accounts.insert("tenant:acme", null))
  for (let made = 0; made < count; made++)
    ledger.transaction(() =>
      ledger.entries.insert({ ...entry, requestId: `r${String(++requests).padStart(6, "0")}` }, null),
    )
}

function bookAndClose(count: number): void {
  const store = openSqlite(path)
  book(store, count)
  store.close()
}

/** Copies the files without the marker: as a killed process leaves them, or a backup has them. */
function copyTo(name: string): string {
  const copy = join(folder, name)
  for (const file of ["", "-wal"]) if (existsSync(path + file)) copyFileSync(path + file, copy + file)
  return copy
}

function restoreCopy(copy: string): void {
  for (const file of ["", "-wal"]) {
    rmSync(path + file, { force: true })
    if (existsSync(copy + file)) copyFileSync(copy + file, path + file)
  }
}

const losses: string[] = []
const accepting = { onLoss: (what: string) => void losses.push(what) }
beforeEach(() => {
  losses.length = 0
})

describe("a store that matches its marker", () => {
  test("a store is opened the first time, and after it was closed, flushed or not", () => {
    bookAndClose(3)
    const store = openSqlite(path)
    store.ledger.beginFlush()
    while (store.ledger.flush(0));
    book(store, 2)
    store.close()
    openSqlite(path).close()
    expect(readFileSync(`${path}-marker`, "utf8")).toContain('"entry":5')
  })

  test("a store from before there were markers is opened, and gets one", () => {
    const database = new Database(path)
    for (const step of earlierMigrations.slice(0, 11)) database.run(step)
    database.run("PRAGMA user_version = 11")
    database.close()
    openSqlite(path).close()
    expect(existsSync(`${path}-marker`)).toBe(true)
    bookAndClose(2)
    openSqlite(path).close()
  })

  test("a store with more than its marker records, as after a kill, is opened", () => {
    bookAndClose(3)
    const store = openSqlite(path)
    book(store, 4)
    const copy = copyTo("killed")
    copyFileSync(`${path}-marker`, `${copy}-marker`)
    store.close()
    const again = openSqlite(copy)
    expect(again.ledger.entries.get(7n)).toBeDefined()
    again.close()
  })

  test("a store is opened with either slot of its marker written last, and with one of them torn", async () => {
    const store = openSqlite(path)
    book(store, 1)
    store.close()
    bookAndClose(1)
    const text = readFileSync(`${path}-marker`, "utf8")
    expect(text).toHaveLength(1024)
    writeFileSync(`${path}-marker`, text.replace('"entry":1,', '"entry":#,'))
    openSqlite(path).close()
  })

  test("a store that was lost before it had entries is opened", () => {
    openSqlite(path).close()
    rmSync(path)
    bookAndClose(1)
  })

  test("a store in memory is opened without a marker", () => {
    const store = openSqlite(":memory:")
    book(store, 1)
    store.close()
    expect(existsSync(":memory:-marker")).toBe(false)
  })
})

describe("a store that has lost data", () => {
  test("a store that lost entries because an old copy was restored is not opened", () => {
    bookAndClose(81)
    const copy = copyTo("old")
    bookAndClose(119)
    restoreCopy(copy)
    expect(() => openSqlite(path)).toThrow(
      /lacks the last 119 ledger entries of 200, written before 20\d\d-.*--accept-loss/,
    )
    openSqlite(path, accepting).close()
    expect(losses).toHaveLength(1)
    openSqlite(path).close()
    bookAndClose(1)
    openSqlite(path).close()
  })

  test("a store whose write-ahead log is cut in half or missing is not opened", async () => {
    bookAndClose(10)
    const store = openSqlite(path)
    book(store, 200)
    for (let waited = 0; !readFileSync(`${path}-marker`, "utf8").includes('"entry":210'); waited += 50) {
      if (waited > 10_000) throw new Error("no marker was written")
      await Bun.sleep(50)
    }
    const [half, gone] = [copyTo("half"), copyTo("gone")]
    for (const copy of [half, gone]) copyFileSync(`${path}-marker`, `${copy}-marker`)
    store.close()
    truncateSync(`${half}-wal`, Math.floor(statSync(`${half}-wal`).size / 2))
    expect(() => openSqlite(half)).toThrow(/lacks the last \d+ ledger entries of 210/)
    rmSync(`${gone}-wal`)
    expect(() => openSqlite(gone)).toThrow("lacks the last 200 ledger entries of 210")
  })

  test("a store whose file is missing or empty is not opened", () => {
    bookAndClose(7)
    rmSync(path)
    expect(() => openSqlite(path)).toThrow(/trivium.db is missing or empty. It had 7 ledger entries .*--accept-loss/)
    expect(existsSync(path)).toBe(false)
    writeFileSync(path, "")
    expect(() => openSqlite(path)).toThrow("missing or empty")
    const store = openSqlite(path, accepting)
    expect([losses.length, store.keys.count()]).toEqual([1, 0])
    store.close()
    openSqlite(path).close()
  })

  test("a store that was replaced by another is not opened", () => {
    bookAndClose(5)
    const other = join(folder, "other.db")
    const store = openSqlite(other)
    book(store, 6)
    store.close()
    restoreCopy(other)
    expect(() => openSqlite(path)).toThrow("is not the one that")
  })

  test("a store that continued from an old copy with as many entries is not opened", () => {
    bookAndClose(5)
    const copy = copyTo("old")
    bookAndClose(2)
    const marker = readFileSync(`${path}-marker`)
    restoreCopy(copy)
    rmSync(`${path}-marker`)
    bookAndClose(3)
    writeFileSync(`${path}-marker`, marker)
    expect(() => openSqlite(path)).toThrow("its first 7 ledger entries are others")
  })

  test("a store that lost keys is not opened, even without entries", () => {
    const store = openSqlite(path)
    store.keys.insert(key)
    store.close()
    const copy = copyTo("old")
    const again = openSqlite(path)
    again.keys.replace({ ...key, revokedAt: 5 })
    again.close()
    restoreCopy(copy)
    expect(() => openSqlite(path)).toThrow("lacks the last 1 change to keys, tenants or credentials")
  })

  test("a store whose marker is unreadable is not opened", () => {
    bookAndClose(1)
    writeFileSync(`${path}-marker`, "scribbled over")
    expect(() => openSqlite(path)).toThrow("cannot be read")
    openSqlite(path, accepting).close()
    openSqlite(path).close()
  })
})

test("a marker is written about once a second, however many writes there are", async () => {
  const store = openSqlite(path)
  const numbers = new Set<string>()
  const startedAt = performance.now()
  while (numbers.size < 3) {
    book(store, 1)
    for (const [, number = ""] of readFileSync(`${path}-marker`, "utf8").matchAll(/"number":(\d+)/g))
      numbers.add(number)
    await Bun.sleep(10)
  }
  store.close()
  // The first is written at once, the second and the third after a second each.
  expect(performance.now() - startedAt).toBeGreaterThan(1000)
})

test("synced writes are on disk, for many callers at once too", async () => {
  const store = openSqlite(path)
  book(store, 1)
  await Promise.all(Array.from({ length: 50 }, () => store.sync()))
  await store.sync()
  store.close()
})
