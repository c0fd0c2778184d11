import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { GatewayError } from "../canonical/gateway-error.ts"
import type { Store } from "../store/contract.ts"
import { openSqlite } from "../store/sqlite/open-sqlite.ts"
import { Ledger, type Settlement } from "./ledger.ts"
import type { HoldRequest } from "./ledger-rules.ts"

const NOON = Date.UTC(2026, 10, 15, 12)
const DAY_MS = 86_400_000
let folder: string
let store: Store
let ledger: Ledger
let now: number

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "trivium-ledger-"))
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
  return ledger.recover()
}

/** Simulates a crash with open holds, and a restart. */
function restart() {
  store.close()
  return start()
}

let requests = 0
const hold = async (request: Partial<HoldRequest> = {}) => {
  const requestId = request.requestId ?? `request-${++requests}`
  await ledger.hold({ requestId, tenant: "acme", keyId: "k1", amountNano: 100n, at: now, ...request })
  return requestId
}
const settlement = (chargeNano: bigint, more: Partial<Settlement> = {}): Settlement => ({
  ...{ chargeNano, model: "m/large", provider: "p", usage: { input: 10, output: 5 } },
  ...more,
})
const topUp = (account: string, amountNano: bigint) =>
  ledger.topUp({ account, amountNano, eventId: `event-${++requests}`, at: now })
const posted = (account: string) => ledger.balance(account)?.postedNano

describe("a hold", () => {
  test("a hold reserves its amount on the key's own account, else on its tenant's", async () => {
    await topUp("key:k1", 1000n)
    await hold()
    await hold({ keyId: "k2" })
    expect(ledger.balance("key:k1")).toEqual({
      postedNano: 1000n,
      heldNano: 100n,
      floorNano: 0n,
      freeNano: 900n,
      owedNano: 0n,
    })
    const unlimited = { postedNano: 0n, heldNano: 100n, floorNano: null, freeNano: null, owedNano: 0n }
    expect(ledger.balance("tenant:acme")).toEqual(unlimited)
    expect(ledger.balance("key:k2")).toBeUndefined()
  })

  test("a hold above the free balance is refused, with the needed and the free amount", async () => {
    await topUp("key:k1", 1_500_000_000n)
    await hold({ amountNano: 1_000_000_000n })
    const refused = hold({ amountNano: 500_000_001n })
    expect(refused).rejects.toMatchObject({ code: "insufficient_balance", status: 403 })
    expect(refused).rejects.toThrow("up to 0.500000001 USD, and 0.5 USD is left of this key's balance")
    await refused.catch(() => undefined)
    await hold({ amountNano: 500_000_000n })
  })

  test("a hold may draw on credit down to the floor", async () => {
    await ledger.setFloor("key:k1", -150n)
    await hold({ amountNano: 150n })
    expect(hold({ amountNano: 1n })).rejects.toMatchObject({ code: "insufficient_balance" })
  })

  test("a hold is not made twice for one request, nor after its end", async () => {
    const requestId = await hold()
    expect(hold({ requestId })).rejects.toThrow("held already")
    await ledger.release(requestId)
    expect(hold({ requestId })).rejects.toThrow("has ended")
  })

  test("a hold needs an amount, and a ledger that has recovered", () => {
    expect(hold({ amountNano: -1n })).rejects.toThrow(RangeError)
    const idle = new Ledger({ table: store.ledger })
    const request = { requestId: "r", tenant: "t", keyId: "k", amountNano: 1n, at: now }
    expect(idle.hold(request)).rejects.toThrow("before it has recovered")
  })

  test("500 holds at once on a balance for 10 admit exactly 10 (I4)", async () => {
    await topUp("key:k1", 1099n)
    const all = await Promise.allSettled(Array.from({ length: 500 }, () => hold()))
    const refused = all.filter(({ status }) => status === "rejected")
    expect(refused).toHaveLength(490)
    expect(refused[0]).toMatchObject({ reason: { code: "insufficient_balance" } })
    expect(ledger.balance("key:k1")?.freeNano).toBe(99n)
  })

  test("of 500 holds of mixed sizes at once, each that fits in turn is admitted", async () => {
    await topUp("key:k1", 1000n)
    const amounts = Array.from({ length: 500 }, (_, at) => BigInt(1 + ((at * 37) % 90)))
    const all = await Promise.allSettled(amounts.map((amountNano) => hold({ amountNano })))
    let free = 1000n
    for (const [at, { status }] of all.entries()) {
      const amount = amounts[at] ?? 0n
      expect(status).toBe(amount <= free ? "fulfilled" : "rejected")
      if (amount <= free) free -= amount
    }
    expect(ledger.balance("key:k1")?.freeNano).toBe(free)
  })
})

