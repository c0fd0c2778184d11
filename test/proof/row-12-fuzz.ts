// Malformed requests, bodies, administration calls and provider answers, with seeded random numbers.
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { setTimeout } from "node:timers/promises"
import { RunningGateway, vendorsConfig } from "../stage/gateway.ts"
import { ScriptedUpstream, type UpstreamScript } from "../stage/upstream.ts"
import { type FuzzStage, fuzzCase } from "./fuzz-cases.ts"
import { MalformedAnswerHost } from "./malformed-answer-host.ts"
import { answersAll, OTHER_MODELS } from "./model-routes.ts"
import type { ProofRow } from "./row.ts"
import { runConcurrently } from "./run-concurrently.ts"
import { SeededRandom } from "./seeded-random.ts"
import { loopFigure, watch } from "./watch-gateway.ts"

const SHORT_MS = 4000
const LONG_MS = 90_000
const BATCH = 256
const AT_ONCE = 16
/** The log gathers its lines for a moment. */
const LOGGED_MS = 80
const SHOWN_BYTES = 6000
const MAX_FAILURES = 20
const FAULTS = ["uncaught-exception", "unhandled-rejection", "observer-failed", "administration-failed"]

/** Runs cases until the time is up; prints how to reproduce each failure. */
class FuzzRun {
  cases = 0
  failures = 0
  private faults = 0

  constructor(
    private readonly gateway: RunningGateway,
    private readonly seed: number,
    private readonly host: MalformedAnswerHost,
    private readonly print: (text: string) => void,
  ) {}

  async run(forMs: number): Promise<void> {
    const { url, adminUrl, key, dataDir } = this.gateway
    const adminKey = readFileSync(join(dataDir, "admin-key"), "utf8").trim()
    const end = performance.now() + forMs
    while (performance.now() < end && this.failures < MAX_FAILURES) await this.batch({ url, adminUrl, key, adminKey })
  }

  private async batch(stage: FuzzStage): Promise<void> {
    const first = this.cases
    const numbers = Array.from({ length: BATCH }, (_, index) => first + index)
    this.cases += BATCH
    this.host.forget()
    await runConcurrently(numbers, { atOnce: AT_ONCE, act: (number) => this.one(number, stage) })
    await setTimeout(LOGGED_MS)
    const faults = this.faultsLogged()
    for (const stack of faults.slice(this.faults)) this.fail(`cases ${first} to ${this.cases - 1}: ${stack}`)
    this.faults = faults.length
  }

  private async one(number: number, stage: FuzzStage): Promise<void> {
    const { what, bytes, run } = fuzzCase(number, new SeededRandom({ seed: this.seed, number }), stage)
    const wrong = await run(stage).catch((thrown) => `no connection: ${thrown}`)
    if (wrong === undefined) return
    const shown = (sent: Buffer) => sent.subarray(0, SHOWN_BYTES).toString("base64")
    const answered = this.host.answerTo(number)
    this.fail(`case ${number}, ${what}: ${wrong}`)
    this.print(`  sent, in base64: ${shown(bytes)}`)
    if (answered) this.print(`  answered by the provider, in base64: ${shown(answered)}`)
  }

  private fail(what: string): void {
    this.failures++
    this.print(`seed ${this.seed}, ${what}`)
  }

  private faultsLogged(): string[] {
    const broken = this.gateway.logged("exchange").filter(({ error_code }) => error_code === "internal_error")
    const faults = FAULTS.flatMap((event) => this.gateway.logged(event))
    return [...faults, ...broken].map(({ event, stack }) => `${event} ${stack}`)
  }
}

export const fuzz: ProofRow = {
  number: 12,
  title: "malformed everything",
  async run({ short, print }) {
    const seed = Number(process.env.TRIVIUM_FUZZ_SEED) || (short ? 1 : Date.now() % 1_000_000)
    const unsound = new MalformedAnswerHost(seed)
    const host: UpstreamScript = (request, reply) => {
      return /case \d+/.test(request.body.toString()) ? unsound.script(request, reply) : answersAll(request, reply)
    }
    const upstream = await ScriptedUpstream.start(host)
    const gateway = await RunningGateway.start({ config: vendorsConfig(upstream.origin, OTHER_MODELS) })
    const run = new FuzzRun(gateway, seed, unsound, print)
    try {
      const { waits, loop } = await watch(gateway, () => run.run(short ? SHORT_MS : LONG_MS))
      print(`${run.cases} cases of seed ${seed}; TRIVIUM_FUZZ_SEED=${seed} repeats them, except for the keys`)
      return [
        { what: "cases", seen: run.cases, atLeast: short ? 500 : 10_000, needsQuiet: true },
        { what: "crashes, logged faults and answers with an internal error", seen: run.failures, atMost: 0 },
        { what: "longest wait of a small request meanwhile", seen: Math.max(...waits), atMost: 150, unit: "ms" },
        loopFigure(loop),
        { what: "status of an honest request afterwards", seen: await honest(gateway), atLeast: 200, atMost: 200 },
      ]
    } finally {
      await gateway.stop()
      await upstream.stop()
    }
  },
}

async function honest(gateway: RunningGateway): Promise<number> {
  return (await gateway.chat({ model: "test/model", messages: [{ role: "user", content: "hi" }] })).status
}
