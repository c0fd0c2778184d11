// One measurement, in a process of its own: `measure-ledger.ts fill|read engine|plain ENTRIES FILE`. `fill` ends as a
// killed gateway does, so that `read` can measure the start after it. Prints its figures as JSON.
import { Database } from "bun:sqlite"
import { statSync, writeSync } from "node:fs"
import { chargeOf } from "../../src/ledger/cost.ts"
import { Ledger } from "../../src/ledger/ledger.ts"
import type { LedgerTable } from "../../src/store/contract.ts"
import { openSqlite } from "../../src/store/sqlite/open-sqlite.ts"
import { plainLedger } from "./plain-ledger.ts"
import { openPlainDatabase } from "./plain-schema.ts"

export type LedgerKind = "engine" | "plain"

export interface FillFigures {
  /**
   * CPU of a hold and its settlement, without the workload's own: over all entries and the compaction after them, and
   * over the last tenth of the entries.
   */
  readonly cpuUs: number
  readonly lastCpuUs: number
  readonly seconds: number
  readonly rssMb: number
}

export interface ReadFigures {
  readonly openAfterKillMs: number
  readonly openMs: number
  readonly bytesPerEntry: number
  readonly receiptUs: number
  readonly budgetUs: number
  readonly usagePageUs: number
  /** The revenue of each model, summed in SQL over all entries; undefined if they are too many. */
  readonly adHocMs: number | undefined
}

const DAYS = 30
const DAY_MS = 86_400_000
const FIRST_DAY = Math.floor(Date.UTC(2026, 9, 1) / DAY_MS)
const KEYS = 1000
/** Requests that are held, and then settled, at once. */
const GROUP = 64
const READS = 1000
const MOST_AD_HOC = 1_000_000
const OWN_ENTRIES = 128_000
const MODELS = ["openai/gpt-4o", "openai/gpt-4o-mini", "anthropic/claude-sonnet-4.5", "google/gemini-2.5-flash"]
const pricing = { input: "2.5", output: "10", cacheRead: "1.25" }
const usage = { input: 1200, cacheRead: 800, output: 300 }
const chargeNano = chargeOf({ usage }, pricing) ?? 0n

function openTable(kind: LedgerKind, path: string): { table: LedgerTable; close(): void } {
  if (kind === "engine") {
    const { ledger: table, close } = openSqlite(path)
    return { table, close }
  }
  const database = openPlainDatabase(path)
  return { table: plainLedger(database), close: () => database.close() }
}

/** Grows as the gateway's ids do, and can be told from the number of the request. */
function requestId(number: number): string {
  return `01${number.toString(16).padStart(10, "0")}-${Bun.hash.crc32(String(number)).toString(16).padStart(8, "0")}-7000-8000-000000000000`
}

function keyId(number: number): string {
  return `key_${Bun.hash(String(number)).toString(16).padStart(16, "0")}`
}

type BookedLedger = Pick<Ledger, "hold" | "settle">

const emptyLedger: BookedLedger = {
  hold: async () => {},
  settle: async () => ({
    ...{ outcome: "settled", chargeNano: 0n, paidNano: 0n, writtenOffNano: 0n },
    ...{ owedNano: 0n, suspendedNano: 0n, returnedNano: 0n },
  }),
}

async function bookGroup(
  ledger: BookedLedger,
  { from, to, at }: { from: number; to: number; at: number },
): Promise<void> {
  const numbers = Array.from({ length: to - from }, (_, index) => from + index)
  await Promise.all(
    numbers.map((number) =>
      ledger.hold({
        ...{ requestId: requestId(number), tenant: "default", keyId: keyId(Bun.hash.crc32(`k${number}`) % KEYS) },
        ...{ amountNano: 50_000_000n, at },
      }),
    ),
  )
  await Promise.all(
    numbers.map((number) => {
      const model = MODELS[number % MODELS.length] ?? ""
      const provider = model.slice(0, model.indexOf("/"))
      const facts = { attempts: [{ provider, model, status: 200 }] }
      const what = { model, provider, usage, pricing, protocol: "openai-chat", facts }
      return ledger.settle(requestId(number), { chargeNano, ...what })
    }),
  )
}

