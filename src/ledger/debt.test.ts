import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { Store } from "../store/contract.ts"
import { openSqlite } from "../store/sqlite/open-sqlite.ts"
import type { Budget } from "./budget.ts"
import { Ledger, type Settlement } from "./ledger.ts"
import type { HoldRequest } from "./ledger-rules.ts"

const DAY_MS = 86_400_000
const NOON = Date.UTC(2026, 10, 16, 12)
let folder: string
let store: Store
let ledger: Ledger
let now: number

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "trivium-debt-"))
  now = NOON
  start()
})
afterEach(async () => {
  expect(await ledger.verify()).toEqual([])
  store.close()
  rmSync(folder, { recursive: true })
})

function start() {
  store = openSqlite(join(folder, "trivium.db"))
  ledger = new Ledger({ table: store.ledger, now: () => now })
  ledger.recover()
}

function restart() {
  store.close()
  start()
}

async function flushAll() {
  store.ledger.beginFlush()
  while (store.ledger.flush(0));
}

let requests = 0
const hold = async (request: Partial<HoldRequest> = {}) => {
  const requestId = `request-${String(++requests).padStart(5, "0")}`
  await ledger.hold({ requestId, tenant: "acme", keyId: "k1", amountNano: 100n, at: now, ...request })
  return requestId
}
const use = { model: "m", provider: "p", usage: { input: 1 } }
const reported = (chargeNano: bigint): Settlement => ({ chargeNano, mayOwe: true, ...use })
const estimated = (chargeNano: bigint): Settlement => ({ chargeNano, ...use })
const topUp = (account: string, amountNano: bigint) =>
  ledger.topUp({ account, amountNano, eventId: `event-${++requests}`, at: now })
const balance = (account = "key:k1") => ledger.balance(account)
const posted = (account: string) => balance(account)?.postedNano

describe("reported usage above hold and balance", () => {
  test("reported usage above hold and balance becomes a debt of the paying account (I10)", async () => {
    await topUp("key:k1", 150n)
    const settled = await ledger.settle(await hold(), reported(170n))
    expect(settled).toMatchObject({ chargeNano: 170n, paidNano: 150n, owedNano: 20n, writtenOffNano: 0n })
    expect(balance()).toMatchObject({ postedNano: 0n, freeNano: 0n, owedNano: 20n })
    expect([posted("revenue"), posted("debt"), posted("write-off")]).toEqual([170n, -20n, 0n])
  })

  test("a debt is the tenant's if the tenant pays, and survives a restart, flushed or not", async () => {
    await topUp("tenant:acme", 100n)
    const requestId = await hold()
    await ledger.settle(requestId, reported(130n))
    for (const act of [restart, flushAll, restart]) {
      await act()
      expect(balance("tenant:acme")).toMatchObject({ freeNano: 0n, owedNano: 30n })
      expect(ledger.receipt(requestId)).toMatchObject({ paidNano: 100n, owedNano: 30n })
    }
  })

  test("reported usage above the hold uses the free balance first, but not other holds", async () => {
    await topUp("key:k1", 160n)
    const [first, second] = [await hold(), await hold({ amountNano: 50n })]
    expect(await ledger.settle(first, reported(120n))).toMatchObject({ paidNano: 110n, owedNano: 10n })
    expect(await ledger.settle(second, reported(50n))).toMatchObject({ paidNano: 50n, owedNano: 0n })
    expect(balance()).toMatchObject({ postedNano: 0n, owedNano: 10n })
  })

  test("there is no debt on an unlimited account, nor for estimated usage", async () => {
    expect(await ledger.settle(await hold(), reported(900n))).toMatchObject({ paidNano: 900n, owedNano: 0n })
    await topUp("key:k1", 100n)
    expect(await ledger.settle(await hold(), estimated(130n))).toMatchObject({ owedNano: 0n, writtenOffNano: 30n })
    expect(balance()?.owedNano).toBe(0n)
  })

  test("a debt counts as spent once, whenever it is paid", async () => {
    await topUp("key:k1", 100n)
    await ledger.settle(await hold(), reported(170n))
    const spent = () => ledger.usage({ from: "2026-11-16", to: "2026-11-16", limit: 9 }).map(({ paidNano }) => paidNano)
    expect(spent()).toEqual([170n])
    await topUp("key:k1", 500n)
    await flushAll()
    expect(spent()).toEqual([170n])
    expect(ledger.leftOf({ period: "day", limitNano: 1000n }, { keyId: "k1", tenant: "acme", at: now })).toBe(830n)
  })
})

