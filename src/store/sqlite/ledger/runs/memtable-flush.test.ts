import { Database } from "bun:sqlite"
import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { EntryRow, HoldRow, LedgerTable, Store } from "../../../contract.ts"
import { openSqlite } from "../../open-sqlite.ts"

const DAY = 20_000
const DAY_MS = 86_400_000
let folder: string
let path: string
let store: Store
let requests = 0
let ended: string[] = []

beforeEach(() => {
  ended = []
  folder = mkdtempSync(join(tmpdir(), "trivium-fold-"))
  path = join(folder, "trivium.db")
  store = openSqlite(path)
})
afterEach(() => {
  expect(runAudit()).toEqual([])
  store.close()
  rmSync(folder, { recursive: true })
})

function restart(): void {
  store.close()
  store = openSqlite(path)
}

function runAudit() {
  const audit = store.ledger.audit(0)
  while (audit.compare(100));
  audit.close()
  return audit.problems
}

/** The count by a query on the file itself. */
function queryCount(question: string): number | undefined {
  store.close()
  const database = new Database(path)
  const answer = database.query<{ count: number }, []>(question).get()
  database.close()
  store = openSqlite(path)
  return answer?.count
}

interface BookedUse {
  readonly tenant?: string
  readonly keyId?: string
  readonly day?: number
  readonly model?: string
  readonly paidNano?: bigint
}

function entry(accountId: number, use: BookedUse): EntryRow {
  const { tenant = "acme", keyId = "k", day = DAY, model = "m", paidNano = 1n } = use
  return {
    ...{ kind: "settled", requestId: `0199aaaa-${String(requests++).padStart(6, "0")}`, eventId: null, tenant, keyId },
    ...{ day, at: day * DAY_MS, accountId },
    nano: { account: -paidNano, funding: 0n, revenue: paidNano, suspense: 0n, writeOff: 0n, debt: 0n },
    heldNano: null,
    protocol: null,
    use: { model, provider: "p", counts: { input: 2 }, priceVersion: null },
  }
}

function accountOf({ accounts }: LedgerTable, name: string): number {
  return (accounts.find(name) ?? accounts.insert(name, null)).id
}

/** Books all of them in one transaction. */
function book(...uses: BookedUse[]): void {
  const { ledger } = store
  ledger.transaction(() => {
    const account = accountOf(ledger, "tenant:acme")
    for (const use of uses) {
      const row = entry(account, use)
      ended.push(row.requestId ?? "")
      ledger.entries.insert(row, null)
    }
  })
}

function flushAll(): void {
  store.ledger.beginFlush()
  while (store.ledger.flush(0));
}

/** All totals. */
function readTotals() {
  const { accounts, entries, spend, usage } = store.ledger
  return {
    ended: ended.map((requestId) => entries.ofRequest(requestId)?.id),
    balances: ["tenant:acme", "revenue"].map((name) => accounts.find(name)?.postedNano),
    spent: ["k", "k1", "k2"].map((keyId) => [spend.ofKey(keyId), spend.ofKey(keyId, { from: DAY, to: DAY })]),
    tenants: ["acme", "beta"].map((tenant) => spend.ofTenant(tenant, { from: DAY, to: DAY + 1 })),
    usage: usage.page({ from: 0, to: 100_000, limit: 1000 }),
  }
}

const MANY = Array.from({ length: 200 }, (_, at) => ({ keyId: `key-${at}`, model: `m${at % 3}`, day: DAY + (at % 2) }))
const USES: BookedUse[] = [
  { keyId: "k1" },
  { keyId: "k1", model: "n" },
  { keyId: "k1" },
  { keyId: "k2", tenant: "beta" },
]

