// SIGTERM and reloads under load. A request is accepted when the gateway has begun to answer it, other than by
// reporting that it stops, or has sent it to a provider; each is answered whole, and booked as its provider billed it.
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout } from "node:timers/promises"
import { nanoOfUsd } from "../../src/canonical/usd.ts"
import type { SimulatedCharge } from "../../src/simulator/simulated-charge.ts"
import { RunningSimulator } from "../stage/simulator.ts"
import { GatewayRestarts } from "./gateway-restarts.ts"
import { problemFigure } from "./invariants.ts"
import { type BookedEntry, type OfflineLedger, readOfflineLedger, withOfflineAdmin } from "./offline-ledger.ts"
import type { ProofFigure, ProofRow } from "./row.ts"
import { SeededRandom } from "./seeded-random.ts"
import { INPUT_NANO, OUTPUT_NANO, readSimulatedCharges } from "./traced-requests.ts"
import { ask, WIRE_DIALECTS, type WireDialect } from "./wire-dialects.ts"

const HOSTS = 3
const CLIENTS = 16
/** The pause while no gateway listens, or one is stopping. */
const PAUSE_MS = 30

/** Calls a model of its own, so that what is billed for it is known, with a key of its own, so that what is booked is. */
interface StoppingClient {
  readonly name: string
  readonly key: string
  readonly keyId: string
  /** Asks only where a balancer would send it: one that heeds the gateway's readiness. */
  readonly isBalanced: boolean
  readonly answers: StoppingAnswer[]
  /** Refused as the gateway stops, or without a byte. */
  turnedAway: number
  /** Connected, and closed without a byte. */
  cutOff: number
}

interface StoppingAnswer {
  readonly requestId: string
  readonly isWhole: boolean
  /** The cost in a unary answer's header. */
  readonly cost: string | null
  readonly text: string
}

function configOf(origins: readonly string[], change: number): string {
  const hosts = origins.map((origin, at) => `  host-${at}: { type: simulator, base_url: "${origin}" }`)
  const model = (id: string, name: string) => {
    const targets = origins.map((_, at) => `{ provider: host-${at}, model: ${name} }`)
    return `  - { id: ${id}, context_window: 100000, max_output_tokens: 5000, pricing: { input: "1", output: "2" }, targets: [${targets}] }`
  }
  const names = Array.from({ length: CLIENTS }, (_, at) => `client-${at}`)
  const models = [...names.map((name) => model(`t/${name}`, name)), model(`t/other-${change}`, "other")]
  const lines = ["providers:", ...hosts, "models:", ...models, ""]
  return (change % 3 === 1 ? [...lines, INVALID[change % INVALID.length]] : lines).join("\n")
}

const INVALID = ["modles: []", "groups: [", "defaults: { requests_per_minute: many }", "store: { url: nowhere }"]

interface GatewayLifetimes {
  readonly lifetimesMs: readonly number[]
  readonly signal: "SIGTERM" | "SIGINT"
}

/** With what a gateway takes to stop, and the next to start, about 20 s from signal to signal. */
const WHOLE: GatewayLifetimes = { lifetimesMs: Array.from({ length: 8 }, () => 14_000), signal: "SIGTERM" }
/** The grace of SIGTERM alone takes 5 s; SIGINT has none, so that no client can react in time. */
const SHORT: GatewayLifetimes = { lifetimesMs: [1000, 800], signal: "SIGINT" }

class StoppingRun {
  private readonly folder = mkdtempSync(join(tmpdir(), "trivium-stopping-"))
  private readonly dataDir = join(this.folder, "data")
  private clients: StoppingClient[] = []
  private isOver = false

  async run({ lifetimesMs, signal, print }: GatewayLifetimes & { readonly print: (text: string) => void }) {
    const starting = Array.from({ length: HOSTS }, (_, at) => RunningSimulator.start("--bill", this.billFile(at)))
    this.clients = await makeClients(this.dataDir)
    const simulators = await Promise.all(starting)
    try {
      const origins = simulators.map(({ url }) => url)
      const configAt = (change: number) => configOf(origins, change)
      const gateways = await GatewayRestarts.start({ dataDir: this.dataDir, configAt })
      const began = performance.now()
      const load = this.clients.map((client, at) =>
        this.keepAsking(client, { gateways, random: new SeededRandom({ seed: 17, number: at }) }),
      )
      for (const [at, lifetimeMs] of lifetimesMs.entries()) {
        if (at > 0) await gateways.replace(signal)
        await setTimeout(lifetimeMs)
        print(`gateway ${at + 1}: ${this.answers} answers so far`)
      }
      this.isOver = true
      await Promise.all(load)
      const seconds = (performance.now() - began) / 1000
      await gateways.stop()
      return { gateways, seconds }
    } finally {
      await Promise.all(simulators.map((simulator) => simulator.stop()))
    }
  }