describe("an open debt", () => {
  const owe20 = async () => {
    await topUp("key:k1", 150n)
    await ledger.settle(await hold(), reported(170n))
  }

  test("an open debt leaves nothing to spend, and the refusal names it", async () => {
    await topUp("key:k1", 150_000_000n)
    await ledger.settle(await hold(), reported(170_000_000n))
    for (const amountNano of [0n, 1_000_000n]) {
      const refused = hold({ amountNano })
      await expect(refused).rejects.toMatchObject({ code: "insufficient_balance", status: 403 })
      await expect(refused).rejects.toThrow("0 USD is left of this key's balance, which owes 0.02 USD")
    }
  })

  test("an open debt is paid first by a top-up, in parts or whole", async () => {
    await owe20()
    await topUp("key:k1", 15n)
    expect(balance()).toMatchObject({ postedNano: 0n, freeNano: 0n, owedNano: 5n })
    await topUp("key:k1", 105n)
    expect(balance()).toMatchObject({ postedNano: 100n, freeNano: 100n, owedNano: 0n })
    expect([posted("debt"), posted("funding")]).toEqual([0n, -270n])
    await hold()
  })

  test("an open debt is paid once by one top-up event, however often it is sent", async () => {
    await owe20()
    const event = { account: "key:k1", amountNano: 15n, eventId: "invoice", at: now }
    await Promise.all([ledger.topUp(event), ledger.topUp(event)])
    await ledger.topUp(event)
    expect(balance()?.owedNano).toBe(5n)
    await expect(ledger.topUp({ ...event, amountNano: 16n })).rejects.toMatchObject({ code: "idempotency_conflict" })
  })

  test("an open debt is paid by the freed part of other holds", async () => {
    await topUp("key:k1", 200n)
    const [first, second, third] = [await hold(), await hold({ amountNano: 60n }), await hold({ amountNano: 40n })]
    await ledger.settle(first, reported(150n))
    expect(balance()?.owedNano).toBe(50n)
    expect(await ledger.settle(second, reported(30n))).toMatchObject({ paidNano: 30n, owedNano: 0n })
    expect(balance()?.owedNano).toBe(20n)
    expect(await ledger.release(third)).toMatchObject({ paidNano: 0n })
    expect(balance()).toMatchObject({ postedNano: 20n, freeNano: 20n, owedNano: 0n })
    expect(ledger.receipt(second)).toMatchObject({ chargeNano: 30n, paidNano: 30n, owedNano: 0n })
  })

  test("an open debt prevents extending the hold of a running stream", async () => {
    await topUp("key:k1", 200n)
    const [first, second] = [await hold(), await hold()]
    await ledger.settle(first, reported(150n))
    expect(await ledger.extend(second, 1n)).toBe(false)
    await ledger.release(second)
  })

  test("a debt stays while another account pays, and counts again when the key pays again", async () => {
    await owe20()
    await ledger.setFloor("key:k1", null)
    await ledger.settle(await hold(), reported(30n))
    expect(posted("tenant:acme")).toBe(-30n)
    await ledger.setFloor("key:k1", 0n)
    await expect(hold()).rejects.toMatchObject({ code: "insufficient_balance" })
  })
})