describe("a flush", () => {
  test("a flush changes no total, at any of its steps", () => {
    book(...USES, ...MANY)
    const before = readTotals()
    store.ledger.beginFlush()
    let steps = 0
    do {
      expect(readTotals()).toEqual(before)
      steps += 1
    } while (store.ledger.flush(0))
    expect(steps).toBeGreaterThan(6)
    restart()
    expect(readTotals()).toEqual(before)
  })

  test("a flush that is interrupted at any step has no effect, and the next one flushes everything once", () => {
    book(...USES, ...MANY)
    const before = readTotals()
    for (let steps = 1; ; steps++) {
      store.ledger.beginFlush()
      let goesOn = true
      for (let step = 0; step < steps && goesOn; step++) goesOn = store.ledger.flush(0)
      restart()
      expect(readTotals()).toEqual(before)
      if (!goesOn) break
    }
    expect(runAudit()).toEqual([])
  })

  test("a flush leaves entries booked meanwhile to the next one", () => {
    book(...USES)
    store.ledger.beginFlush()
    store.ledger.flush(0)
    book({ keyId: "k1", paidNano: 5n }, { keyId: "k3" })
    const before = readTotals()
    while (store.ledger.flush(0)) expect(readTotals()).toEqual(before)
    expect(readTotals()).toEqual(before)
    restart()
    expect(readTotals()).toEqual(before)
    flushAll()
    expect(readTotals()).toEqual(before)
  })

  test("a flush of nothing does nothing", () => {
    flushAll()
    expect(readTotals().usage).toEqual([])
  })

  test("a flush is due after many entries, or entries of many keys", () => {
    const { ledger } = store
    expect(ledger.flushIsDue()).toBe(false)
    for (let at = 0; at < 16; at++)
      book(...Array.from({ length: 1024 }, (_, number) => ({ keyId: `k${1024 * at + number}` })))
    expect(ledger.flushIsDue()).toBe(true)
    flushAll()
    expect(ledger.flushIsDue()).toBe(false)
    for (let at = 0; at < 32; at++) book(...Array.from({ length: 1024 }, () => ({})))
    expect(ledger.flushIsDue()).toBe(true)
  })
})

describe("a request that has ended", () => {
  const booksAgain = (requestId: string) => () =>
    store.ledger.transaction(() => {
      const account = accountOf(store.ledger, "tenant:acme")
      store.ledger.entries.insert({ ...entry(account, {}), requestId }, null)
    })

  test("a request that has ended cannot end again in any storage level, and an earlier request still can", () => {
    const named = (number: number) => `0199-000${number}`
    booksAgain(named(5))()
    booksAgain(named(3))()
    for (const settle of [() => {}, flushAll, restart]) {
      settle()
      for (const number of [3, 5]) expect(booksAgain(named(number))).toThrow("ended twice")
    }
    booksAgain(named(4))()
    booksAgain(named(1))()
    store.ledger.beginFlush()
    store.ledger.flush(0)
    booksAgain(named(2))()
    restart()
    for (const number of [1, 2, 3, 4, 5]) expect(booksAgain(named(number))).toThrow("ended twice")
  })

  test("a request that has ended is found, whatever its name", () => {
    const names = ["a", "a b", "a\tb", "é", "%00e9", "ab\n1", "", "\ud800", "0199aaaa-1", "0199aaaab", '"a0']
    for (const name of names) booksAgain(name)()
    const unbooked = ["b", "a\t", "%00e9\t", "0199aaaa", "a0"]
    const strangers = () => unbooked.map((name) => store.ledger.entries.ofRequest(name))
    const found = () => names.map((name) => Number(store.ledger.entries.ofRequest(name)?.id))
    const all = names.map((_, at) => at + 1)
    expect(found()).toEqual(all)
    expect(strangers()).toEqual(unbooked.map(() => undefined))
    flushAll()
    expect(found()).toEqual(all)
    restart()
    expect(found()).toEqual(all)
    expect(strangers()).toEqual(unbooked.map(() => undefined))
  })

  test("a request that has ended is found among many", () => {
    for (let turn = 0; turn < 20; turn++) book(...Array.from({ length: 100 }, () => ({})))
    flushAll()
    expect(queryCount("SELECT count(*) AS count FROM ended_requests")).toBeLessThan(50)
    expect(readTotals().ended).toEqual(ended.map((_, at) => BigInt(at + 1)))
  })
})