describe("an extension", () => {
  test("an extension holds more if it fits, and changes nothing otherwise", async () => {
    await topUp("key:k1", 150n)
    const requestId = await hold()
    expect(await ledger.extend(requestId, 51n)).toBe(false)
    expect(await ledger.extend(requestId, 50n)).toBe(true)
    expect(ledger.balance("key:k1")?.heldNano).toBe(150n)
    expect(await ledger.settle(requestId, settlement(150n))).toMatchObject({ paidNano: 150n, writtenOffNano: 0n })
  })

  test("an extension keeps within the budgets of its hold", async () => {
    const requestId = await hold({ budgets: [{ period: "day", limitNano: 120n }] })
    expect(await ledger.extend(requestId, 21n)).toBe(false)
    expect(await ledger.extend(requestId, 20n)).toBe(true)
  })

  test("an extension keeps within the budgets even after a failed transaction", async () => {
    const [requestId, other] = [await hold({ budgets: [{ period: "day", limitNano: 220n }] }), await hold()]
    const also = () => {
      throw new TypeError("a bug")
    }
    await expect(ledger.settle(other, settlement(1n, { also }))).rejects.toThrow("a bug")
    expect(await ledger.extend(requestId, 21n)).toBe(false)
    expect(await ledger.extend(requestId, 20n)).toBe(true)
  })

  test("an extension of an ended or unknown request does not fit", async () => {
    const requestId = await hold()
    await ledger.release(requestId)
    expect(await ledger.extend(requestId, 1n)).toBe(false)
    expect(await ledger.extend("unknown", 1n)).toBe(false)
  })
})

describe("a settlement", () => {
  test("a settlement books the charge from the paying account to revenue, and frees the rest", async () => {
    await topUp("key:k1", 1000n)
    const requestId = await hold()
    const settled = await ledger.settle(requestId, settlement(30n))
    expect(settled).toEqual({
      ...{ outcome: "settled", chargeNano: 30n, paidNano: 30n, writtenOffNano: 0n, suspendedNano: 0n },
      ...{ owedNano: 0n, returnedNano: 0n },
    })
    expect(ledger.balance("key:k1")).toMatchObject({ postedNano: 970n, heldNano: 0n })
    expect([posted("revenue"), posted("funding")]).toEqual([30n, -1000n])
  })

  test("a repeated settlement changes nothing and returns the first outcome, even after a restart (I5)", async () => {
    const requestId = await hold()
    const both = [settlement(30n), settlement(40n)].map((each) => ledger.settle(requestId, each))
    const [first, second] = await Promise.all(both)
    expect(second).toEqual(first as never)
    restart()
    expect(await ledger.settle(requestId, settlement(50n))).toEqual(first as never)
    expect(await ledger.release(requestId)).toEqual(first as never)
    expect(posted("revenue")).toBe(30n)
  })

  test("a settlement above the hold uses the free balance, and the rest is written off (I10)", async () => {
    await topUp("key:k1", 150n)
    const requestId = await hold()
    expect(await ledger.settle(requestId, settlement(170n))).toMatchObject({ paidNano: 150n, writtenOffNano: 20n })
    expect([posted("key:k1"), posted("revenue"), posted("write-off")]).toEqual([0n, 170n, -20n])
  })

  test("a settlement does not touch other holds", async () => {
    await topUp("key:k1", 150n)
    const [first, second] = [await hold(), await hold({ amountNano: 50n })]
    expect(await ledger.settle(first, settlement(120n))).toMatchObject({ paidNano: 100n, writtenOffNano: 20n })
    expect(await ledger.settle(second, settlement(50n))).toMatchObject({ paidNano: 50n, writtenOffNano: 0n })
  })

  test("a settlement without a hold is an error (I9)", () => {
    expect(ledger.settle("unknown", settlement(1n))).rejects.toThrow("never held")
  })

  test("a settlement is never a credit, and counts whole tokens", async () => {
    const requestId = await hold()
    expect(ledger.settle(requestId, settlement(-1n))).rejects.toThrow(RangeError)
    for (const usage of [{ input: -1 }, { output: 0.5 }, { reasoning: Number.NaN }])
      expect(ledger.settle(requestId, settlement(1n, { usage }))).rejects.toThrow("not a count")
    await ledger.release(requestId)
  })
})