  async evidence(): Promise<StoppingEvidence> {
    const bills = Array.from({ length: HOSTS }, (_, at) => readSimulatedCharges(this.billFile(at)))
    return { clients: this.clients, bills, books: await readOfflineLedger(this.dataDir) }
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true })
  }

  private get answers(): number {
    return this.clients.reduce((sum, { answers }) => sum + answers.length, 0)
  }

  private billFile(host: number): string {
    return join(this.folder, `bills-${host}`)
  }

  private async keepAsking(
    client: StoppingClient,
    { gateways, random }: { gateways: GatewayRestarts; random: SeededRandom },
  ): Promise<void> {
    while (!this.isOver) {
      const answer =
        client.isBalanced && !gateways.isReady ? undefined : await askOnce(client, { url: gateways.url, random })
      if (answer) client.answers.push(answer)
      else await setTimeout(PAUSE_MS)
    }
  }
}

function makeClients(dataDir: string): Promise<StoppingClient[]> {
  const make = Array.from({ length: CLIENTS }, (_, at) => ({ name: `client-${at}`, isBalanced: at % 2 === 0 }))
  return withOfflineAdmin(dataDir, (adminService) =>
    Promise.all(
      make.map(async ({ name, isBalanced }) => {
        const { id, key } = await adminService.keys.create({ name, tenant: "open", requests_per_minute: 1_000_000 })
        return { name, key, keyId: id, isBalanced, answers: [], turnedAway: 0, cutOff: 0 }
      }),
    ),
  )
}

/** Undefined where the gateway has not accepted it. */
async function askOnce(
  client: StoppingClient,
  { url, random }: { url: string; random: SeededRandom },
): Promise<StoppingAnswer | undefined> {
  const [dialect, streamed] = [random.pick(WIRE_DIALECTS), random.chance(0.6)]
  const words = random.chance(0.5)
    ? `first-token-ms-${random.below(200)}`
    : `tokens-per-second-${100 + random.below(900)}`
  const request = { model: `t/${client.name}@${words}`, question: `Say ${5 + random.below(200)} words.`, streamed }
  let answer: Response
  try {
    answer = await ask(dialect, { url, key: client.key }, request)
  } catch (cause) {
    client.turnedAway++
    if ((cause as { code?: string }).code !== "ECONNREFUSED") client.cutOff++
    return undefined
  }
  const text = await answer.text().catch(() => "cut off")
  if (answer.status === 503 && text.includes('"shutting_down"')) {
    client.turnedAway++
    return undefined
  }
  return {
    requestId: answer.headers.get("x-request-id") ?? "",
    isWhole: answer.status === 200 && (streamed ? ENDINGS[dialect.name].test(text) : isJson(text)),
    cost: answer.headers.get("x-gateway-cost"),
    text: `${dialect.name} ${streamed ? "streamed" : "whole"}: ${answer.status} …${text.slice(-200)}`,
  }
}

/** The end of a stream. */
const ENDINGS: Readonly<Record<WireDialect["name"], RegExp>> = {
  chat: /^data: \[DONE\]$/m,
  responses: /^event: response\.(completed|incomplete)$/m,
  messages: /^event: message_stop$/m,
  "gemini events": /"finishReason"/,
  "gemini array": /"finishReason"[\s\S]*\]\s*$/,
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

interface StoppingEvidence {
  readonly clients: readonly StoppingClient[]
  /** The bills of each host. */
  readonly bills: readonly (readonly SimulatedCharge[])[]
  readonly books: OfflineLedger
}

const costOf = ({ input_tokens, output_tokens }: SimulatedCharge) =>
  BigInt(input_tokens) * INPUT_NANO + BigInt(output_tokens) * OUTPUT_NANO

