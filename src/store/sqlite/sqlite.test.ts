import { Database } from "bun:sqlite"
import { afterEach, beforeEach, expect, test } from "bun:test"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { KeyRow } from "../contract.ts"
import { INITIAL_VERSION, migrations } from "./migrations.ts"
import { openSqlite } from "./open-sqlite.ts"

let folder: string
let path: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "trivium-store-"))
  path = join(folder, "deep", "trivium.db")
})
afterEach(() => rmSync(folder, { recursive: true }))

const row: KeyRow = {
  id: "key_1",
  name: "a",
  tenant: "default",
  hash: "h1",
  hint: "…1",
  models: ["a/*"],
  createdAt: 1,
  expiresAt: null,
  revokedAt: null,
  previousHash: null,
  previousUntil: null,
  addresses: ["10.0.0.0/8"],
  keepAnswers: true,
  ownBalance: false,
  strictBalance: true,
  hedge: true,
  modelMap: [{ from: "claude-*", to: "google/gemini-2.5-flash" }],
  strict: false,
  protocols: ["openai"],
  requestsPerMinute: 60,
  tokensPerMinute: null,
  concurrentRequests: 3,
  budgets: { day: 2n ** 62n, total: 0n },
}

test("written rows survive the closing of the store", () => {
  const store = openSqlite(path)
  store.keys.insert(row)
  store.keys.insert({ ...row, id: "key_2", hash: "h2", models: null, expiresAt: 2 ** 53 - 1 })
  store.close()
  const again = openSqlite(path)
  expect(again.keys.list()).toEqual([row, { ...row, id: "key_2", hash: "h2", models: null, expiresAt: 2 ** 53 - 1 }])
  expect(again.keys.count()).toBe(2)
  again.close()
})

test("a key is found by its current and its previous hash", () => {
  const store = openSqlite(path)
  const rotated = { ...row, hash: "h3", previousHash: "h1", previousUntil: 9 }
  store.keys.insert(row)
  store.keys.replace(rotated)
  expect(store.keys.findByHash("h3")).toEqual(rotated)
  expect(store.keys.findByHash("h1")).toEqual(rotated)
  expect(store.keys.findByHash("h")).toBeUndefined()
  expect(store.keys.findById("key_1")).toEqual(rotated)
  store.close()
})

test("a second process cannot open the store, and the error says why", () => {
  const store = openSqlite(path)
  expect(() => openSqlite(path)).toThrow("in use by another process")
  store.close()
  openSqlite(path).close()
})

test("a store of a newer version is not opened or changed", () => {
  openSqlite(path).close()
  const database = new Database(path)
  database.run(`PRAGMA user_version = ${INITIAL_VERSION + migrations.length}`)
  database.close()
  expect(() => openSqlite(path)).toThrow("newer Trivium")
})

test("a file that is not a store is not overwritten", async () => {
  const other = join(folder, "notes.txt")
  await Bun.write(other, "not a database, but valuable data".repeat(100))
  expect(() => openSqlite(other)).toThrow("Cannot open the store")
  expect(await Bun.file(other).text()).toStartWith("not a database")
})
