// Four times as many requests as the gateway has slots: admitted ones finish, the rest is rejected at once, and a
// greedy key does not shut out the others.
import { setTimeout } from "node:timers/promises"
import { RunningGateway, upstreamConfig } from "../stage/gateway.ts"
import { completion, ScriptedUpstream } from "../stage/upstream.ts"
import { parseExposition } from "../telemetry/exposition.ts"
import type { ProofFigure, ProofRow } from "./row.ts"
import { HostTheft, OwnStalls, percentile } from "./watch-gateway.ts"
import { chat, ask as say } from "./wire-dialects.ts"

/** If the machine's host took more of its time, durations show nothing about the gateway. */
const MOST_STOLEN = 0.02
const OFFERED_PER_SECOND = 400
const TICK_MS = 10
/** Requests a second: the places divided by the seconds that one is held. */
const CAPACITY = 100

interface OverloadScale {
  readonly places: number
  readonly upstreamMs: number
  readonly evenSeconds: number
  readonly greedySeconds: number
}

const WHOLE: OverloadScale = { places: 50, upstreamMs: 500, evenSeconds: 30, greedySeconds: 15 }
const SHORT: OverloadScale = { places: 20, upstreamMs: 200, evenSeconds: 3, greedySeconds: 2 }

interface OverloadAnswer {
  readonly key: number
  readonly status: number
  readonly code: string | undefined
  readonly retryAfter: string | null
  readonly ms: number
  /** Whether this process was on time itself while it waited. */
  readonly isJudged: boolean
}

/** The number of requests of each key while the others send theirs. */
type ShareList = readonly number[]
const EVEN: ShareList = [1, 1, 1, 1]
const GREEDY: ShareList = [47, 1, 1, 1]

class OverloadRun {
  private readonly stalls = new OwnStalls()

  private constructor(
    private readonly upstream: ScriptedUpstream,
    private readonly gateway: RunningGateway,
    private readonly keys: readonly string[],
  ) {}

  static async start({ places, upstreamMs }: OverloadScale): Promise<OverloadRun> {
    const upstream = await ScriptedUpstream.start(async (_, reply) => {
      await setTimeout(upstreamMs)
      reply.json(completion("Hello."))
    })
    const config = upstreamConfig(upstream.baseUrl, `server: { max_in_flight: ${places} }`)
    const gateway = await RunningGateway.start({ config })
    const create = async (name: string) => {
      const body = JSON.stringify({ name, requests_per_minute: 1_000_000 })
      const answer = await gateway.administer("/admin/v1/keys", { method: "POST", body })
      return ((await answer.json()) as { key: string }).key
    }
    return new OverloadRun(upstream, gateway, await Promise.all(EVEN.map((_, key) => create(`key-${key}`))))
  }

  /** Offers requests by the clock, however the gateway fares, and waits for the last answer. */
  async offer(shares: ShareList, seconds: number): Promise<OverloadAnswer[]> {
    const turns = shares.flatMap((share, key) => Array.from({ length: share }, () => key))
    const pending: Promise<OverloadAnswer>[] = []
    const began = performance.now()
    for (let elapsedMs = 0; elapsedMs < seconds * 1000; elapsedMs = performance.now() - began) {
      const due = Math.floor((elapsedMs * OFFERED_PER_SECOND) / 1000)
      while (pending.length < due) pending.push(this.ask(turns[(pending.length * STRIDE) % turns.length] ?? 0))
      await setTimeout(TICK_MS)
    }
    return Promise.all(pending)
  }

  get upstreamCalls(): number {
    return this.upstream.requests.length
  }

  /** The value in the gateway's own metrics. */
  async shed(): Promise<number> {
    const families = parseExposition(await (await this.gateway.administer("/metrics")).text())
    const samples = families.get("trivium_shed_total")?.samples ?? []
    return samples.reduce((sum, { value }) => sum + value, 0)
  }

  async stop(): Promise<void> {
    this.stalls.stop()
    await this.gateway.stop()
    await this.upstream.stop()
  }

  private async ask(key: number): Promise<OverloadAnswer> {
    const sentAt = performance.now()
    const answer = await say(chat, { url: this.gateway.url, key: this.keys[key] ?? "" })
    const text = await answer.text()
    const ms = performance.now() - sentAt
    const isJudged = !this.stalls.since(sentAt)
    const [, code] = /"code":\s*"([a-z_]+)"/.exec(text) ?? []
    return { key, status: answer.status, code, retryAfter: answer.headers.get("retry-after"), ms, isJudged }
  }
}

