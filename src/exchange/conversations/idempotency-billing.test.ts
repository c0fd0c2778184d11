// Idempotency and the ledger together: with any failure and in any order, a request is billed once and no claim stays.
import { expect, test } from "bun:test"
import { setImmediate } from "node:timers/promises"
import fc from "fast-check"
import { GatewayError } from "../../canonical/gateway-error.ts"
import { Ledger } from "../../ledger/ledger.ts"
import { type IdempotencyTable, type Store, StoreError } from "../../store/contract.ts"
import { type ClaimInput, openMemory, registryOn } from "./idempotency.fixture.ts"
import type { IdempotencyRegistry } from "./idempotency.ts"

const NOON = Date.UTC(2026, 10, 15, 12)
const CHARGE = 7n

/** The same table with one failing call; undefined for none. */
function failing(table: IdempotencyTable, at: number | undefined) {
  const seen = { calls: 0 }
  const entries = Object.entries(table).map(([name, call]) => [
    name,
    (...given: unknown[]) => {
      if (seen.calls++ === at) throw new StoreError("The store rejects writes: disk I/O error")
      return (call as (...given: unknown[]) => unknown)(...given)
    },
  ])
  return { table: Object.fromEntries(entries) as IdempotencyTable, seen }
}

interface ExchangeScenario {
  readonly ledger: Ledger
  readonly repeats: IdempotencyRegistry
  readonly input: ClaimInput
  /** Awaited between the steps. */
  readonly pause?: () => Promise<unknown>
  readonly upstreamFails?: boolean
}

/** Runs one call as far as money and idempotency are concerned; returns what its client receives. */
async function exchange({
  ledger,
  repeats,
  input,
  pause = async () => {},
  upstreamFails,
}: ExchangeScenario): Promise<string> {
  const { requestId, keyId } = input
  try {
    await pause()
    const begun = repeats.begin(input)
    if ("body" in begun) return `kept of ${begun.requestId}`
    try {
      await ledger.hold({ requestId, tenant: "t", keyId, amountNano: 100n, at: NOON })
      await pause()
      begun.sent(Buffer.from("Hel"))
      if (upstreamFails) throw new GatewayError("upstream_unavailable", "gone")
      const also = () => begun.answered({ status: 200, contentType: "text/plain", last: Buffer.from("lo.") })
      await ledger.settle(requestId, { chargeNano: CHARGE, model: "m", provider: "p", usage: {}, also })
      await pause()
      return "answered"
    } catch (thrown) {
      await ledger.release(requestId)
      throw thrown
    } finally {
      begun.end()
    }
  } catch (thrown) {
    return thrown instanceof GatewayError ? thrown.code : String(thrown)
  }
}

function ledgerOn(store: Store): Ledger {
  const ledger = new Ledger({ table: store.ledger, now: () => NOON })
  ledger.recover()
  return ledger
}

const claimInput = (requestId: string, keepsAnswer: boolean): ClaimInput => ({
  ...{ keyId: "k1", tenant: "acme", idempotencyKey: "once", bodyHash: "same", requestId, keepsAnswer },
})

test.each([true, false])(
  "a store that fails at its n-th call leaves nothing running and bills once (kept: %p)",
  async (keeps) => {
    /** Retries with the same idempotency key until the outcome is known, as a client would. */
    const insist = async (failsAt: number | undefined) => {
      const store = openMemory()
      const { table, seen } = failing(store.idempotency, failsAt)
      const [ledger, repeats] = [ledgerOn(store), registryOn(table)]
      const outcomes: string[] = []
      for (const n of [1, 2, 3]) outcomes.push(await exchange({ ledger, repeats, input: claimInput(`r${n}`, keeps) }))
      expect(await ledger.verify()).toEqual([])
      const revenue = ledger.balance("revenue")?.postedNano
      store.close()
      return { outcomes, revenue, calls: seen.calls }
    }
    const whole = await insist(undefined)
    const repeated = keeps ? "kept of r1" : "idempotency_replayed"
    expect(whole).toMatchObject({ outcomes: ["answered", repeated, repeated], revenue: CHARGE })
    expect(whole.calls).toBeGreaterThan(5)
    for (let failsAt = 0; failsAt < whole.calls; failsAt++) {
      const { outcomes, revenue } = await insist(failsAt)
      expect(outcomes.filter((each) => each === "store_unavailable")).toHaveLength(1)
      expect(outcomes.filter((each) => each === "answered")).toHaveLength(1)
      expect(revenue).toBe(CHARGE)
    }
  },
)

/** Runs the waiting calls step by step, in the scheduled order. */
async function steps(scheduler: fc.Scheduler, count: number): Promise<void> {
  for (let step = 0; step < count; step++) {
    if (scheduler.count() > 0) await scheduler.waitOne()
    // Grouped writes happen after a turn of the event loop.
    await setImmediate()
    await setImmediate()
  }
}

test("repeated requests in any order, with faults and a crash, are billed once", async () => {
  const one = fc.record({ upstreamFails: fc.boolean(), keeps: fc.boolean() })
  const maybe = (count: number) => fc.option(fc.nat(count), { nil: undefined })
  const property = fc.asyncProperty(
    fc.scheduler(),
    fc.array(one, { minLength: 2, maxLength: 6 }),
    fc.record({ failsAt: maybe(30), diesAfter: maybe(18) }),
    async (scheduler, all, { failsAt, diesAfter }) => {
      const store = openMemory()
      const [ledger, repeats] = [ledgerOn(store), registryOn(failing(store.idempotency, failsAt).table)]
      const pause = () => scheduler.schedule(Promise.resolve())
      const outcomes = new Map<string, string>()
      const exchanges = all.map(async ({ upstreamFails, keeps }, n) => {
        outcomes.set(
          `r${n}`,
          await exchange({ ledger, repeats, input: claimInput(`r${n}`, keeps), pause, upstreamFails }),
        )
      })
      if (diesAfter === undefined) await scheduler.waitFor(Promise.all(exchanges))
      else await steps(scheduler, diesAfter)
      const next = ledgerOn(store)
      const billed = all.map((_, n) => `r${n}`).filter((id) => next.receipt(id)?.outcome === "settled")
      expect(billed.length).toBeLessThanOrEqual(1)
      for (const [id, what] of outcomes) {
        if (what === "answered") expect(billed).toEqual([id])
        if (what.startsWith("kept")) expect(what).toBe(`kept of ${billed[0]}`)
      }
      const later = await exchange({
        ledger: next,
        repeats: registryOn(store.idempotency),
        input: claimInput("later", false),
      })
      expect(later).toBe(billed.length === 1 ? "idempotency_replayed" : "answered")
      expect(next.balance("revenue")?.postedNano).toBe(CHARGE)
      expect(await next.verify()).toEqual([])
      store.close()
    },
  )
  await fc.assert(property, { numRuns: 200 })
})
