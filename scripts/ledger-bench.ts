// What a hold and its settlement cost, in µs of CPU and of time:
// node scripts/bun.mjs scripts/ledger-bench.ts [KEYS [ENTRIES [ACTIVE KEYS]]]. Without arguments, few and many of each.
import { mkdtempSync, rmSync, statSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { costOf } from "../src/ledger/cost.ts"
import { Ledger } from "../src/ledger/ledger.ts"
import { openSqlite } from "../src/store/sqlite/open.ts"

const MEASURED = 32_000
const AT = Date.UTC(2026, 10, 15, 12)
const pricing = { input: "2.5", output: "10", cacheRead: "1.25" }
const usage = { input: 1200, cacheRead: 800, output: 300 }

interface Size {
  readonly keys: number
  readonly entries: number
  /** How many of the keys call while it is measured. */
  readonly active: number
}

let requests = 0
let next = 1
/** Repeatable chance. */
function below(count: number): number {
  next = (Math.imul(next, 1_664_525) + 1_013_904_223) >>> 0
  return next % count
}

/** Ids that grow as the gateway's do. */
function newRequestId(): string {
  requests += 1
  return `01${requests.toString(16).padStart(10, "0")}-${below(2 ** 31).toString(16)}-7000-8000-000000000000`
}

async function pairs(ledger: Ledger, { count, group, keys }: { count: number; group: number; keys: number }) {
  for (let done = 0; done < count; done += group) {
    const ids = Array.from({ length: Math.min(group, count - done) }, newRequestId)
    await Promise.all(
      ids.map((requestId) =>
        ledger.hold({ requestId, tenant: "default", keyId: `key_${below(keys)}`, amountNano: 50_000_000n, at: AT }),
      ),
    )
    await Promise.all(ids.map((requestId) => settle(ledger, requestId)))
  }
}

function settle(ledger: Ledger, requestId: string) {
  const cost = costOf({ usage }, pricing)
  return ledger.settle(requestId, {
    ...{ chargeNano: cost?.nanoUsd ?? 0n, model: "openai/gpt-4o", provider: "openai", usage, pricing },
    facts: {
      protocol: "openai-chat",
      lines: (cost?.lines ?? []).map((line) => ({ ...line })),
      attempts: [{ model: "openai/gpt-4o", provider: "openai", status: 200 }],
    },
  })
}

async function fill(ledger: Ledger, { keys, entries }: Size): Promise<void> {
  for (let first = 0; first < keys; first += 256) {
    const some = Array.from({ length: Math.min(256, keys - first) }, (_, at) => `key_${first + at}`)
    const topUps = some.map((id) =>
      ledger.topUp({ account: `key:${id}`, amountNano: 10n ** 12n, eventId: `first-${id}`, at: AT }),
    )
    await Promise.all(topUps)
  }
  await pairs(ledger, { count: entries, group: 256, keys })
}

async function measure(ledger: Ledger, { group, keys }: { group: number; keys: number }): Promise<string> {
  const [cpu, started] = [process.cpuUsage(), performance.now()]
  await pairs(ledger, { count: MEASURED, group, keys })
  const { user, system } = process.cpuUsage(cpu)
  const each = (us: number) => (us / MEASURED).toFixed(1).padStart(6)
  return `group ${String(group).padStart(2)}: ${each(user + system)} µs CPU ${each((performance.now() - started) * 1000)} µs`
}

async function run(size: Size): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "trivium-ledger-bench-"))
  try {
    const path = join(folder, "trivium.db")
    const store = openSqlite(path)
    const ledger = new Ledger({ table: store.ledger })
    ledger.recover()
    await fill(ledger, size)
    const parts: string[] = []
    for (const group of [1, 64]) {
      await pairs(ledger, { count: 5_000, group, keys: size.active })
      parts.push(await measure(ledger, { group, keys: size.active }))
    }
    const started = performance.now()
    const problems = await ledger.verify()
    const verified = `verified in ${((performance.now() - started) / 1000).toFixed(1)} s, ${problems.length} problems`
    store.close()
    const mib = Math.round(statSync(path).size / 2 ** 20)
    console.log(
      `${size.keys} keys, ${size.active} active, ${size.entries} entries (${mib} MiB): ${parts.join(" | ")} | ${verified}`,
    )
  } finally {
    rmSync(folder, { recursive: true })
  }
}

const [keys, entries = 0, active = keys] = process.argv.slice(2).map(Number)
const many = 1_000_000
const sizes: Size[] =
  keys !== undefined && active !== undefined
    ? [{ keys, entries, active }]
    : [
        { keys: 10, entries: 0, active: 10 },
        { keys: 10, entries: many, active: 10 },
        { keys: many, entries: 0, active: 10 },
        { keys: many, entries: many, active: 1000 },
        { keys: many, entries: many, active: many },
      ]
for (const size of sizes) await run(size)