describe("a budget that reported usage exceeds", () => {
  const day = (limitNano: bigint): Budget[] => [{ period: "day", limitNano }]
  const left = (limitNano: bigint, budget: Partial<Budget> = {}) =>
    ledger.leftOf({ period: "day", limitNano, ...budget }, { keyId: "k1", tenant: "acme", at: now })

  test("an overshoot reduces the budget of the next periods until they have made up for it", async () => {
    await ledger.settle(await hold({ budgets: day(100n) }), reported(350n))
    expect(left(100n)).toBe(-250n)
    for (const expected of [-150n, -50n, 50n, 100n]) {
      now += DAY_MS
      expect(left(100n)).toBe(expected)
      const allowed = expected > 0n ? expected : 0n
      const refused = hold({ budgets: day(100n), amountNano: allowed + 1n })
      await expect(refused).rejects.toMatchObject({ code: "budget_exceeded" })
      restart()
      expect(left(100n)).toBe(expected)
    }
    await hold({ budgets: day(100n), amountNano: 100n })
  })

  test("an overshoot and the spending of the next period count together", async () => {
    await ledger.settle(await hold({ budgets: day(100n) }), reported(130n))
    now += DAY_MS
    await ledger.settle(await hold({ budgets: day(100n), amountNano: 60n }), reported(60n))
    expect(left(100n)).toBe(10n)
    now += DAY_MS
    expect(left(100n)).toBe(100n)
  })

  test("an overshoot is not carried over if other holds of the period freed as much", async () => {
    const other = await hold({ budgets: day(200n), amountNano: 100n })
    await ledger.settle(await hold({ budgets: day(200n) }), reported(150n))
    await ledger.settle(other, reported(20n))
    now += DAY_MS
    expect(left(200n)).toBe(200n)
  })

  test("an overshoot is judged by the limit of its period", async () => {
    await ledger.settle(await hold({ budgets: day(1000n) }), reported(500n))
    now += DAY_MS
    expect(left(10n)).toBe(10n)
  })

  test("a raised budget makes up for an overshoot sooner", async () => {
    await ledger.settle(await hold({ budgets: day(100n) }), reported(500n))
    now += DAY_MS
    expect(left(1000n)).toBe(600n)
    for (const expected of [600n, 1000n, 1000n]) {
      expect(left(1000n)).toBe(expected)
      const requestId = await hold({ budgets: day(1000n), amountNano: expected })
      await ledger.settle(requestId, reported(expected))
      now += DAY_MS
    }
  })

  test("a tenant's overshoot counts for all its keys, that of a total budget forever, and estimated usage is not carried over", async () => {
    const budgets: Budget[] = [
      { of: "tenant", period: "week", limitNano: 100n },
      { period: "total", limitNano: 120n },
    ]
    await ledger.settle(await hold({ budgets }), reported(150n))
    now += 7 * DAY_MS
    expect(left(100n, { of: "tenant", period: "week" })).toBe(50n)
    expect(left(120n, { period: "total" })).toBe(-30n)
    await ledger.settle(await hold({ keyId: "k2", budgets: day(100n) }), estimated(170n))
    now += DAY_MS
    expect(ledger.leftOf({ period: "day", limitNano: 100n }, { keyId: "k2", tenant: "acme", at: now })).toBe(100n)
  })

  test("a budget includes the overshoot of a request of the day before", async () => {
    const late = await hold({ budgets: day(100n) })
    now += DAY_MS
    await ledger.settle(await hold({ budgets: day(100n) }), reported(110n))
    await ledger.settle(late, reported(140n))
    expect(left(100n)).toBe(-50n)
    now += DAY_MS
    expect(left(100n)).toBe(50n)
  })
})

describe("a clock that is set back", () => {
  const budgets: Budget[] = [{ of: "tenant", period: "day", limitNano: 100n }]

  test("a clock set back reopens no budget: spending counts for the last day with spending", async () => {
    await ledger.settle(await hold({ budgets }), reported(100n))
    for (const act of [() => {}, restart, flushAll, restart]) {
      await act()
      now = NOON - DAY_MS
      await expect(hold({ budgets, amountNano: 1n })).rejects.toMatchObject({ code: "budget_exceeded" })
      await expect(hold({ budgets, keyId: "k2", amountNano: 1n })).rejects.toMatchObject({ code: "budget_exceeded" })
      expect(ledger.spendingDay({ keyId: "k1", tenant: "acme", at: now })).toBe(Math.floor(NOON / DAY_MS))
      now = NOON
    }
  })

  test("a clock set back does not block a key that has not spent yet", async () => {
    await ledger.settle(await hold({ budgets }), reported(100n))
    now -= DAY_MS
    await hold({ budgets, tenant: "beta", keyId: "k9" })
  })

  test("after the clock is set back, open holds count toward the budget, and a hold keeps its day over a restart", async () => {
    await hold({ budgets })
    now -= 3 * DAY_MS
    await expect(hold({ budgets, amountNano: 1n })).rejects.toMatchObject({ code: "budget_exceeded" })
    const more: Budget[] = [{ of: "tenant", period: "day", limitNano: 150n }]
    await hold({ budgets: more, amountNano: 50n })
    restart()
    const [row] = ledger.usage({ from: "2026-11-16", to: "2026-11-16", limit: 9 })
    expect(row).toMatchObject({ requests: 2, paidNano: 150n })
  })
})
