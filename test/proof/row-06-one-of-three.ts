// One of three providers is down, slow, or failing now and then. Callers do not notice.
import type { UpstreamScript } from "../stage/upstream.ts"
import type { ProofFigure, ProofRow } from "./row.ts"
import { SeededRandom } from "./seeded-random.ts"
import { ANSWERS, type ProviderLabel, ThreeProviders, type TimedCall } from "./three-providers.ts"

const PER_SECOND = 100
const BAD: ProviderLabel = "one"
/** By then a provider that is down or slow is not called any more. */
const OUT_MS = 2000
const BACK_MS = 30_000
const SLOW_MS = 3000
const SEED = 6

const random = new SeededRandom({ seed: SEED, number: 0 })
const DOWN: UpstreamScript = (_, reply) => reply.cut("reset")
const SLOW: UpstreamScript = async (request, reply) => {
  await Bun.sleep(SLOW_MS)
  await ANSWERS(request, reply)
}
const ERRS: UpstreamScript = (request, reply) =>
  random.chance(0.3) ? reply.json({ error: { message: "no", type: "server_error" } }, 500) : ANSWERS(request, reply)

interface PhaseLengths {
  readonly warmUp: number
  readonly out: number
  readonly erring: number
}

const WHOLE: PhaseLengths = { warmUp: 3, out: 10, erring: 30 }
const SHORT: PhaseLengths = { warmUp: 1, out: 2, erring: 2 }

class BadDay {
  readonly calls: TimedCall[] = []

  constructor(private readonly stage: ThreeProviders) {}

  private async load(seconds: number, routing?: string): Promise<TimedCall[]> {
    const calls = await this.stage.load(PER_SECOND, { seconds, ...(routing && { routing }) })
    this.calls.push(...calls)
    return calls
  }

  /** The number of calls it gets from 2 s on, and of all calls then. */
  async callsOnceOut(script: UpstreamScript, { warmUp, out }: PhaseLengths, routing?: string): Promise<number> {
    const { hosts } = this.stage
    await this.load(warmUp, routing)
    hosts[BAD].script = script
    await this.load(OUT_MS / 1000, routing)
    const before = hosts[BAD].requests.length
    const calls = await this.load(out, routing)
    return (100 * (hosts[BAD].requests.length - before)) / calls.length
  }

  /** The time from its recovery to its next answer; undefined without one. */
  async backAfter(): Promise<number | undefined> {
    this.stage.hosts[BAD].script = ANSWERS
    const at = performance.now()
    while (performance.now() - at < BACK_MS) {
      const back = (await this.load(1)).find(({ provider }) => provider === BAD)
      if (back) return back.at - at
    }
    return undefined
  }

  async erring({ erring }: PhaseLengths): Promise<number> {
    const { hosts } = this.stage
    hosts[BAD].script = ERRS
    const before = hosts[BAD].requests.length
    await this.load(erring)
    hosts[BAD].script = ANSWERS
    return hosts[BAD].requests.length - before
  }

  get failed(): number {
    return this.calls.filter(({ status }) => status !== 200).length
  }
}

type RunPhases = (day: BadDay, lengths: PhaseLengths) => Promise<ProofFigure[]>

const down: RunPhases = async (day, lengths) => {
  const calls = await day.callsOnceOut(DOWN, lengths)
  const out = { what: "down: calls to it after 2 s", seen: calls, atMost: 0.5, unit: "%", needsQuiet: true } as const
  // It is left alone for longer than a short form takes.
  if (lengths === SHORT) return [out]
  return [out, { what: "back after", seen: (await day.backAfter()) ?? Number.NaN, atMost: BACK_MS, unit: "ms" }]
}

const slow: RunPhases = async (day, lengths) => {
  const calls = await day.callsOnceOut(SLOW, lengths, "latency")
  return [
    { what: "slow, routing by latency: calls to it after 2 s", seen: calls, atMost: 5, unit: "%", needsQuiet: true },
  ]
}

const erring: RunPhases = async (day, lengths) => {
  return [{ what: "failing in 30 %: calls to it", seen: await day.erring(lengths), atLeast: 20, needsQuiet: true }]
}

/** On a gateway of its own: what is known of one bad day is not to help on the next. */
async function lived(live: RunPhases, lengths: PhaseLengths): Promise<{ figures: ProofFigure[]; day: BadDay }> {
  const stage = await ThreeProviders.start()
  const day = new BadDay(stage)
  try {
    return { figures: await live(day, lengths), day }
  } finally {
    await stage.stop()
  }
}

export const oneOfThree: ProofRow = {
  number: 6,
  title: "one of three providers is down, slow, or fails in 30 %",
  async run({ short, print }) {
    const days = await Promise.all([down, slow, erring].map((live) => lived(live, short ? SHORT : WHOLE)))
    const all = days.reduce((sum, { day }) => sum + day.calls.length, 0)
    const failed = days.reduce((sum, { day }) => sum + day.failed, 0)
    print(`${all} requests, ${failed} of them failed`)
    const errors = { what: "failed requests", seen: (100 * failed) / all, atMost: 0.1, unit: "% of requests" }
    return [...days.flatMap(({ figures }) => figures), errors]
  },
}
