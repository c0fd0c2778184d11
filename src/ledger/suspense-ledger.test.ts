import { afterEach, beforeEach, expect, test } from "bun:test"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { Store } from "../store/contract.ts"
import { openSqlite } from "../store/sqlite/open-sqlite.ts"
import { Ledger } from "./ledger.ts"

const HOUR_MS = 3_600_000
const NOON = Date.UTC(2026, 10, 16, 12)
let folder: string
let store: Store
let ledger: Ledger
let now: number

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "trivium-suspense-"))
  now = NOON
  start()
})
afterEach(async () => {
  expect(await ledger.verify()).toEqual([])
  ledger.stop()
  store.close()
  rmSync(folder, { recursive: true })
})

function start(options: { returnSuspenseAfterMs?: number } = {}) {
  store = openSqlite(join(folder, "trivium.db"))
  ledger = new Ledger({ table: store.ledger, now: () => now, ...options })
  return ledger.recover()
}

/** Simulates a crash with open holds, and a restart. */
function restart(options: { returnSuspenseAfterMs?: number } = {}) {
  ledger.stop()
  store.close()
  return start(options)
}

let requests = 0
async function hold(amountNano = 100n) {
  const requestId = `request-${String(++requests).padStart(5, "0")}`
  await ledger.hold({ requestId, tenant: "acme", keyId: "k1", amountNano, at: now })
  return requestId
}

/** Requests in flight when the process died, each with a known cost. */
async function leaveOpen(amounts: readonly bigint[], lowerBoundNano = 0n) {
  const ids: string[] = []
  for (const amountNano of amounts) ids.push(await hold(amountNano))
  for (const id of ids) ledger.note(id, { lowerBoundNano })
  restart()
  return ids
}

const topUp = (amountNano: bigint) =>
  ledger.topUp({ account: "key:k1", amountNano, eventId: `event-${++requests}`, at: now })
const free = () => ledger.balance("key:k1")?.freeNano
const posted = (account: string) => ledger.balance(account)?.postedNano
const listed = () => ledger.suspense.page(0n, 100).requests.map(({ requestId }) => requestId)
const spent = () => ledger.usage({ from: "2026-11-16", to: "2026-11-16", limit: 9 })
const usage = { model: "m", provider: "p", usage: { input: 1 } }

test("the holds of a killed process are listed, with their sum, their owner and the time of return", async () => {
  await topUp(1000n)
  const [first, second] = await leaveOpen([100n, 50n], 20n)
  expect(ledger.suspense.page(0n, 100)).toEqual({
    requests: [
      ...[{ requestId: first ?? "", tenant: "acme", keyId: "k1", at: NOON, returnsAt: NOON + 24 * HOUR_MS, nano: 80n }],
      ...[
        { requestId: second ?? "", tenant: "acme", keyId: "k1", at: NOON, returnsAt: NOON + 24 * HOUR_MS, nano: 30n },
      ],
    ],
    next: undefined,
  })
  expect([ledger.suspense.sumNano, ledger.suspense.count]).toEqual([110n, 2])
  const page = ledger.suspense.page(0n, 1)
  expect(ledger.suspense.page(page.next ?? 0n, 1).requests).toMatchObject([{ requestId: second }])
})

test("an operator returns suspense once, to the account, its budget and its usage", async () => {
  await topUp(1000n)
  const [id = ""] = await leaveOpen([100n], 20n)
  expect(free()).toBe(900n)
  await Promise.all([ledger.suspense.return(id), ledger.suspense.return(id)])
  await ledger.suspense.return(id)
  await ledger.suspense.settle(id)
  restart()
  await ledger.suspense.return(id)
  expect([free(), posted("suspense"), posted("revenue")]).toEqual([980n, 0n, 20n])
  expect(listed()).toEqual([])
  expect(spent()).toMatchObject([{ requests: 1, paidNano: 20n }])
  expect(ledger.leftOf({ period: "day", limitNano: 100n }, { keyId: "k1", tenant: "acme", at: now })).toBe(80n)
  const ended = { outcome: "recovered", chargeNano: 20n, paidNano: 20n, suspendedNano: 0n, returnedNano: 80n }
  expect(ledger.receipt(id)).toMatchObject(ended)
})

test("an operator settles suspense once, in whole or in part, and the rest is returned", async () => {
  await topUp(1000n)
  const [whole = "", part = ""] = await leaveOpen([100n, 100n], 20n)
  await ledger.suspense.settle(whole)
  await ledger.suspense.settle(part, 30n)
  await ledger.suspense.settle(part, 50n)
  await ledger.suspense.return(whole)
  expect([free(), posted("suspense"), posted("revenue")]).toEqual([850n, 0n, 150n])
  expect(ledger.receipt(whole)).toMatchObject({ chargeNano: 100n, paidNano: 100n, returnedNano: 0n })
  expect(ledger.receipt(part)).toMatchObject({ chargeNano: 50n, paidNano: 50n, returnedNano: 50n })
})

test("settling more than the suspense, or an unknown request, is refused", async () => {
  const [id = ""] = await leaveOpen([100n])
  await expect(ledger.suspense.settle(id, 101n)).rejects.toMatchObject({ code: "invalid_parameter" })
  await expect(ledger.suspense.return("unknown")).rejects.toMatchObject({ code: "resource_not_found", status: 404 })
  expect(listed()).toEqual([id])
})

test("all suspense is returned at once, beyond one batch, flushed or not", async () => {
  await topUp(10_000n)
  await Promise.all(Array.from({ length: 600 }, () => hold(10n)))
  restart()
  store.ledger.beginFlush()
  while (store.ledger.flush(0));
  expect(free()).toBe(4000n)
  expect(await ledger.suspense.returnAll()).toEqual({ requests: 600, nano: 6000n })
  expect(await ledger.suspense.returnAll()).toEqual({ requests: 0, nano: 0n })
  expect([free(), ledger.suspense.sumNano]).toEqual([10_000n, 0n])
})

test("suspense is returned automatically when it is due, and not before", async () => {
  await topUp(1000n)
  const [first = ""] = await leaveOpen([100n])
  now += HOUR_MS
  const [second = ""] = await leaveOpen([200n])
  now += 23 * HOUR_MS - 1
  restart()
  await Bun.sleep(50)
  expect(listed()).toEqual([first, second])
  now += 1
  restart()
  for (let waited = 0; listed().length > 1 && waited < 5000; waited += 5) await Bun.sleep(5)
  expect([listed(), free()]).toEqual([[second], 800n])
  restart({ returnSuspenseAfterMs: 0 })
  for (let waited = 0; listed().length > 0 && waited < 5000; waited += 5) await Bun.sleep(5)
  expect([listed(), free()]).toEqual([[], 1000n])
})

test("returned suspense first pays the account's debt", async () => {
  await topUp(200n)
  const [id = ""] = await leaveOpen([100n])
  await ledger.settle(await hold(100n), { chargeNano: 130n, mayOwe: true, ...usage })
  expect(ledger.balance("key:k1")).toMatchObject({ freeNano: 0n, owedNano: 30n })
  await ledger.suspense.return(id)
  expect(ledger.balance("key:k1")).toMatchObject({ freeNano: 70n, owedNano: 0n })
})