const sorted = (amounts: readonly bigint[]) => amounts.toSorted((one, other) => Number(one - other)).join(" ")

/** The whole answers of each client, the bills of its model and the payments of its key match one for one. */
function unequal({ clients, bills, books }: StoppingEvidence): string[] {
  const billed = Map.groupBy(bills.flat(), ({ model }) => model)
  const booked = Map.groupBy(books.entries, ({ key }) => key)
  return clients.flatMap(({ name, keyId, answers }) => {
    const [owed, paid] = [billed.get(name) ?? [], booked.get(keyId) ?? []]
    const isSame = sorted(owed.map(costOf)) === sorted(paid.map(({ revenue }) => revenue))
    if (isSame && owed.length === answers.length) return []
    return [`${name} has ${answers.length} answers, ${owed.length} bills and ${paid.length} entries`]
  })
}

function bookedOtherwise({ clients, books }: StoppingEvidence): string[] {
  const entries = new Map(books.entries.map((entry) => [entry.request, entry]))
  const isBooked = ({ cost }: StoppingAnswer, entry: BookedEntry | undefined) =>
    entry?.kind === "settled" && (cost === null || nanoOfUsd(cost) === entry.revenue)
  return clients
    .flatMap(({ answers }) => answers)
    .filter((answer) => answer.isWhole && !isBooked(answer, entries.get(answer.requestId)))
    .map(({ requestId, cost }) => `${requestId}: reported ${cost}, booked ${entries.get(requestId)?.kind}`)
}

function figures(evidence: StoppingEvidence, print: (text: string) => void): ProofFigure[] {
  const { clients, bills, books } = evidence
  const broken = clients.flatMap(({ answers }) => answers.filter(({ isWhole }) => !isWhole).map(({ text }) => text))
  const problems = books.problems.map(({ invariant, what }) => `${invariant}: ${what}`)
  const cutOff = clients.reduce((sum, client) => sum + client.cutOff, 0)
  print(`rejected behind a load balancer: ${turnedAway(clients, true)}; of the others: ${turnedAway(clients, false)}`)
  print(`${cutOff} of these found their connection closed without a byte`)
  return [
    { what: "hosts that have billed", seen: bills.filter(({ length }) => length > 0).length, atLeast: HOSTS },
    problemFigure("requests accepted and not answered whole", { problems: broken, print }),
    problemFigure("clients whose answers, bills and entries differ", { problems: unequal(evidence), print }),
    problemFigure("answers booked with another cost than reported", { problems: bookedOtherwise(evidence), print }),
    problemFigure("problems that the ledger's own verification finds", { problems, print }),
    { what: "open holds although no gateway runs", seen: books.holds.length, atMost: 0 },
  ]
}

function turnedAway(clients: readonly StoppingClient[], isBalanced: boolean): number {
  return clients
    .filter((client) => client.isBalanced === isBalanced)
    .reduce((sum, client) => sum + client.turnedAway, 0)
}

export const stopping: ProofRow = {
  number: 17,
  title: "SIGTERM and reloads under load, over three hosts",
  async run({ short, print }) {
    const lifetimes = short ? SHORT : WHOLE
    const run = new StoppingRun()
    try {
      const { gateways, seconds } = await run.run({ ...lifetimes, print })
      const evidence = await run.evidence()
      const answers = evidence.clients.reduce((sum, client) => sum + client.answers.length, 0)
      const { reloads, rejected, errors } = gateways.seen
      return [
        {
          what: "gateways that ended with code 0",
          seen: gateways.codes.filter((code) => code === 0).length,
          atLeast: lifetimes.lifetimesMs.length,
        },
        {
          what: "reloads",
          seen: (reloads + rejected) / seconds,
          atLeast: short ? 3 : 10,
          unit: "a second",
          needsQuiet: true,
        },
        { what: "of these, refused as invalid", seen: rejected, atLeast: short ? 1 : 20, needsQuiet: true },
        { what: "requests accepted", seen: answers, atLeast: short ? 40 : 3000, needsQuiet: true },
        ...figures(evidence, print),
        ...(short
          ? []
          : [
              { what: "requests rejected behind a load balancer", seen: turnedAway(evidence.clients, true), atMost: 0 },
            ]),
        { what: "other errors in the logs", seen: errors, atMost: 0 },
      ]
    } finally {
      run.remove()
    }
  },
}
