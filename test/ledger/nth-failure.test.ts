// A sequence of holds, extensions, settlements and flushes on a store that fails at its n-th statement, for every n: a
// failed operation reports the failure and leaves nothing, and its retry ends with the same ledger.
import { afterEach, beforeEach, expect, test } from "bun:test"
import { copyFileSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { GatewayError } from "../../src/canonical/gateway-error.ts"
import { Ledger, type Settlement } from "../../src/ledger/ledger.ts"
import { StoreError } from "../../src/store/contract.ts"
import { type FaultyStore, openFaulty } from "./faulty-database.ts"

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

type LedgerAction = (ledger: Ledger, store: FaultyStore) => Promise<unknown>

const fold: LedgerAction = async (_, { table }) => {
  table.beginFlush()
  while (table.flush(0));
}

/** Every operation may be repeated after a failure; those in one list run in one turn. */
const STORY: readonly (readonly LedgerAction[])[] = [
  [(ledger) => ledger.topUp({ account: "key:k1", amountNano: 1000n, eventId: "e1", at: AT })],
  [(ledger) => ledger.hold(wish("r1", 300n)), (ledger) => ledger.hold(wish("r2", 200n))],
  [(ledger) => ledger.extend("r1", 100n), (ledger) => ledger.hold(wish("r3", 50n))],
  [(ledger) => ledger.settle("r1", settlement(390n)), (ledger) => ledger.release("r2", { facts: { attempts: [] } })],
  [fold],
  [(ledger) => ledger.settle("r3", settlement(700n))],
  [fold],
]

interface InjectedFailure {
  readonly at: number
  readonly lasts: boolean
}

async function runStory(path: string, failure?: InjectedFailure) {
  const store = openFaulty(path)
  const { faults, table } = store
  const ledger = new Ledger({ table, now: () => AT })
  ledger.recover()
  const seen = () => ["key:k1", "revenue", "write-off", "funding"].map((name) => ledger.balance(name))
  let counted = 0
  const mended = <Result>(look: () => Result): Result => {
    const before = faults.statements
    faults.failAt(undefined)
    const result = look()
    counted += before
    const rest = failure && !failed ? failure.at - counted : undefined
    faults.failAt(rest, { lasts: failure?.lasts ?? false })
    return result
  }
  let failed = false
  faults.failAt(failure?.at, { lasts: failure?.lasts ?? false })
  for (const turn of STORY) {
    const before = mended(seen)
    const results = await Promise.allSettled(turn.map((act) => act(ledger, store)))
    if (!faults.happened) {
      expect(results.map(({ status }) => status)).toEqual(turn.map(() => "fulfilled"))
      continue
    }
    failed = true
    for (const result of results) expect(isReported(result)).toBe(true)
    expect(mended(seen)).toEqual(before)
    expect(await ledger.verify()).toEqual([])
    for (const act of turn) await act(ledger, store)
  }
  const statements = counted + faults.statements
  faults.failAt(undefined)
  expect(await ledger.verify()).toEqual([])
  const usage = ledger.usage({ from: "2026-11-15", to: "2026-11-15", limit: 10 })
  const left = ledger.leftOf({ period: "day", limitNano: 10_000n }, { keyId: "k1", tenant: "acme", at: AT })
  const end = { balances: seen(), usage, left, receipts: ["r1", "r2", "r3"].map((id) => ledger.receipt(id)) }
  store.close()
  return { end, failed, statements }
}

function isReported(result: PromiseSettledResult<unknown>): boolean {
  if (result.status === "fulfilled") return false
  const { reason } = result
  return reason instanceof StoreError || (reason instanceof GatewayError && reason.code === "store_unavailable")
}

test.each([
  ["once", false],
  ["from then on, for a while", true],
])(
  "a store that fails at its n-th statement, %s, ends with the same ledger as without the failure",
  async (_, lasts) => {
    const whole = await runStory(join(folder, "whole.db"))
    expect(whole.end.receipts.map((receipt) => receipt?.paidNano)).toEqual([390n, 0n, 610n])
    expect(whole.end.usage).toMatchObject([{ requests: 2, paidNano: 1000n }])
    expect(whole.statements).toBeGreaterThan(50)
    for (let at = 0; at < whole.statements; at++) {
      const { end, failed } = await runStory(join(folder, `${at}.db`), { at, lasts })
      expect(failed).toBe(true)
      expect(end).toEqual(whole.end)
    }
  },
)

test("a flush reported as failed that has succeeded is not repeated", async () => {
  let at = 0
  for (let happens = true; happens; at++) {
    const store = openFaulty(join(folder, `done-${at}.db`))
    const ledger = new Ledger({ table: store.table, now: () => AT })
    ledger.recover()
    for (const turn of STORY.slice(0, 4)) await Promise.all(turn.map((act) => act(ledger, store)))
    const seen = () => [ledger.balance("key:k1"), ledger.usage({ from: "2026-11-15", to: "2026-11-15", limit: 10 })]
    const before = seen()
    store.faults.failAt(at, { isDone: true })
    await fold(ledger, store).catch(() => undefined)
    happens = store.faults.happened
    store.faults.failAt(undefined)
    expect(seen()).toEqual(before)
    await fold(ledger, store)
    expect(seen()).toEqual(before)
    expect(await ledger.verify()).toEqual([])
    store.close()
  }
  expect(at).toBeGreaterThan(10)
})

test("a start that fails at its n-th statement and is retried ends with the same ledger", async () => {
  const path = join(folder, "left.db")
  const left = openFaulty(path)
  const ledger = new Ledger({ table: left.table, now: () => AT })
  ledger.recover()
  for (const turn of STORY) await Promise.all(turn.map((act) => act(ledger, left)))
  for (const id of ["r4", "r5"]) await ledger.hold(wish(id, 0n))
  await ledger.settle("r4", settlement(0n))
  left.close()
  const start = (copy: string, at?: number) => {
    copyFileSync(path, copy)
    const store = openFaulty(copy)
    const again = new Ledger({ table: store.table, now: () => AT })
    store.faults.failAt(at)
    const isFirst = tried(() => again.recover())
    const { happened, statements } = store.faults
    store.faults.failAt(undefined)
    if (!isFirst) again.recover()
    const names = ["key:k1", "revenue", "write-off", "funding", "suspense"]
    const usage = again.usage({ from: "2026-11-15", to: "2026-11-15", limit: 10 })
    const end = { balances: names.map((name) => again.balance(name)), usage, receipt: again.receipt("r5")?.outcome }
    store.close()
    return { end, happened, statements }
  }
  const whole = start(join(folder, "whole.db"))
  expect(whole.end.receipt).toBe("recovered")
  for (let at = 0; at < whole.statements; at++) {
    const { end, happened } = start(join(folder, `start-${at}.db`), at)
    expect(happened).toBe(true)
    expect(end).toEqual(whole.end)
  }
})

function tried(act: () => unknown): boolean {
  try {
    act()
    return true
  } catch {
    return false
  }
}