describe("a write alongside a settlement", () => {
  /** Any table of the store. */
  const credential = () => store.credentials.find("p")?.address
  const put = (address: string) =>
    store.credentials.put({ provider: "p", address, sealed: "s", setAt: now, settings: null })

  test("a write alongside a settlement happens once, when the settlement is booked", async () => {
    const requestId = await hold()
    const both = ["first", "again"].map((word) => ledger.settle(requestId, settlement(30n, { also: () => put(word) })))
    await Promise.all(both)
    await ledger.settle(requestId, settlement(30n, { also: () => put("later") }))
    expect(credential()).toBe("first")
  })

  test.each([new TypeError("a bug"), new GatewayError("idempotency_conflict", "no")])(
    "a write that fails with its settlement rolls both back and leaves the others of the batch: %p",
    async (thrown) => {
      const [requestId, other] = [await hold(), await hold()]
      const also = () => {
        put("half")
        throw thrown
      }
      const failed = ledger.settle(requestId, settlement(30n, { also }))
      const settled = ledger.settle(other, settlement(40n))
      await expect(failed).rejects.toThrow()
      expect(await settled).toMatchObject({ outcome: "settled", paidNano: 40n })
      expect(credential()).toBeUndefined()
      expect([ledger.receipt(requestId), posted("revenue")]).toEqual([undefined, 40n])
      expect(await ledger.settle(requestId, settlement(30n))).toMatchObject({ paidNano: 30n })
    },
  )
})

describe("a release", () => {
  test("a release charges nothing and frees the hold", async () => {
    const requestId = await hold()
    expect(await ledger.release(requestId)).toMatchObject({ outcome: "released", paidNano: 0n })
    expect(ledger.balance("tenant:acme")).toMatchObject({ postedNano: 0n, heldNano: 0n })
    expect(ledger.receipt(requestId)).toMatchObject({ outcome: "released", facts: { held: "0.0000001" } })
    expect(await ledger.settle(requestId, settlement(5n))).toMatchObject({ outcome: "released", chargeNano: 0n })
  })

  test("a release without a hold does nothing", async () => {
    expect(await ledger.release("unknown")).toMatchObject({ outcome: "released", chargeNano: 0n })
    expect(ledger.receipt("unknown")).toBeUndefined()
  })

  test("a release may leave a receipt", async () => {
    const requestId = await hold()
    await ledger.release(requestId, { protocol: "openai", facts: { attempts: [{ status: 503 }] } })
    const booked = { protocol: "openai", held: "0.0000001" }
    expect(ledger.receipt(requestId, "acme")?.facts).toEqual({ ...booked, attempts: [{ status: 503 }] })
  })
})

