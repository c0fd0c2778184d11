// One gateway under load whose store fails for a while, repeatedly, with the records of clients, upstream and ledger.
import { existsSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { eventually } from "../stage/eventually.ts"
import { RunningGateway } from "../stage/gateway.ts"
import { RunningSimulator } from "../stage/simulator.ts"
import type { InvariantEvidence } from "./invariants.ts"
import { readOfflineLedger } from "./offline-ledger.ts"
import { OtherGateway, type StagedGateway } from "./other-gateway.ts"
import type { SeededRandom } from "./seeded-random.ts"
import { liftLimit, limitFiles, logBytes, underLimit } from "./store-fault.ts"
import {
  prepareLastingRequests,
  prepareTracedRequests,
  readSimulatedCharges,
  runTracedRequest,
  runTracedRequests,
  type TracedRequest,
  tracedRequestsConfig,
} from "./traced-requests.ts"

const CALLERS = 6
const PAUSE_MS = 50
const REQUESTS_PER_OUTAGE = 1000
/** Requests that are under way when the store fails, and after how long they are answered. */
const LASTING = 12
const LASTING_MS = 1200
const PROBES_PER_OUTAGE = 40
/** The interval at which a client retries until it is admitted. */
const PROBE_MS = 250
/** Until the loss shows, and until all is well again: far more than is allowed for either. */
const PATIENCE_MS = 60_000

export interface StoreOutage {
  readonly lastsMs: number
  /** The size at which the store's files end, by the size its log has. */
  readonly limitOf: (logBytes: number) => number
}

/** The sums of several outages. */
export class LossSeen {
  outages = 0
  /** Answers under way that arrived whole, before the store worked again or after. */
  delivered = 0
  deliveredMeanwhile = 0
  undelivered = 0
  /** Until a request was answered, and until all that was owed was settled, at the longest. */
  resumedMs = 0
  settledMs = 0
  /** Faults of the process, and of its code as logged. */
  crashes = 0
  faults = 0
}

const FAULTS = ["uncaught-exception", "unhandled-rejection", "observer-failed"]

interface LossOptions {
  readonly outages: readonly StoreOutage[]
  readonly random: SeededRandom
  readonly seen: LossSeen
}

export class StoreLoss {
  private readonly folder = mkdtempSync(join(tmpdir(), "trivium-store-loss-"))
  private readonly dataDir = join(this.folder, "data")
  private readonly billFile = join(this.folder, "bills")
  private all: readonly TracedRequest[] = []
  private tracedRequests: readonly TracedRequest[] = []
  private lasting: TracedRequest[] = []
  private probes: TracedRequest[] = []
  private readonly settled = new Set<TracedRequest>()

  constructor(private readonly options: LossOptions) {}

  /** Every outage on the same process. */
  run(): Promise<InvariantEvidence> {
    return this.withLoad(async (config) => {
      const gateway = await RunningGateway.start({ config, dataDir: this.dataDir })
      const { pid } = gateway
      try {
        await this.loaded(gateway, async () => {
          for (const outage of this.options.outages) await this.suffer(outage, { pid, url: gateway.url })
        })
        await this.nothingHeld(gateway)
        this.noteFaults(gateway, pid)
      } finally {
        await gateway.stop()
      }
    })
  }

  /** One process fills the store up to a limit that it was started with; another goes on without one. */
  async runUntilRestart(): Promise<InvariantEvidence> {
    const { seen, outages } = this.options
    const evidence = await this.withLoad(async (config) => {
      const start = { config, dataDir: this.dataDir }
      const limited = await OtherGateway.start(underLimit(), start)
      const outlasted = async () => {
        await this.lossShows()
        await Bun.sleep(outages[0]?.lastsMs ?? 0)
      }
      await this.loaded(limited, outlasted).finally(() => limited.stop())
      const since = performance.now()
      const gateway = await RunningGateway.start(start)
      try {
        await this.probeUntilWhole(gateway.url)
        seen.resumedMs = Math.max(seen.resumedMs, performance.now() - since)
        seen.outages++
        this.noteFaults(gateway, gateway.pid)
      } finally {
        await gateway.stop()
      }
    })
    return { ...evidence, endedUnsettled: true }
  }

  private async withLoad(act: (config: string) => Promise<void>): Promise<InvariantEvidence> {
    try {
      const simulator = await RunningSimulator.start("--bill", this.billFile)
      try {
        await this.prepare()
        await act(tracedRequestsConfig(simulator.url, this.all))
      } finally {
        await simulator.stop()
      }
      const books = await readOfflineLedger(this.dataDir)
      return { tracedRequests: this.all, bills: readSimulatedCharges(this.billFile), books, leftOpen: [] }
    } finally {
      rmSync(this.folder, { recursive: true, force: true })
    }
  }

  private async prepare(): Promise<void> {
    const { outages, random } = this.options
    const names = (what: string, perOutage: number) =>
      Array.from({ length: perOutage * outages.length }, (_, at) => `${what}-${at}`)
    this.tracedRequests = await prepareTracedRequests(this.dataDir, {
      names: names("load", REQUESTS_PER_OUTAGE),
      random,
    })
    this.lasting = await prepareLastingRequests(this.dataDir, { names: names("lasting", LASTING), lastsMs: LASTING_MS })
    this.probes = await prepareLastingRequests(this.dataDir, { names: names("probe", PROBES_PER_OUTAGE), lastsMs: 0 })
    this.all = [...this.tracedRequests, ...this.lasting, ...this.probes]
  }

  private async loaded({ url }: StagedGateway, act: () => Promise<void>): Promise<void> {
    let isOver = false
    const load = runTracedRequests(this.tracedRequests, {
      url,
      atOnce: CALLERS,
      pauseMs: PAUSE_MS,
      isOver: () => isOver,
    })
    try {
      await act()
    } finally {
      isOver = true
      await load
    }
  }

  private async suffer({ lastsMs, limitOf }: StoreOutage, { pid, url }: { pid: number; url: string }): Promise<void> {
    const { seen } = this.options
    const lasting = this.lasting.splice(0, LASTING)
    const answers = lasting.map((tracedRequest) => runTracedRequest(tracedRequest, url))
    await Bun.sleep(LASTING_MS / 2)
    limitFiles(pid, limitOf(logBytes(this.dataDir)))
    await this.lossShows()
    await Bun.sleep(lastsMs)
    const meanwhile = lasting.filter(isWhole).length
    liftLimit(pid)
    const since = performance.now()
    await this.probeUntilWhole(url)
    seen.resumedMs = Math.max(seen.resumedMs, performance.now() - since)
    await Promise.all(answers)
    // A call that came too late to be admitted was not under way.
    const underWay = lasting.filter(({ seen: { code } }) => code !== "store_unavailable")
    const delivered = underWay.filter(isWhole)
    await eventually(() => this.areSettled(url), { withinMs: PATIENCE_MS, what: "the last settlement" })
    seen.settledMs = Math.max(seen.settledMs, performance.now() - since)
    seen.outages++
    seen.deliveredMeanwhile += meanwhile
    seen.delivered += delivered.length
    seen.undelivered += underWay.length - delivered.length
  }

  /** Resolves when a caller gets store_unavailable. */
  private async lossShows(): Promise<void> {
    const count = () => this.tracedRequests.filter(({ seen }) => seen.code === "store_unavailable").length
    const before = count()
    await eventually(() => count() > before, { withinMs: PATIENCE_MS, what: "the loss of the store" })
  }

  private async probeUntilWhole(url: string): Promise<void> {
    for (;;) {
      const probe = this.probes.shift()
      if (!probe) throw new Error("no request was answered after the store worked again")
      await runTracedRequest(probe, url)
      if (isWhole(probe)) return
      await Bun.sleep(PROBE_MS)
    }
  }

  /** All whole answers so far, of any caller. */
  private async areSettled(url: string): Promise<boolean> {
    for (const tracedRequest of this.all) {
      if (!isWhole(tracedRequest) || this.settled.has(tracedRequest)) continue
      if (!(await isSettled(tracedRequest, url))) return false
      this.settled.add(tracedRequest)
    }
    return true
  }

  /** Those whose clients have left are settled too. */
  private async nothingHeld(gateway: RunningGateway): Promise<void> {
    const { seen } = this.options
    const since = performance.now()
    const isSo = async () => {
      const { keys } = (await (await gateway.administer("/admin/v1/keys")).json()) as { keys: { held: string }[] }
      return keys.every(({ held }) => held === "0")
    }
    await eventually(isSo, { withinMs: PATIENCE_MS, what: "the end of every hold" })
    seen.settledMs = Math.max(seen.settledMs, performance.now() - since)
  }

  /** `pid` is the one it was started with. */
  private noteFaults(gateway: RunningGateway, pid: number): void {
    const { seen } = this.options
    if (!existsSync(`/proc/${pid}`)) seen.crashes++
    seen.faults += FAULTS.flatMap((event) => gateway.logged(event)).length
  }
}

function isWhole({ seen }: TracedRequest): boolean {
  return seen.how === "whole"
}

async function isSettled({ key, seen }: TracedRequest, url: string): Promise<boolean> {
  const headers = { authorization: `Bearer ${key}` }
  const answer = await fetch(`${url}/v1/receipts/${seen.requestId}`, { headers })
  return answer.ok && ((await answer.json()) as { outcome: string }).outcome === "settled"
}
