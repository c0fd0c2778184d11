// kill -9 under load, repeatedly: every upstream bill is in the ledger. A gateway that books only afterwards is shown
// for comparison.
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { RunningGateway } from "../stage/gateway.ts"
import { RunningSimulator } from "../stage/simulator.ts"
import {
  billedUnbooked,
  type InvariantEvidence,
  invariantFigures,
  overBudget,
  problemFigure,
  recoveredOtherwise,
} from "./invariants.ts"
import { type OpenHold, openHolds, readOfflineLedger } from "./offline-ledger.ts"
import { type GatewayStart, killGateway, type StagedGateway, startCheckThenAct } from "./other-gateway.ts"
import type { ProofRow } from "./row.ts"
import { SeededRandom } from "./seeded-random.ts"
import {
  prepareTracedRequests,
  readSimulatedCharges,
  runTracedRequests,
  type TracedRequest,
  tracedRequestsConfig,
} from "./traced-requests.ts"

const LOAD_MS = { least: 50, most: 400 }
const AT_ONCE = 24
const REQUESTS_PER_CYCLE = 150
/** The number of starts on the store as the kill left it, before it is inspected and keys are made. */
const CYCLES_PER_LOOK = 3
const PRINT_EVERY = 30

type StartGateway = (start: GatewayStart) => Promise<StagedGateway>

interface KillOptions {
  readonly start: StartGateway
  readonly cycles: number
  readonly print: (text: string) => void
}

class KillRun {
  readonly tracedRequests: TracedRequest[] = []
  readonly leftOpen: OpenHold[] = []
  private readonly folder = mkdtempSync(join(tmpdir(), "trivium-kills-"))
  private readonly dataDir = join(this.folder, "data")
  private readonly billFile = join(this.folder, "bills")
  private readonly seed = Date.now() % 1_000_000

  constructor(private readonly options: KillOptions) {}

  async run(): Promise<InvariantEvidence> {
    const { cycles, print } = this.options
    const simulator = await RunningSimulator.start("--bill", this.billFile)
    try {
      for (let cycle = 0; cycle < cycles; cycle += CYCLES_PER_LOOK) {
        await this.cyclesFrom(cycle, simulator.url)
        const kills = Math.min(cycle + CYCLES_PER_LOOK, cycles)
        if (kills % PRINT_EVERY === 0) print(`${kills} kills, ${this.leftOpen.length} open holds seen`)
      }
      await this.startAndStop()
    } finally {
      await simulator.stop()
    }
    return this.evidence()
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true })
  }

  /** Some cycles one after the other, on keys that are made beforehand. */
  private async cyclesFrom(first: number, origin: string): Promise<void> {
    const { cycles } = this.options
    const numbers = Array.from({ length: Math.min(CYCLES_PER_LOOK, cycles - first) }, (_, index) => first + index)
    const names = numbers.flatMap((cycle) =>
      Array.from({ length: REQUESTS_PER_CYCLE }, (_, index) => `c${cycle}-${index}`),
    )
    const tracedRequests = await prepareTracedRequests(this.dataDir, {
      names,
      random: new SeededRandom({ seed: this.seed, number: first }),
    })
    this.tracedRequests.push(...tracedRequests)
    for (const cycle of numbers)
      await this.cycle(cycle, { tracedRequests: tracedRequests.splice(0, REQUESTS_PER_CYCLE), origin })
    this.leftOpen.push(...openHolds(this.dataDir))
  }

  private async cycle(
    cycle: number,
    { tracedRequests, origin }: { tracedRequests: readonly TracedRequest[]; origin: string },
  ): Promise<void> {
    const gateway = await this.options.start({
      config: tracedRequestsConfig(origin, tracedRequests),
      dataDir: this.dataDir,
    })
    let isOver = false
    const load = runTracedRequests(tracedRequests, { url: gateway.url, atOnce: AT_ONCE, isOver: () => isOver })
    await Bun.sleep(this.lifetimeMs(cycle))
    isOver = true
    await killGateway(gateway)
    await load
  }

  /** Random, and yet of all lengths for any number of cycles. */
  private lifetimeMs(cycle: number): number {
    const part = (cycle + new SeededRandom({ seed: this.seed, number: -1 - cycle }).throw()) / this.options.cycles
    return LOAD_MS.least + part * (LOAD_MS.most - LOAD_MS.least)
  }

  /** The last kill is recovered from, too. */
  private async startAndStop(): Promise<void> {
    const gateway = await this.options.start({
      config: tracedRequestsConfig("http://127.0.0.1:1", []),
      dataDir: this.dataDir,
    })
    await gateway.stop()
  }

  private async evidence(): Promise<InvariantEvidence> {
    return {
      tracedRequests: this.tracedRequests,
      leftOpen: this.leftOpen,
      bills: readSimulatedCharges(this.billFile),
      books: await readOfflineLedger(this.dataDir),
    }
  }
}

async function killed(options: KillOptions): Promise<InvariantEvidence> {
  const run = new KillRun(options)
  try {
    return await run.run()
  } finally {
    run.remove()
  }
}

export const kills: ProofRow = {
  number: 1,
  title: "kill -9 of the gateway under load, and of a control that checks, then acts",
  async run({ short, print }) {
    const cycles = short ? 3 : 120
    const evidence = await killed({ start: (start) => RunningGateway.start(start), cycles, print })
    const control = await killed({ start: startCheckThenAct, cycles: short ? 2 : 12, print: () => {} })
    printEvidence(evidence, print)
    return [
      { what: "kills", seen: cycles, atLeast: short ? 3 : 100 },
      {
        what: "requests that were billed",
        seen: evidence.bills.length,
        atLeast: short ? cycles : 10 * cycles,
        needsQuiet: true,
      },
      { what: "holds that kills left open", seen: evidence.leftOpen.length, atLeast: cycles, needsQuiet: true },
      ...invariantFigures([evidence], print),
      { what: "billed calls that are not in the ledger", seen: billedUnbooked(evidence), atMost: 0 },
      problemFigure("recoveries that are not lower bound and suspense", {
        problems: recoveredOtherwise(evidence),
        print,
      }),
      problemFigure("budgets overspent", { problems: overBudget(evidence), print }),
      // In a few seconds no stream is long enough to have a known debt.
      ...(short ? [] : [{ what: "holds left open with a lower bound", seen: bounded(evidence), atLeast: 1 }]),
      {
        what: `the control: billed calls that are not in its ledger, of ${control.bills.length}`,
        seen: billedUnbooked(control),
        atLeast: 1,
      },
    ]
  },
}

function bounded({ leftOpen }: InvariantEvidence): number {
  return leftOpen.filter(({ lowerBound }) => lowerBound > 0n).length
}

function printEvidence({ tracedRequests, books }: InvariantEvidence, print: (text: string) => void): void {
  const count = <Item>(items: readonly Item[], nameOf: (item: Item) => string) => {
    const counts = new Map<string, number>()
    for (const item of items) counts.set(nameOf(item), (counts.get(nameOf(item)) ?? 0) + 1)
    return [...counts].map(([name, many]) => `${many} ${name}`).join(", ")
  }
  print(`clients: ${count(tracedRequests, ({ seen }) => (seen.code ? `refused with ${seen.code}` : seen.how))}`)
  print(`entries: ${count(books.entries, ({ kind }) => kind)}`)
}
