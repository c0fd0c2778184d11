// A whole story of holds, extensions and endings on a store that fails at its n-th call, for every n: each time what
// failed is told so and has left nothing, and what is done again comes to the same books.
import { afterEach, beforeEach, expect, test } from "bun:test"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { GatewayError } from "../../src/canonical/error.ts"
import { Ledger, type Settlement } from "../../src/ledger/ledger.ts"
import { openSqlite } from "../../src/store/sqlite/open.ts"
import { Faults, faultyTable } from "./faulty-table.ts"

const AT = Date.UTC(2026, 10, 15, 12)
let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "trivium-nth-"))
})
afterEach(() => rmSync(folder, { recursive: true }))

const settlement = (chargeNano: bigint): Settlement => ({
  ...{ chargeNano, model: "m", provider: "p", usage: { input: 10, output: 5 }, pricing: { input: "1", output: "2" } },
})
const wish = (requestId: string, amountNano: bigint) => ({
  ...{ requestId, tenant: "acme", keyId: "k1", amountNano, at: AT },
  budgets: [{ period: "day", limitNano: 10_000n } as const],
})

/** Every one may be done again when it failed; what stands in one list is done in one turn. */
const STORY: readonly (readonly ((ledger: Ledger) => Promise<unknown>)[])[] = [
  [(ledger) => ledger.topUp({ account: "key:k1", amountNano: 1000n, eventId: "e1", at: AT })],
  [(ledger) => ledger.hold(wish("r1", 300n)), (ledger) => ledger.hold(wish("r2", 200n))],
  [(ledger) => ledger.extend("r1", 100n), (ledger) => ledger.hold(wish("r3", 50n))],
  [(ledger) => ledger.settle("r1", settlement(390n)), (ledger) => ledger.release("r2", { attempts: [] })],
  [(ledger) => ledger.settle("r3", settlement(700n))],
]

async function tell({ path, failsAt }: { path: string; failsAt: number | undefined }) {
  const store = openSqlite(path)
  const faults = new Faults()
  const ledger = new Ledger({ table: faultyTable(store.ledger, faults), now: () => AT })
  ledger.recover()
  const books = new Ledger({ table: store.ledger, now: () => AT })
  const seen = () => ["key:k1", "revenue", "write-off", "funding"].map((name) => books.balance(name))
  faults.failAt(failsAt)
  for (const turn of STORY) {
    const before = seen()
    const results = await Promise.allSettled(turn.map((act) => act(ledger)))
    const failed = results.flatMap((result) => (result.status === "rejected" ? [result.reason] : []))
    if (failed.length === 0) continue
    expect(failed).toHaveLength(turn.length)
    for (const reason of failed)
      expect([reason instanceof GatewayError, reason.code]).toEqual([true, "store_unavailable"])
    expect(seen()).toEqual(before)
    expect(await books.verify()).toEqual([])
    for (const act of turn) await act(ledger)
  }
  expect(await books.verify()).toEqual([])
  const usage = books.usage({ from: "2026-11-15", to: "2026-11-15", limit: 10 })
  const receipts = ["r1", "r2", "r3"].map((id) => books.receipt(id))
  const balances = seen()
  store.close()
  return { end: { balances, usage, receipts }, happened: faults.happened, calls: faults.calls }
}

const tellWhole = (failsAt: number | undefined) => tell({ path: join(folder, `${failsAt}.db`), failsAt })

test("a store that fails at its n-th call costs nobody anything", async () => {
  const whole = await tellWhole(undefined)
  expect(whole.end.receipts.map((receipt) => receipt?.paidNano)).toEqual([390n, 0n, 610n])
  expect(whole.end.usage).toMatchObject([{ requests: 2, paidNano: 1000n }])
  expect(whole.calls).toBeGreaterThan(50)
  for (let failsAt = 0; failsAt < whole.calls; failsAt++) {
    const { end, happened } = await tellWhole(failsAt)
    expect(happened).toBe(true)
    expect(end).toEqual(whole.end)
  }
})
