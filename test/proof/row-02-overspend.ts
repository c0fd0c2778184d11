// Many concurrent requests on a balance that covers ten: exactly as many are admitted as it covers, for every funding
// source. A gateway that checks first and books later is shown for comparison.
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { sendRequest } from "../money/client.ts"
import { eventually } from "../stage/eventually.ts"
import { RunningGateway, runCommand } from "../stage/gateway.ts"
import { FUNDING_KINDS, type FundingSource } from "./funding-sources.ts"
import { GatedHost } from "./gated-host.ts"
import { growingAlone, growingTogether, MOST_OUTPUT, type StreamGrowth } from "./growing-streams.ts"
import { type OfflineLedger, readOfflineLedger } from "./offline-ledger.ts"
import { startCheckThenAct } from "./other-gateway.ts"
import {
  CONCURRENT_CALLS,
  fundingFor,
  MODEL,
  OUTPUT_TOKENS,
  OverspendRace,
  type RaceStage,
  RaceTally,
} from "./overspend-race.ts"
import type { ProofFigure, ProofRow } from "./row.ts"

const LONG_ROUNDS = 10

function config(origin: string): string {
  return `
providers:
  gated: { type: openai-compatible, base_url: "${origin}/v1", api_key: "k" }
models:
  - { id: ${MODEL}, context_window: 100000, max_output_tokens: ${MOST_OUTPUT}, pricing: { input: "1", output: "2" },
      targets: [{ provider: gated, model: m }] }
`
}

interface OverspendStage extends Pick<RaceStage, "host" | "print"> {
  readonly dataDir: string
}

export const overspending: ProofRow = {
  number: 2,
  title: "overspend race: 500 concurrent calls on a balance for 10, and on a control that checks, then acts",
  async run({ short, print }) {
    const host = await GatedHost.start()
    const folder = mkdtempSync(join(tmpdir(), "trivium-overspend-"))
    try {
      const raced = await races({ host, print, dataDir: join(folder, "data") }, short ? 1 : LONG_ROUNDS)
      return [...raced, ...(await control({ host, print, dataDir: join(folder, "control") }))]
    } finally {
      await host.stop()
      rmSync(folder, { recursive: true, force: true })
    }
  },
}

async function races({ host, print, dataDir }: OverspendStage, rounds: number): Promise<ProofFigure[]> {
  const gateway = await RunningGateway.start({ config: config(host.origin), dataDir })
  const stage = { gateway, host, print }
  const tally = new RaceTally()
  const fundings: FundingSource[] = []
  let second: number
  let grown: StreamGrowth[]
  try {
    for (let round = 0; round < rounds; round++) fundings.push(...(await runRaces(stage, tally)))
    second = await keptOut(gateway, dataDir)
    grown = [await growingAlone(stage), await growingTogether(stage)]
    fundings.push(...grown.flatMap((growth) => growth.fundings))
  } finally {
    await gateway.stop()
  }
  return [
    ...raceFigures(tally, rounds),
    ...growthFigures(grown),
    ...bookFigures(await readOfflineLedger(dataDir), fundings),
    { what: "second processes on the same store that were refused", seen: second, atLeast: 1 },
  ]
}

/** On every kind of funding source, unary and streamed; what they were paid from. */
async function runRaces(stage: RaceStage, tally: RaceTally): Promise<FundingSource[]> {
  const fundings: FundingSource[] = []
  for (const kind of FUNDING_KINDS) {
    for (const stream of [false, true]) {
      for (const gated of [true, false]) {
        const race = await OverspendRace.prepare(stage, { kind, stream, gated, tally })
        await race.run()
        fundings.push(race.funding)
      }
    }
  }
  return fundings
}

/** Whether another gateway on the same store ends with a message: 1 or 0. */
async function keptOut({ folder }: RunningGateway, dataDir: string): Promise<number> {
  const { code, stderr } = await runCommand(["serve", "--port", "0", "--admin-port", "0", "--data", dataDir], {
    folder,
  })
  return code !== 0 && stderr.includes("in use by another process") ? 1 : 0
}

function raceFigures(tally: RaceTally, rounds: number): ProofFigure[] {
  return [
    { what: `races of ${CONCURRENT_CALLS} requests`, seen: tally.races, atLeast: rounds * 4 * FUNDING_KINDS.length },
    { what: "calls admitted beyond the funds", seen: tally.admittedBeyond, atMost: 0 },
    { what: "calls refused although a hold fitted", seen: tally.refusedWrongly, atMost: 0 },
    { what: "refusals without code, required amount and remainder", seen: tally.badRefusals, atMost: 0 },
    { what: "admitted calls not answered whole", seen: tally.notWhole, atMost: 0 },
    { what: "readings of the remainder during the races", seen: tally.looks, atLeast: tally.races },
    { what: "readings below zero", seen: tally.belowZero, atMost: 0 },
  ]
}

function growthFigures(grown: readonly StreamGrowth[]): ProofFigure[] {
  const sum = (of: "wrong" | "cut") => grown.reduce((total, growth) => total + growth[of], 0)
  return [
    { what: "streams cut for lack of funds", seen: sum("cut"), atLeast: FUNDING_KINDS.length },
    { what: "streams with a wrong end", seen: sum("wrong"), atMost: 0 },
  ]
}

function bookFigures(books: OfflineLedger, fundings: readonly FundingSource[]): ProofFigure[] {
  const overspent = fundings.filter((funding) => overspentNano(books, funding) > 0n)
  const writtenOff = books.entries.filter(({ writeOff }) => writeOff !== 0n)
  return [
    { what: "funding sources", seen: fundings.length, atLeast: 4 * FUNDING_KINDS.length },
    { what: "overspent funding sources", seen: overspent.length, atMost: 0 },
    { what: "entries with a write-off", seen: writtenOff.length, atMost: 0 },
    { what: "holds still open", seen: books.holds.length, atMost: 0 },
    { what: "problems that the ledger's own verification finds", seen: books.problems.length, atMost: 0 },
  ]
}

/** The cost of its keys above its worth; negative if some is left. */
function overspentNano({ entries }: OfflineLedger, { keys, worthNano }: FundingSource): bigint {
  const ids = new Set(keys.map(({ id }) => id))
  const charged = entries.filter(({ key }) => key !== null && ids.has(key))
  return charged.reduce((sum, { revenue, suspense }) => sum + revenue + suspense, -worthNano)
}

/** The first race, on a gateway that checks, then acts. */
async function control({ host, print, dataDir }: OverspendStage): Promise<ProofFigure[]> {
  const gateway = await startCheckThenAct({ config: config(host.origin), dataDir })
  const { url } = gateway
  const [kind] = FUNDING_KINDS
  let funding: FundingSource
  try {
    funding = (await fundingFor(gateway, { kind, stream: false })).funding
    host.close({ outputTokens: OUTPUT_TOKENS })
    const request = { url, key: funding.key(0), protocol: "openai-chat", model: MODEL, stream: false } as const
    const asking = Array.from({ length: CONCURRENT_CALLS }, () => sendRequest(request))
    await eventually(() => host.calls === CONCURRENT_CALLS).catch(() => {})
    host.open()
    await Promise.all(asking)
  } finally {
    await gateway.stop()
  }
  const overspent = overspentNano(await readOfflineLedger(dataDir), funding)
  print(`the control: funds of ${funding.worthNano} nano-USD, overspent by ${overspent}`)
  return [
    { what: "the control: calls admitted on a balance for 10", seen: host.calls, atLeast: 11 },
    { what: "the control: nano-USD overspent", seen: Number(overspent), atLeast: 1 },
  ]
}
