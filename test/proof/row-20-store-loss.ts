// The store fails for a while: no provider is called without a durable hold, no valid key is rejected as unknown, and
// calls under way are delivered, and settled once when the store works again.
import { Database } from "bun:sqlite"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { RunningGateway, runCommand } from "../stage/gateway.ts"
import { billedUnbooked, type InvariantEvidence, invariantFigures } from "./invariants.ts"
import type { ProofFigure, ProofRow } from "./row.ts"
import { SeededRandom } from "./seeded-random.ts"
import { canLimit, NOTHING_FITS } from "./store-fault.ts"
import { LossSeen, StoreLoss, type StoreOutage } from "./store-loss.ts"

const LONG_RUNS = 6
const OUTAGES_PER_RUN = 4
/** Longer than the last byte of an answer waits for the store. */
const LONG_OUTAGE_MS = 2500
const MOST_OUTAGE_MS = 6000
/** The growth of the store after which it fails. */
const ROOM_BYTES = 64 * 1024
const RESUMES_MS = 10_000
/** The errors a caller may get while the store fails, or because of its own balance. */
const HONEST = ["store_unavailable", "insufficient_balance", "budget_exceeded"]

export const storeLoss: ProofRow = {
  number: 20,
  title: "store loss: SQLite full, and locked",
  async run({ short, print }) {
    const seen = new LossSeen()
    const evidence: InvariantEvidence[] = []
    if (!canLimit)
      print("There is no prlimit here: a gateway is started under a limit instead, and its end ends the outage.")
    for (let number = 0; number < (short ? 1 : LONG_RUNS); number++) {
      const random = new SeededRandom({ seed: Date.now(), number })
      const loss = new StoreLoss({ outages: short ? SHORT_OUTAGES : thrown(random), random, seen })
      evidence.push(await (canLimit ? loss.run() : loss.runUntilRestart()))
      print(`${seen.outages} outages, ${seen.delivered} answers under way, ${seen.resumedMs.toFixed(0)} ms to resume`)
    }
    return [
      { what: "outages", seen: seen.outages, atLeast: !canLimit ? 1 : short ? SHORT_OUTAGES.length : 20 },
      ...invariantFigures(evidence, print),
      ...clientFigures(evidence),
      ...(canLimit ? underWayFigures(seen, evidence) : []),
      {
        what: "the longest time until a request was answered again",
        seen: seen.resumedMs,
        atMost: RESUMES_MS,
        unit: "ms",
      },
      { what: "crashes", seen: seen.crashes, atMost: 0 },
      { what: "faults logged", seen: seen.faults, atMost: 0 },
      ...(await lockFigures()),
    ]
  },
}

/** One that outlasts the answers under way, while nothing fits any more; and one that comes as the store fills up. */
const SHORT_OUTAGES: readonly StoreOutage[] = [
  { lastsMs: LONG_OUTAGE_MS, limitOf: () => NOTHING_FITS },
  { lastsMs: 500, limitOf: (logBytes) => logBytes + ROOM_BYTES },
]

/** The store's files may end at any byte. */
function thrown(random: SeededRandom): StoreOutage[] {
  return Array.from({ length: OUTAGES_PER_RUN }, () => ({
    lastsMs: random.below(MOST_OUTAGE_MS),
    limitOf: (logBytes) => random.below(logBytes + ROOM_BYTES),
  }))
}

function clientFigures(evidence: readonly InvariantEvidence[]): ProofFigure[] {
  const tracedRequests = evidence.flatMap((each) => each.tracedRequests)
  const count = (holds: (tracedRequest: (typeof tracedRequests)[number]) => boolean) =>
    tracedRequests.filter(holds).length
  const unbooked = evidence.reduce((sum, each) => sum + billedUnbooked(each), 0)
  return [
    {
      what: "requests answered with store_unavailable",
      seen: count(({ seen }) => seen.code === "store_unavailable"),
      atLeast: 1,
    },
    { what: "answers 401", seen: count(({ seen }) => seen.status === 401), atMost: 0 },
    {
      what: "requests refused for other reasons than the store or their own funds",
      seen: count(({ seen }) => seen.how === "refused" && !HONEST.includes(seen.code ?? "")),
      atMost: 0,
    },
    { what: "billed calls that are not in the ledger", seen: unbooked, atMost: 0 },
  ]
}

function underWayFigures(seen: LossSeen, evidence: readonly InvariantEvidence[]): ProofFigure[] {
  const recovered = evidence.flatMap(({ books }) => books.entries).filter(({ kind }) => kind === "recovered")
  return [
    { what: "answers under way that arrived whole", seen: seen.delivered, atLeast: seen.outages, needsQuiet: true },
    { what: "of these, while the store was down", seen: seen.deliveredMeanwhile, atLeast: 1, needsQuiet: true },
    { what: "answers under way that did not arrive", seen: seen.undelivered, atMost: 0 },
    { what: "the longest time until all charges were settled", seen: seen.settledMs, atMost: RESUMES_MS, unit: "ms" },
    { what: "holds that only a restart would have ended", seen: recovered.length, atMost: 0 },
  ]
}

/** A running gateway's lock cannot be taken; a starting one reports a locked store. */
async function lockFigures(): Promise<ProofFigure[]> {
  const folder = mkdtempSync(join(tmpdir(), "trivium-locked-"))
  const dataDir = join(folder, "data")
  try {
    const gateway = await RunningGateway.start({ dataDir })
    const isShut = !canRead(dataDir)
    await gateway.stop()
    const holder = new Database(join(dataDir, "trivium.db"))
    holder.run("BEGIN EXCLUSIVE")
    const words = ["serve", "--port", "0", "--admin-port", "0", "--data", dataDir]
    const { code, stderr } = await runCommand(words, { folder })
    holder.close()
    const again = await RunningGateway.start({ dataDir })
    await again.stop()
    return [
      { what: "other processes refused at the store of a running gateway", seen: isShut ? 1 : 0, atLeast: 1 },
      {
        what: "starts on a locked store that were refused with the reason",
        seen: code !== 0 && stderr.includes("in use by another process") ? 1 : 0,
        atLeast: 1,
      },
    ]
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function canRead(dataDir: string): boolean {
  const database = new Database(join(dataDir, "trivium.db"))
  try {
    database.query("SELECT count(*) FROM entries").get()
    return true
  } catch {
    return false
  } finally {
    database.close()
  }
}
