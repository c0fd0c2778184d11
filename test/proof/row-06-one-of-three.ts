// One of three providers has a bad day: down, slow, or failing now and then. Its callers do not notice.
import type { Script } from "../stage/upstream.ts"
import { Dice } from "./dice.ts"
import type { Figure, Row } from "./row.ts"
import { ANSWERS, type Asked, type Name, ThreeProviders } from "./three-providers.ts"

const PER_SECOND = 100
const BAD: Name = "one"
/** By then whoever is down, or slow, is not asked any more. */
const OUT_MS = 2000
const BACK_MS = 30_000
const SLOW_MS = 3000
const SEED = 6

const dice = new Dice({ seed: SEED, number: 0 })
const DOWN: Script = (_, reply) => reply.cut("reset")
const SLOW: Script = async (request, reply) => {
  await Bun.sleep(SLOW_MS)
  await ANSWERS(request, reply)
}
const ERRS: Script = (request, reply) =>
  dice.chance(0.3) ? reply.json({ error: { message: "no", type: "server_error" } }, 500) : ANSWERS(request, reply)

interface Lengths {
  readonly warmUp: number
  readonly out: number
  readonly erring: number
}

const WHOLE: Lengths = { warmUp: 3, out: 10, erring: 30 }
const SHORT: Lengths = { warmUp: 1, out: 2, erring: 2 }

class BadDay {
  readonly asked: Asked[] = []

  constructor(private readonly stage: ThreeProviders) {}

  private async load(seconds: number, routing?: string): Promise<Asked[]> {
    const asked = await this.stage.load(PER_SECOND, { seconds, ...(routing && { routing }) })
    this.asked.push(...asked)
    return asked
  }

  /** How many calls it gets from 2 s on, of all that are made then. */
  async callsOnceOut(script: Script, { warmUp, out }: Lengths, routing?: string): Promise<number> {
    const { hosts } = this.stage
    await this.load(warmUp, routing)
    hosts[BAD].script = script
    await this.load(OUT_MS / 1000, routing)
    const before = hosts[BAD].requests.length
    const asked = await this.load(out, routing)
    return (100 * (hosts[BAD].requests.length - before)) / asked.length
  }

  /** How long after it works again it answers again; undefined where it does not. */
  async backAfter(): Promise<number | undefined> {
    this.stage.hosts[BAD].script = ANSWERS
    const at = performance.now()
    while (performance.now() - at < BACK_MS) {
      const back = (await this.load(1)).find(({ provider }) => provider === BAD)
      if (back) return back.at - at
    }
    return undefined
  }

  async erring({ erring }: Lengths): Promise<number> {
    const { hosts } = this.stage
    hosts[BAD].script = ERRS
    const before = hosts[BAD].requests.length
    await this.load(erring)
    hosts[BAD].script = ANSWERS
    return hosts[BAD].requests.length - before
  }

  get failed(): number {
    return this.asked.filter(({ status }) => status !== 200).length
  }
}

type Live = (day: BadDay, lengths: Lengths) => Promise<Figure[]>

const down: Live = async (day, lengths) => {
  const calls = await day.callsOnceOut(DOWN, lengths)
  const out = { what: "down: calls it gets after 2 s", seen: calls, atMost: 0.5, unit: "%" }
  // It is left alone for longer than a short form takes.
  if (lengths === SHORT) return [out]
  return [out, { what: "back after", seen: (await day.backAfter()) ?? Number.NaN, atMost: BACK_MS, unit: "ms" }]
}

const slow: Live = async (day, lengths) => {
  const calls = await day.callsOnceOut(SLOW, lengths, "latency")
  return [{ what: "slow, by latency: calls it gets after 2 s", seen: calls, atMost: 5, unit: "%" }]
}

const erring: Live = async (day, lengths) => {
  return [{ what: "failing in 30 %: calls it gets", seen: await day.erring(lengths), atLeast: 20 }]
}

/** On a gateway of its own: what is known of one bad day is not to help on the next. */
async function lived(live: Live, lengths: Lengths): Promise<{ figures: Figure[]; day: BadDay }> {
  const stage = await ThreeProviders.start()
  const day = new BadDay(stage)
  try {
    return { figures: await live(day, lengths), day }
  } finally {
    await stage.stop()
  }
}

export const oneOfThree: Row = {
  number: 6,
  title: "one of three providers is down, slow, or fails in 30 %",
  async run({ short, say }) {
    const days = await Promise.all([down, slow, erring].map((live) => lived(live, short ? SHORT : WHOLE)))
    const all = days.reduce((sum, { day }) => sum + day.asked.length, 0)
    const failed = days.reduce((sum, { day }) => sum + day.failed, 0)
    say(`${all} requests, ${failed} of them failed`)
    const errors = { what: "failed", seen: (100 * failed) / all, atMost: 0.1, unit: "% of requests" }
    return [...days.flatMap(({ figures }) => figures), errors]
  },
}