describe("a start", () => {
  test("a start charges the known cost of open holds, and puts the rest in suspense", async () => {
    await topUp("key:k1", 1000n)
    const [noted, silent] = [await hold(), await hold({ amountNano: 50n })]
    ledger.note(noted, { lowerBoundNano: 40n })
    ledger.note(noted, { lowerBoundNano: 30n })
    await hold({ amountNano: 1n })
    expect(restart()).toEqual({ holds: 3, chargeNano: 40n, suspendedNano: 111n })
    expect(ledger.balance("key:k1")).toMatchObject({ postedNano: 849n, heldNano: 0n })
    expect([posted("revenue"), posted("suspense")]).toEqual([40n, 111n])
    expect(ledger.receipt(noted)).toMatchObject({ outcome: "recovered", chargeNano: 40n, suspendedNano: 60n })
    expect(await ledger.settle(silent, settlement(9n))).toMatchObject({ outcome: "recovered", chargeNano: 0n })
  })

  test("a start charges a lower bound above the hold as a settlement would", async () => {
    await topUp("key:k1", 110n)
    const requestId = await hold()
    ledger.note(requestId, { lowerBoundNano: 130n })
    ledger.flush()
    expect(restart()).toEqual({ holds: 1, chargeNano: 130n, suspendedNano: 0n })
    expect(ledger.receipt(requestId)).toMatchObject({ paidNano: 110n, writtenOffNano: 20n })
  })

  test("a start pays for the oldest hold first if there is not enough for all", async () => {
    await topUp("key:k1", 10n)
    const [first, second] = [await hold({ amountNano: 0n }), await hold({ amountNano: 0n })]
    for (const requestId of [second, first]) {
      ledger.note(requestId, { lowerBoundNano: 10n })
      ledger.flush()
    }
    restart()
    expect(ledger.receipt(first)).toMatchObject({ paidNano: 10n, writtenOffNano: 0n })
    expect(ledger.receipt(second)).toMatchObject({ paidNano: 0n, writtenOffNano: 10n })
  })

  test("a repeated recovery changes nothing, and spares the holds of this process (I18)", async () => {
    await hold()
    expect(restart().holds).toBe(1)
    const requestId = await hold()
    expect(ledger.recover().holds).toBe(0)
    expect(await ledger.settle(requestId, settlement(7n))).toMatchObject({ outcome: "settled" })
    expect(restart().holds).toBe(0)
  })

  test("a start recovers more holds than one batch", async () => {
    await Promise.all(Array.from({ length: 600 }, () => hold({ amountNano: 1n })))
    expect(restart()).toEqual({ holds: 600, chargeNano: 0n, suspendedNano: 600n })
  })
})

test("a lower bound is written within a second, even without other writes", async () => {
  const requestId = await hold()
  ledger.note(requestId, { lowerBoundNano: 5n })
  await Bun.sleep(1200)
  expect(restart()).toMatchObject({ chargeNano: 5n })
})

describe("a budget", () => {
  const day = (limitNano: bigint) => [{ period: "day", limitNano } as const]

  test("a budget counts spending and holds, and reports when it resets", async () => {
    await ledger.settle(await hold(), settlement(60n))
    await hold({ amountNano: 30n })
    const refused = hold({ amountNano: 11n, budgets: day(100n) })
    expect(refused).rejects.toMatchObject({ code: "budget_exceeded", status: 403 })
    expect(refused).rejects.toThrow(
      "0.00000001 USD is left of the key's budget of 0.0000001 USD per day. It resets on 2026-11-16",
    )
    await refused.catch(() => undefined)
    await hold({ amountNano: 10n, budgets: day(100n) })
  })

  test("a budget holds for requests of one turn together", async () => {
    const all = await Promise.allSettled(Array.from({ length: 50 }, () => hold({ budgets: day(1000n) })))
    expect(all.filter(({ status }) => status === "fulfilled")).toHaveLength(10)
  })

  test("a key's budget counts the key, and a tenant's counts all its keys", async () => {
    await hold({ keyId: "k1" })
    await hold({ keyId: "k2", budgets: day(100n) })
    const budgets = [{ of: "tenant", period: "month", limitNano: 299n } as const]
    expect(hold({ keyId: "k3", budgets })).rejects.toThrow("the tenant's budget")
  })

  test("a budget counts a settlement in the window of its hold, across midnight and a restart (I16)", async () => {
    const late = await hold()
    now += DAY_MS
    await ledger.settle(late, settlement(100n))
    await hold({ amountNano: 100n, budgets: day(100n) })
    restart()
    expect(hold({ amountNano: 1n, budgets: day(100n) })).rejects.toMatchObject({ code: "budget_exceeded" })
    now -= DAY_MS
    expect(hold({ amountNano: 1n, budgets: day(100n) })).rejects.toMatchObject({ code: "budget_exceeded" })
  })

  test("a budget is not reset by a clock that steps back and forth (I19)", async () => {
    const midnight = Date.UTC(2026, 10, 16)
    const tries: boolean[] = []
    for (const step of [-1, 1, -1, 1, -1]) {
      now = midnight + step * 1000
      tries.push(await hold({ amountNano: 100n, budgets: day(100n) }).then(Boolean, () => false))
    }
    expect(tries).toEqual([true, true, false, false, false])
  })

  test.each([
    ["day", 0n],
    ["week", 100n],
    ["month", 300n],
    ["total", 700n],
  ] as const)("a budget per %s counts only that window", async (period, spent) => {
    // On a Sunday: the day before it, the Sunday before, and the month before.
    for (const [date, amountNano] of [
      [14, 100n],
      [8, 200n],
      [-3, 400n],
    ] as const) {
      now = Date.UTC(2026, 10, date)
      await ledger.settle(await hold({ amountNano }), settlement(amountNano))
    }
    const at = Date.UTC(2026, 10, 15)
    expect(ledger.leftOf({ period, limitNano: 1000n }, { keyId: "k1", tenant: "acme", at })).toBe(1000n - spent)
  })
})