async function fill(kind: LedgerKind, { entries, path }: { entries: number; path: string }): Promise<FillFigures> {
  let at = FIRST_DAY * DAY_MS
  const { table } = openTable(kind, path)
  const ledger = new Ledger({ table, now: () => at })
  ledger.recover()
  const startedAt = performance.now()
  const start = process.cpuUsage()
  let lastTenth = start
  const lastFrom = entries - Math.floor(entries / 10)
  for (let done = 0; done < entries; done += GROUP) {
    if (done < lastFrom && done + GROUP >= lastFrom) lastTenth = process.cpuUsage()
    at = FIRST_DAY * DAY_MS + Math.floor((done / entries) * DAYS * DAY_MS)
    await bookGroup(ledger, { from: done, to: Math.min(done + GROUP, entries), at })
  }
  const lastUs = cpuSince(lastTenth)
  while (table.compact(100));
  const allUs = cpuSince(start)
  const [seconds, rssMb] = [(performance.now() - startedAt) / 1000, process.memoryUsage.rss() / 2 ** 20]
  const own = await workloadUs()
  return { cpuUs: allUs / entries - own, lastCpuUs: lastUs / (entries - lastFrom) - own, seconds, rssMb }
}

function cpuSince(before: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(before)
  return user + system
}

/** CPU that the workload itself takes for a request. */
async function workloadUs(): Promise<number> {
  const start = process.cpuUsage()
  for (let done = 0; done < OWN_ENTRIES; done += GROUP)
    await bookGroup(emptyLedger, { from: done, to: done + GROUP, at: 0 })
  return cpuSince(start) / OWN_ENTRIES
}

/** As a start of the gateway: open, load, recover. */
function start(kind: LedgerKind, path: string) {
  const startedAt = performance.now()
  const { table, close } = openTable(kind, path)
  const ledger = new Ledger({ table })
  ledger.recover()
  return { table, ledger, close, tookMs: performance.now() - startedAt }
}

function read(kind: LedgerKind, { entries, path }: { entries: number; path: string }): ReadFigures {
  const killed = start(kind, path)
  killed.close()
  const bytesPerEntry = statSync(path).size / entries
  const opened = Array.from({ length: 5 }, () => {
    const { close, tookMs } = start(kind, path)
    close()
    return tookMs
  })
  const { table, ledger, close } = start(kind, path)
  const days = { from: FIRST_DAY, to: FIRST_DAY + DAYS }
  const budgetUs = timeUs(() => table.spend.ofTenant("default", days))
  const receiptUs = timeMeanUs((each) => {
    const found = ledger.receipt(requestId((each * 7919) % entries))
    if (found?.chargeNano !== chargeNano) throw new Error(`request ${each} has no receipt`)
  })
  const usagePageUs = timeMeanUs(() => table.usage.page({ ...days, tenant: "default", limit: 100 }))
  close()
  const median = opened.toSorted((a, b) => a - b)[2] ?? 0
  const adHocMs = entries > MOST_AD_HOC ? undefined : timeAdHocQuery(path)
  return { openAfterKillMs: killed.tookMs, openMs: median, bytesPerEntry, receiptUs, budgetUs, usagePageUs, adHocMs }
}

function timeAdHocQuery(path: string): number {
  const database = new Database(path, { readonly: true })
  const us = timeUs(() => database.query("SELECT model, sum(revenue) FROM entries GROUP BY model").all())
  database.close()
  return us / 1000
}

function timeUs(act: () => unknown): number {
  const startedAt = performance.now()
  act()
  return (performance.now() - startedAt) * 1000
}

function timeMeanUs(act: (each: number) => unknown): number {
  const all = timeUs(() => {
    for (let each = 0; each < READS; each++) act(each)
  })
  return all / READS
}

if (import.meta.main) {
  const [job, kind, count, path = ""] = process.argv.slice(2)
  const size = { entries: Number(count), path }
  const figures = job === "fill" ? await fill(kind as LedgerKind, size) : read(kind as LedgerKind, size)
  writeSync(1, JSON.stringify(figures))
  if (job === "fill") process.kill(process.pid, "SIGKILL")
  process.exit()
}