describe("runs", () => {
  const runs = () => queryCount("SELECT count(*) AS count FROM sum_runs WHERE tree = 'usage'")
  const foldMany = (count: number) => {
    for (let run = 0; run < count; run++) {
      book(
        { keyId: `k${run % 7}` },
        { keyId: "k1", paidNano: 3n },
        ...MANY.slice(run, run + 60).map((use) => ({ ...use, day: DAY })),
      )
      flushAll()
    }
  }

  test("many runs are merged, and no total changes at any step", () => {
    foldMany(16)
    expect(runs()).toBe(16)
    const before = readTotals()
    let steps = 0
    while (store.ledger.compact(0)) {
      expect(readTotals()).toEqual(before)
      steps += 1
    }
    expect(steps).toBeGreaterThan(2)
    expect(runs()).toBe(1)
    expect(readTotals()).toEqual(before)
  })

  test("runs whose merge a crash interrupted are merged in the end", () => {
    foldMany(17)
    const before = readTotals()
    for (let death = 0; death < 5; death++) {
      store.ledger.compact(0)
      restart()
      expect(readTotals()).toEqual(before)
    }
    while (store.ledger.compact(0));
    expect(readTotals()).toEqual(before)
    expect(runs()).toBeLessThan(8)
  })

  test("runs may be added while others are merged", () => {
    foldMany(16)
    store.ledger.compact(0)
    foldMany(3)
    const before = readTotals()
    while (store.ledger.compact(0));
    expect(readTotals()).toEqual(before)
  })

  test("usage runs before a day are dropped, a bounded number at once, and spending is kept", () => {
    book(...MANY)
    flushAll()
    const spent = readTotals().tenants
    let dropped = 0
    for (let went = 1; went > 0; dropped += went)
      went = store.ledger.transaction(() => store.ledger.usage.dropBefore(DAY + 1, 30))
    expect(dropped).toBe(100)
    expect(readTotals().usage.map(({ day }) => day)).toEqual(Array(100).fill(DAY + 1))
    expect(readTotals().tenants).toEqual(spent)
  })
})

describe("a hold", () => {
  const hold = (accountId: number): HoldRow => ({
    ...{
      requestId: `0199aaaa-${String(requests++).padStart(6, "0")}`,
      accountId,
      tenant: "acme",
      keyId: "k",
      amountNano: 5n,
    },
    ...{ lowerBoundNano: 0n, day: DAY, epoch: 0, at: DAY * DAY_MS, budgets: [] },
  })

  test("an ended hold is overwritten, and open holds are found after a restart", () => {
    const { ledger } = store
    const account = ledger.transaction(() => accountOf(ledger, "tenant:acme"))
    const openIds: string[] = []
    for (let turn = 0; turn < 400; turn++) {
      const rows = [hold(account), hold(account), hold(account)]
      store.ledger.transaction(() => {
        for (const row of rows) expect(store.ledger.holds.insert(row)).toBe(true)
      })
      const [first, ...others] = rows.map(({ requestId }) => requestId)
      if (turn % 2 === 0) openIds.push(first ?? "")
      else others.push(first ?? "")
      store.ledger.transaction(() => {
        if (openIds[0]) store.ledger.holds.grow(openIds[0], 1n)
        for (const requestId of others) store.ledger.entries.insert({ ...entry(account, {}), requestId }, null)
      })
      if (turn % 10 === 0) restart()
    }
    restart()
    expect(store.ledger.accounts.find("tenant:acme")?.heldNano).toBe(BigInt(openIds.length * 5 + 400))
    expect(openIds.every((requestId) => store.ledger.holds.find(requestId))).toBe(true)
    expect(queryCount("SELECT count(*) AS count FROM hold_groups")).toBeLessThan(135)
  })

  const others = ({ transaction, accounts }: LedgerTable) => {
    for (let at = 0; at < 40; at++)
      transaction(() => {
        for (let number = 0; number < 1000; number++) accounts.insert(`tenant:${requests++}`, null)
      })
  }

  test("a hold keeps its account exact, however many other accounts are read meanwhile", () => {
    const { ledger } = store
    const account = ledger.transaction(() => accountOf(ledger, "tenant:acme"))
    const row = hold(account)
    ledger.transaction(() => ledger.holds.insert(row))
    expect(ledger.accounts.payer("k", "acme")).toMatchObject({ postedNano: 0n, heldNano: 5n })
    others(ledger)
    ledger.transaction(() => {
      ledger.entries.insert({ ...entry(account, { paidNano: 3n }), requestId: row.requestId }, null)
      expect(ledger.accounts.find("tenant:acme")).toMatchObject({ postedNano: -3n, heldNano: 0n })
    })
    expect(ledger.accounts.payer("k", "acme")).toMatchObject({ postedNano: -3n, heldNano: 0n })
    others(ledger)
    ledger.transaction(() => ledger.entries.insert(entry(account, { paidNano: 4n }), null))
    expect(ledger.accounts.payer("k", "acme")).toMatchObject({ postedNano: -7n, heldNano: 0n })
  })
})
