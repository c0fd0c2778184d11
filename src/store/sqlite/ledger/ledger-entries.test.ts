import { Database } from "bun:sqlite"
import { expect, test } from "bun:test"
import type { EntryRow } from "../../contract.ts"
import { migrations } from "../migrations.ts"
import type { EndedRequestGroup } from "./ended-requests.ts"
import { LedgerEntries } from "./ledger-entries.ts"
import { Memtable, MemtablePair } from "./memtable.ts"

const entry: EntryRow = {
  ...{ kind: "released", requestId: null, eventId: null, tenant: "acme", keyId: "k1", day: 1, at: 1, accountId: 5 },
  nano: { account: 0n, funding: 0n, revenue: 0n, suspense: 0n, writeOff: 0n, debt: 0n },
  ...{ heldNano: 1n, protocol: null, use: null },
}

/** Requests of three minutes; every third one has ended, those of the first two minutes are flushed. */
const requestOf = (number: number) => `0199aa${Math.floor(number / 400)}0-${String((number * 7919) % 100_000)}\n`
const REQUESTS = Array.from({ length: 1200 }, (_, number) => requestOf(number))
const ENDED = REQUESTS.filter((_, number) => number % 3 === 0)

function createEntries(memtables: MemtablePair): LedgerEntries {
  const database = new Database(":memory:", { safeIntegers: true })
  for (const step of migrations) database.run(step)
  const entries = new LedgerEntries(database, memtables)
  for (const requestId of ENDED) {
    entries.isNew(requestId)
    entries.insert({ ...entry, requestId }, null)
    entries.committed()
    if (requestId !== ENDED[266]) continue
    for (const _ of entries.ended.writeSteps(memtables.active.ended, 1));
    database.run("UPDATE ledger_marks SET value = 1 WHERE name = 'folded-run'")
    memtables.active = new Memtable()
  }
  return entries
}

test("requests that have ended are found among others, flushed or not", () => {
  const entries = createEntries(new MemtablePair())
  expect([...entries.endedAmong(REQUESTS)].sort()).toEqual([...ENDED].sort())
  expect(ENDED.every((requestId) => entries.endedAs(requestId) !== undefined)).toBe(true)
  expect([...entries.endedAmong([])]).toEqual([])
})

test("a group of ended requests is read once, however many requests are looked for", () => {
  const memtables = new MemtablePair()
  const entries = createEntries(memtables)
  let read = 0
  const { active } = memtables
  active.ended.forEach(({ lines, newest }, at) => {
    const counted = {
      newest,
      get lines() {
        read += 1
        return lines
      },
    }
    active.ended[at] = counted satisfies EndedRequestGroup
  })
  entries.endedAmong(REQUESTS)
  expect(read).toBe(active.ended.length)
  expect(read).toBeGreaterThan(100)
})

test("a request that sorts after every known one is new, and ended ones are known", () => {
  const entries = createEntries(new MemtablePair())
  entries.endedAmong(["9-open"])
  expect(entries.isNew("9-open")).toBe(true)
  expect(entries.isNew(ENDED[0] ?? "")).toBe(false)
})
