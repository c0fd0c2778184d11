// The cost of a hold and its settlement, in µs of CPU, including the flushes of their entries:
// node scripts/bun.mjs scripts/ledger-bench.ts [KEYS [ENTRIES [ACTIVE KEYS]]] [own | budgets]. Without numbers, few and
// many of each. `own` gives every key a balance, `budgets` a budget a day and a month.
import { mkdtempSync, rmSync, statSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { chargeOf } from "../src/ledger/cost.ts"
import { Ledger } from "../src/ledger/ledger.ts"
import type { LedgerTable } from "../src/store/contract.ts"
import { openSqlite } from "../src/store/sqlite/open-sqlite.ts"

const AT = Date.UTC(2026, 10, 15, 12)
const ROUNDS = 9
const REQUESTS_A_ROUND: Readonly<Record<number, number>> = { 1: 4096, 8: 8192, 64: 32_768 }
const pricing = { input: "2.5", output: "10", cacheRead: "1.25" }
const usage = { input: 1200, cacheRead: 800, output: 300 }
const budgets = [
  { of: "key", period: "day", limitNano: 10n ** 15n },
  { of: "key", period: "month", limitNano: 10n ** 15n },
] as const

interface BenchSize {
  readonly keys: number
  readonly entries: number
  /** The number of keys that call during the measurement. */
  readonly active: number
}

const words = process.argv.slice(2).filter((word) => !/^\d/.test(word))
const [ownBalance, hasBudgets] = [words.includes("own"), words.includes("budgets")]

let requests = 0
let booked = 0
let next = 1
/** Repeatable chance. */
function below(count: number): number {
  next = (Math.imul(next, 1_664_525) + 1_013_904_223) >>> 0
  return Math.floor((next / 2 ** 32) * count)
}

/** Ids that grow as the gateway's do. */
function newRequestId(): string {
  requests += 1
  return `01${requests.toString(16).padStart(10, "0")}-${below(2 ** 31).toString(16)}-7000-8000-000000000000`
}

/** Ids as long as the gateway's, in random order. */
function keyId(number: number): string {
  return `key_${Bun.hash(String(number)).toString(16).padStart(16, "0")}`
}

type LedgerUnderTest = Pick<Ledger, "hold" | "settle">

async function pairs(books: LedgerUnderTest, { count, group, keys }: { count: number; group: number; keys: number }) {
  for (let done = 0; done < count; done += group) {
    const ids = Array.from({ length: Math.min(group, count - done) }, newRequestId)
    await Promise.all(
      ids.map((requestId) => {
        const wish = {
          requestId,
          tenant: "default",
          keyId: keyId(below(keys)),
          amountNano: 50_000_000n,
          at: AT,
        }
        return books.hold(hasBudgets ? { ...wish, budgets } : wish)
      }),
    )
    await Promise.all(ids.map((requestId) => settle(books, requestId)))
    if (books !== emptyLedger) booked += ids.length
  }
}

function settle(books: LedgerUnderTest, requestId: string) {
  const chargeNano = chargeOf({ usage }, pricing) ?? 0n
  const facts = { model: "openai/gpt-4o", provider: "openai", protocol: "openai-chat" }
  return books.settle(requestId, { chargeNano, ...facts, usage, pricing })
}

async function topUpAll(ledger: Ledger, keys: number): Promise<void> {
  for (let first = 0; first < keys; first += 256) {
    const ids = Array.from({ length: Math.min(256, keys - first) }, (_, at) => keyId(first + at))
    await Promise.all(
      ids.map((id) => ledger.topUp({ account: `key:${id}`, amountNano: 10n ** 12n, eventId: `first-${id}`, at: AT })),
    )
  }
}

const NO_FOLDS = { steps: 0, longestUs: 0, cpuUs: 0 }

/** The table, with what its folds take, and the putting in order after them. */
function watched(table: LedgerTable) {
  const folds = { ...NO_FOLDS }
  const watch = (act: (forMs: number) => boolean) => (forMs: number) => {
    const cpu = process.cpuUsage()
    const more = act(forMs)
    const { user, system } = process.cpuUsage(cpu)
    folds.steps += 1
    folds.cpuUs += user + system
    folds.longestUs = Math.max(folds.longestUs, user + system)
    return more
  }
  return { folds, table: { ...table, flush: watch(table.flush), compact: watch(table.compact) } }
}

const emptyLedger: LedgerUnderTest = {
  hold: async () => {},
  settle: async () => ({
    ...{ outcome: "settled", chargeNano: 0n, paidNano: 0n, writtenOffNano: 0n },
    ...{ owedNano: 0n, suspendedNano: 0n, returnedNano: 0n },
  }),
}

async function cpuOf(books: LedgerUnderTest, { group, keys }: { group: number; keys: number }): Promise<number> {
  const count = REQUESTS_A_ROUND[group] ?? group
  const cpu = process.cpuUsage()
  await pairs(books, { count, group, keys })
  const { user, system } = process.cpuUsage(cpu)
  return (user + system) / count
}

const median = (numbers: number[]) => numbers.toSorted((a, b) => a - b)[numbers.length >> 1] ?? 0

/** Without what the bench itself takes. */
async function measure(ledger: Ledger, { group, keys }: { group: number; keys: number }): Promise<string> {
  const [all, own]: [number[], number[]] = [[], []]
  for (let round = 0; round < ROUNDS; round++) {
    all.push(await cpuOf(ledger, { group, keys }))
    own.push(await cpuOf(emptyLedger, { group, keys }))
  }
  const us = (of: (numbers: number[]) => number) => (of(all) - median(own)).toFixed(1)
  return `group ${group}: ${us(median)} (least ${us((numbers) => Math.min(...numbers))})`
}

async function run({ keys, entries, active }: BenchSize): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "trivium-ledger-bench-"))
  try {
    const path = join(folder, "trivium.db")
    const store = openSqlite(path)
    const { table, folds } = watched(store.ledger)
    const ledger = new Ledger({ table })
    ledger.recover()
    if (ownBalance) await topUpAll(ledger, keys)
    await pairs(ledger, { count: entries, group: 256, keys })
    console.log(`${keys} keys, ${active} active, ${entries} entries ${words.join(" ")}`)
    for (const group of [1, 8, 64]) {
      await pairs(ledger, { count: 5000, group, keys: active })
      Object.assign(folds, NO_FOLDS)
      const result = await measure(ledger, { group, keys: active })
      const each = folds.cpuUs / (ROUNDS * (REQUESTS_A_ROUND[group] ?? 1))
      const steps = `${folds.steps} steps of up to ${(folds.longestUs / 1000).toFixed(1)} ms`
      console.log(`  ${result} µs, of which flushes ${each.toFixed(1)} in ${steps}`)
    }
    let started = performance.now()
    const problems = await ledger.verify()
    const verified = `verified in ${((performance.now() - started) / 1000).toFixed(1)} s, ${problems.length} problems`
    store.close()
    started = performance.now()
    const again = openSqlite(path)
    new Ledger({ table: again.ledger }).recover()
    const recovered = `recovered in ${(performance.now() - started).toFixed(0)} ms`
    again.close()
    const { size } = statSync(path)
    console.log(`  ${verified}; ${recovered}; ${Math.round(size / booked)} bytes a request`)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

const [keys, entries = 0, active = keys] = process.argv
  .slice(2)
  .filter((word) => /^\d/.test(word))
  .map(Number)
const many = 1_000_000
const sizes: BenchSize[] =
  keys !== undefined && active !== undefined
    ? [{ keys, entries, active }]
    : [
        { keys: 10, entries: 0, active: 10 },
        { keys: 10, entries: 5 * many, active: 10 },
        { keys: many, entries: 0, active: many },
        { keys: many, entries: 5 * many, active: 1000 },
        { keys: many, entries: 5 * many, active: many },
      ]
for (const size of sizes) {
  booked = 0
  await run(size)
}