describe("a top-up", () => {
  const event = { account: "key:k1", amountNano: 100n, eventId: "e", at: NOON }

  test("a top-up is booked once per event (I13)", async () => {
    await Promise.all([ledger.topUp(event), ledger.topUp(event)])
    restart()
    await ledger.topUp(event)
    expect([posted("key:k1"), posted("funding")]).toEqual([100n, -100n])
  })

  test.each([{ amountNano: 101n }, { account: "key:k2" }])(
    "a top-up with the event id of another payment is refused: %p",
    async (other) => {
      await ledger.topUp(event)
      expect(ledger.topUp({ ...event, ...other })).rejects.toMatchObject({ code: "idempotency_conflict" })
    },
  )

  test.each([{ amountNano: 0n }, { amountNano: -1n }, { amountNano: 10n ** 19n }, { account: "revenue" }])(
    "an invalid top-up is refused: %p",
    (other) => {
      expect(ledger.topUp({ ...event, ...other })).rejects.toMatchObject({ code: "invalid_parameter" })
    },
  )

  test("a first top-up limits a tenant, and does not pay for its earlier spending", async () => {
    await ledger.settle(await hold(), settlement(70n))
    await hold()
    await topUp("tenant:acme", 500n)
    expect(ledger.balance("tenant:acme")).toMatchObject({ postedNano: 430n, heldNano: 100n, freeNano: 500n })
    expect(hold({ amountNano: 501n })).rejects.toMatchObject({ code: "insufficient_balance" })
  })

  test("several first top-ups at once limit an account once", async () => {
    await ledger.settle(await hold(), settlement(70n))
    await Promise.all([topUp("tenant:acme", 10n), hold({ amountNano: 10n }), topUp("tenant:acme", 5n)])
    expect(ledger.balance("tenant:acme")?.freeNano).toBe(5n)
  })
})

describe("a floor", () => {
  test("a floor can be removed and set again", async () => {
    await ledger.setFloor("key:k1", 0n)
    expect(hold()).rejects.toMatchObject({ code: "insufficient_balance" })
    await ledger.setFloor("key:k1", null)
    await hold()
    expect(ledger.balance("key:k1")?.freeNano).toBeNull()
  })

  test("a floor above the balance is refused", async () => {
    await topUp("key:k1", 100n)
    expect(ledger.setFloor("key:k1", 101n)).rejects.toMatchObject({ code: "invalid_parameter", param: "floor" })
    expect(ledger.setFloor("key:new", 1n)).rejects.toMatchObject({ code: "invalid_parameter" })
    await ledger.setFloor("key:k1", 100n)
    expect(ledger.balance("key:new")).toBeUndefined()
  })
})