/** Through the keys in steps that meet each of them, so that no key has its turns all together. */
const STRIDE = 7

const isAnswered = ({ status }: OverloadAnswer) => status === 200
const isShed = ({ status, code, retryAfter }: OverloadAnswer) =>
  status === 503 && code === "overloaded" && retryAfter !== null

export const overload: ProofRow = {
  number: 16,
  title: "overload: four times as many requests as there are slots",
  async run({ short, print }) {
    const scale = short ? SHORT : WHOLE
    const theft = new HostTheft()
    const run = await OverloadRun.start(scale)
    try {
      const even = await run.offer(EVEN, scale.evenSeconds)
      await setTimeout(scale.upstreamMs)
      const greedy = await run.offer(GREEDY, scale.greedySeconds)
      const all = [...even, ...greedy]
      const shed = all.filter(isShed)
      const waits = shed.filter(({ isJudged }) => isJudged).map(({ ms }) => ms)
      print(`${all.length} requests, ${all.filter(isAnswered).length} answered, ${shed.length} shed`)
      print(`shed answers: p50 ${percentile(waits, 50).toFixed(1)} ms, at most ${Math.max(...waits).toFixed(1)} ms`)
      const { share } = theft
      const isTimed = share <= MOST_STOLEN
      if (!isTimed) console.warn(`row 16: the host took ${(100 * share).toFixed(0)} % of the time, so it is not timed`)
      return [
        ...(isTimed ? timedFigures(even, { scale, waits, judged: waits.length / shed.length }) : []),
        {
          what: "share of the answers of the least served of four equal keys",
          seen: leastShare(even),
          atLeast: 20,
          unit: "%",
          needsQuiet: true,
        },
        ...greedyFigures(greedy),
        {
          what: "requests neither answered nor shed",
          seen: all.filter((each) => !isAnswered(each) && !isShed(each)).length,
          atMost: 0,
        },
        {
          what: "provider calls beyond the answers",
          seen: run.upstreamCalls - all.filter(isAnswered).length,
          atMost: 0,
        },
        { what: "shed requests not counted as such", seen: shed.length - (await run.shed()), atLeast: 0, atMost: 0 },
      ]
    } finally {
      await run.stop()
    }
  },
}

interface OverloadTiming {
  readonly scale: OverloadScale
  /** The durations of shed answers. */
  readonly waits: readonly number[]
  /** The share of shed answers that these are, of 1. */
  readonly judged: number
}

function timedFigures(
  even: readonly OverloadAnswer[],
  { scale: { evenSeconds }, waits, judged }: OverloadTiming,
): ProofFigure[] {
  const goodput = even.filter(isAnswered).length / evenSeconds
  const figures: ProofFigure[] = [
    { what: "offered", seen: even.length / evenSeconds, atLeast: 0.95 * OFFERED_PER_SECOND, unit: "a second" },
    { what: "answered", seen: goodput, atLeast: 0.9 * CAPACITY, unit: "a second" },
    { what: "shed answers, p99", seen: percentile(waits, 99), atMost: 20, unit: "ms" },
    { what: "share of them judged, of 100", seen: 100 * judged, atLeast: 50 },
  ]
  return figures.map((figure) => ({ ...figure, needsQuiet: true }))
}

function leastShare(even: readonly OverloadAnswer[]): number {
  const perKey = EVEN.map((_, key) => even.filter((each) => each.key === key && isAnswered(each)).length)
  return (Math.min(...perKey) / even.filter(isAnswered).length) * 100
}

/** Each of the other keys uses less than its share. */
function greedyFigures(greedy: readonly OverloadAnswer[]): ProofFigure[] {
  const modest = greedy.filter(({ key }) => key > 0)
  const answered = (modest.filter(isAnswered).length / modest.length) * 100
  return [
    { what: "requests of other keys next to a greedy one", seen: modest.length, atLeast: 20, needsQuiet: true },
    { what: "of these, answered", seen: answered, atLeast: 90, unit: "%", needsQuiet: true },
    {
      what: "of the greedy key's, answered",
      seen: greedy.filter((each) => each.key === 0 && isAnswered(each)).length,
      atLeast: 50,
      needsQuiet: true,
    },
  ]
}
