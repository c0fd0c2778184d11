import { Database } from "bun:sqlite"
import { expect, test } from "bun:test"
import type { EntryRow } from "../contract.ts"
import type { EndedGroup } from "./ledger-ended.ts"
import { Entries } from "./ledger-entries.ts"
import { Tail, Tails } from "./ledger-tail.ts"
import { migrations } from "./migrations.ts"

const entry: EntryRow = {
  ...{ kind: "released", requestId: null, eventId: null, tenant: "acme", keyId: "k1", day: 1, at: 1, accountId: 5 },
  nano: { account: 0n, funding: 0n, revenue: 0n, suspense: 0n, writeOff: 0n, debt: 0n },
  ...{ heldNano: 1n, protocol: null, use: null },
}

/** Requests of three minutes; every third one has ended, those of the first two minutes are folded. */
const requestOf = (number: number) => `0199aa${Math.floor(number / 400)}0-${String((number * 7919) % 100_000)}\n`
const REQUESTS = Array.from({ length: 1200 }, (_, number) => requestOf(number))
const ENDED = REQUESTS.filter((_, number) => number % 3 === 0)

function entriesWith(tails: Tails): Entries {
  const database = new Database(":memory:", { safeIntegers: true })
  for (const step of migrations) database.run(step)
  const entries = new Entries(database, tails)
  for (const requestId of ENDED) {
    entries.isNew(requestId)
    entries.insert({ ...entry, requestId }, null)
    entries.committed()
    if (requestId !== ENDED[266]) continue
    for (const _ of entries.ended.pieces(tails.fresh.ended, 1));
    database.run("UPDATE ledger_marks SET value = 1 WHERE name = 'folded-run'")
    tails.fresh = new Tail()
  }
  return entries
}

test("requests that have ended are found among others, folded or not", () => {
  const entries = entriesWith(new Tails())
  expect([...entries.endedAmong(REQUESTS)].sort()).toEqual([...ENDED].sort())
  expect(ENDED.every((requestId) => entries.endedAs(requestId) !== undefined)).toBe(true)
  expect([...entries.endedAmong([])]).toEqual([])
})

test("a group of ended requests is read once, however many requests are looked for", () => {
  const tails = new Tails()
  const entries = entriesWith(tails)
  let read = 0
  const { fresh } = tails
  fresh.ended.forEach(({ lines, newest }, at) => {
    const counted = {
      newest,
      get lines() {
        read += 1
        return lines
      },
    }
    fresh.ended[at] = counted satisfies EndedGroup
  })
  entries.endedAmong(REQUESTS)
  expect(read).toBe(fresh.ended.length)
  expect(read).toBeGreaterThan(100)
})

test("a request that comes after every known one is new, and those that were looked for are known", () => {
  const entries = entriesWith(new Tails())
  entries.endedAmong(["9-open"])
  expect(entries.isNew("9-open")).toBe(true)
  expect(entries.isNew(ENDED[0] ?? "")).toBe(false)
})