describe("a receipt", () => {
  test("a receipt shows the booked amounts, the usage, and the version of the prices", async () => {
    const requestId = await hold()
    const pricing = { input: "1", output: "2" }
    await ledger.settle(requestId, settlement(30n, { pricing, facts: { estimated: true } }))
    const receipt = ledger.receipt(requestId, "acme")
    expect(receipt).toMatchObject({
      ...{ requestId, tenant: "acme", keyId: "k1", at: NOON, outcome: "settled", chargeNano: 30n },
      facts: { model: "m/large", provider: "p", usage: { input: 10, output: 5 }, estimated: true },
    })
    expect(ledger.pricing(String(receipt?.facts?.price_version))).toEqual(pricing)
    expect(ledger.receipt(requestId, "other")).toBeUndefined()
  })

  test("dropped receipts lose their facts, a bounded number at once, and no booked amount", async () => {
    const ids = await Promise.all([hold(), hold(), hold()])
    for (const id of ids) await ledger.settle(id, settlement(30n))
    expect(await ledger.dropReceiptsBefore(now, 10)).toBe(0)
    expect(await ledger.dropReceiptsBefore(now + 1, 2)).toBe(2)
    expect(ids.map((id) => ledger.receipt(id)?.facts === undefined)).toEqual([true, true, false])
    expect(ledger.receipt(ids[0] ?? "")).toMatchObject({ chargeNano: 30n })
  })
})

describe("usage", () => {
  const all = { from: "2026-01-01", to: "2027-01-01", limit: 100 }
  const use = async (request: Partial<HoldRequest>, more: Partial<Settlement> = {}) =>
    ledger.settle(await hold(request), settlement(10n, more))

  test("usage is summed by day, key, model and provider", async () => {
    await use({})
    await use({}, { usage: { input: 1, cacheRead: 7, reasoning: 2 }, images: 3 })
    await use({}, { model: "m/small" })
    const [large, small] = ledger.usage(all)
    expect(large).toMatchObject({ date: "2026-11-15", tenant: "acme", keyId: "k1", model: "m/large", provider: "p" })
    expect(large).toMatchObject({
      requests: 2,
      input: 11,
      output: 5,
      cacheRead: 7,
      reasoning: 2,
      images: 3,
      paidNano: 20n,
    })
    expect(small).toMatchObject({ model: "m/small", requests: 1 })
  })

  test("usage counts for the day of the hold, including recovered requests", async () => {
    await hold({ at: NOON - DAY_MS })
    restart()
    expect(ledger.usage(all)).toMatchObject([{ date: "2026-11-14", model: "unknown", requests: 1, paidNano: 100n }])
  })

  test("usage is read in pages with every row once, for any filter", async () => {
    for (const tenant of ["acme", "beta"])
      for (const keyId of [`${tenant}-1`, `${tenant}-2`])
        for (const day of [0, 1, 5])
          for (const model of ["m/a", "m/b"]) await use({ tenant, keyId, at: NOON - day * DAY_MS }, { model })
    const filters = [
      {},
      { tenant: "beta" },
      { tenant: "beta", keyId: "beta-2" },
      { model: "m/b" },
      { tenant: "acme", model: "m/a" },
    ]
    for (const filter of filters) {
      const whole = ledger.usage({ ...all, ...filter })
      const wanted = ledger
        .usage(all)
        .filter((row) => Object.entries(filter).every(([name, value]) => row[name as "tenant"] === value))
      expect(whole).toEqual(wanted)
      const paged = []
      for (let page = ledger.usage({ ...all, ...filter, limit: 2 }); page.length > 0; ) {
        paged.push(...page)
        const after = page.at(-1)
        page = ledger.usage({ ...all, ...filter, limit: 2, ...(after && { after }) })
      }
      expect(paged).toEqual([...whole])
    }
    expect(ledger.usage({ ...all, from: "2026-11-14", to: "2026-11-14" })).toHaveLength(8)
  })

  test("usage before a date is dropped, a bounded number of rows at once", async () => {
    for (const day of [0, 1, 2, 3]) await use({ at: NOON - day * DAY_MS })
    expect(await ledger.dropUsageBefore("2026-11-15", 2)).toBe(2)
    expect(ledger.usage(all).map(({ date }) => date)).toEqual(["2026-11-14", "2026-11-15"])
    expect(await ledger.dropUsageBefore("2026-11-15", 2)).toBe(1)
    expect(await ledger.dropUsageBefore("2026-11-15", 2)).toBe(0)
  })

  test("an invalid usage query is refused", () => {
    expect(() => ledger.usage({ ...all, from: "yesterday" })).toThrow("not a date")
    expect(() => ledger.usage({ ...all, keyId: "k1" })).toThrow("must name its tenant")
  })
})
