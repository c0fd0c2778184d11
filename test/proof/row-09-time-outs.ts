// Providers that stall, at each stage and in each protocol: an error in time, and all resources released.
import type { ExchangeTimeouts } from "../../src/exchange/exchange-deps.ts"
import { eventually, within } from "../stage/eventually.ts"
import { FullHost } from "../stage/full-host.ts"
import { RunningGateway } from "../stage/gateway.ts"
import { InProcessGateway } from "../stage/in-process.ts"
import { ScriptedUpstream, type UpstreamReply, type UpstreamScript } from "../stage/upstream.ts"
import type { ProofFigure, ProofRow } from "./row.ts"
import { ask, dialectAt, WIRE_DIALECTS, type WireDialect } from "./wire-dialects.ts"

/** The tolerance for an error and for the release of a socket. */
const SLACK_MS = 500
/** After so long a socket counts as not freed, where the machine may be busy. */
const RELEASED_ON_BUSY_MS = 5000
/** Clocks are read in two places. */
const EARLY_MS = 50
const DRIP_MS = 40

interface UpstreamStall {
  readonly what: string
  readonly streamed: boolean
  readonly model: "test/model" | "test/thinker" | "test/far"
  readonly limitMs: number
  /** The provider's behaviour; resolves when its silence begins, if the limit counts from then. */
  act?(reply: UpstreamReply, dialect: WireDialect): void | Promise<void>
  readonly countsFrom: "question" | "silence"
}

const TEXT = "one two three"

/** The events up to the first word, or with it. */
function begun({ events, openers }: WireDialect, words: 0 | 1): string {
  return events(TEXT)
    .slice(0, openers + words)
    .join("")
}

const SILENCES: Readonly<Record<string, UpstreamStall["act"]>> = {
  "no headers": () => {},
  "no event": (reply) => reply.stream(),
  "openers only": async (reply, dialect) => {
    reply.stream()
    await reply.write(`${begun(dialect, 0)}: hello\n\n`)
  },
}

async function afterAWord(reply: UpstreamReply, dialect: WireDialect): Promise<void> {
  reply.stream()
  await reply.write(begun(dialect, 1))
}

async function lively(reply: UpstreamReply, dialect: WireDialect): Promise<void> {
  const [word = ""] = dialect.events(TEXT).slice(dialect.openers)
  await afterAWord(reply, dialect)
  await repeat(reply, word)
}

async function drips(reply: UpstreamReply): Promise<void> {
  reply.stream({ "content-type": "application/json" })
  await repeat(reply, " ")
}

async function repeat(reply: UpstreamReply, piece: string): Promise<void> {
  let open = true
  void reply.closed.then(() => {
    open = false
  })
  while (open) {
    await reply.write(piece)
    await Bun.sleep(DRIP_MS)
  }
}

const far = { model: "test/far", countsFrom: "question" } as const
const common = { model: "test/model", countsFrom: "question" } as const
const silent = { countsFrom: "silence", act: afterAWord, streamed: true } as const

function connecting(limitMs: number): UpstreamStall[] {
  return [
    { ...far, what: "connect", streamed: false, limitMs },
    { ...far, what: "connect, streamed", streamed: true, limitMs },
  ]
}

function firstEvents(limitMs: number, model: UpstreamStall["model"] = "test/model"): UpstreamStall[] {
  return Object.entries(SILENCES).map(([what, act]) => {
    return { ...common, model, what: `first event: ${what}`, streamed: true, limitMs, ...(act && { act }) }
  })
}

function gaps(limitMs: number, model: UpstreamStall["model"] = "test/model"): UpstreamStall[] {
  return [{ ...silent, model, what: "gap", limitMs }]
}

/** A limit at a time, so that no other ends the call before. */
const SCALED: readonly { readonly timeouts: Partial<ExchangeTimeouts>; readonly stalls: readonly UpstreamStall[] }[] = [
  { timeouts: { connectMs: 1000 }, stalls: connecting(1000) },
  { timeouts: { firstEventMs: 500 }, stalls: firstEvents(500) },
  { timeouts: { firstEventMs: 500, heartbeatMs: 100 }, stalls: firstEvents(500) },
  { timeouts: { gapMs: 500 }, stalls: gaps(500) },
  {
    timeouts: { firstEventMs: 200, gapMs: 200, patientMs: 800 },
    stalls: [...firstEvents(800, "test/thinker"), ...gaps(800, "test/thinker")],
  },
  {
    timeouts: { streamMs: 800 },
    stalls: [{ ...common, what: "whole stream", streamed: true, limitMs: 800, act: lively }],
  },
  {
    timeouts: { unaryMs: 600 },
    stalls: [
      { ...common, what: "whole unary answer: no headers", streamed: false, limitMs: 600 },
      { ...common, what: "whole unary answer: drips", streamed: false, limitMs: 600, act: drips },
    ],
  },
]

const DEFAULTS: readonly UpstreamStall[] = [...connecting(5000), ...firstEvents(60_000), ...gaps(60_000)]

interface StallOutcome {
  readonly stall: UpstreamStall
  readonly dialect: WireDialect
  /** The delay of the error after its limit; negative if before. */
  readonly lateMs: number
  readonly reported: boolean
  readonly freed: boolean
}

/** One provider for all: each request names its stall. */
class StallingHost {
  /** After so long a socket counts as not freed. */
  releasedMs = SLACK_MS
  private readonly stalls: UpstreamStall[] = []
  private readonly replies: UpstreamReply[] = []
  private readonly silentSince: number[] = []

  private constructor(readonly upstream: ScriptedUpstream) {}

  static async start(): Promise<StallingHost> {
    const host = new StallingHost(await ScriptedUpstream.start())
    host.upstream.script = host.script
    return host
  }

  private readonly script: UpstreamScript = async (request, reply) => {
    const number = Number(/stall (\d+)/.exec(request.body.toString())?.[1])
    this.replies[number] = reply
    await this.stalls[number]?.act?.(reply, dialectAt(request.path))
    this.silentSince[number] = performance.now()
  }

  async suffer(
    stall: UpstreamStall,
    dialect: WireDialect,
    address: { url: string; key: string },
  ): Promise<StallOutcome> {
    const number = this.stalls.push(stall) - 1
    const { model, streamed, limitMs } = stall
    const sentAt = performance.now()
    const request = { question: `stall ${number}`, model: atOneHost(model, dialect), streamed }
    const text = await (await ask(dialect, address, request)).text()
    const endedAt = performance.now()
    const from = stall.countsFrom === "question" ? sentAt : (this.silentSince[number] ?? Number.NaN)
    const closed = this.replies[number]?.closed
    const freed = closed
      ? await within(closed, "the release", this.releasedMs).then(
          () => true,
          () => false,
        )
      : model === "test/far"
    return { stall, dialect, lateMs: endedAt - from - limitMs, reported: text.includes("upstream_unavailable"), freed }
  }
}

const VENDORS = {
  chat: "openai",
  responses: "openai",
  messages: "anthropic",
  "gemini events": "gemini",
  "gemini array": "gemini",
} as const

/** Only at hosts of the client's protocol: at another host the wait would start again. */
function atOneHost(model: UpstreamStall["model"], { name }: WireDialect): string {
  return `${model === "test/far" ? "far" : "near"}-${VENDORS[name]}/${model}`
}

function config(origin: string, farOrigin: string): string {
  const accounts = ["near", "far"].flatMap((name) => {
    const base = name === "near" ? origin : farOrigin
    return [
      `  ${name}-openai: { type: openai-compatible, protocols: [openai-chat, openai-responses, openai-embeddings, openai-images], base_url: "${base}/v1", api_key: "upstream-credential" }`,
      `  ${name}-anthropic: { type: anthropic-compatible, base_url: "${base}", api_key: "upstream-credential" }`,
      `  ${name}-gemini: { type: gemini-compatible, base_url: "${base}", api_key: "upstream-credential" }`,
    ]
  })
  const model = (id: string, place: string, reasoning: boolean) => {
    const targets = ["openai", "anthropic", "gemini"].map((vendor) => `{ provider: ${place}-${vendor}, model: m }`)
    return `  - { id: ${id}, kind: chat, reasoning: ${reasoning}, context_window: 1000, max_output_tokens: 100, pricing: { input: "1", output: "2" }, targets: [${targets.join(", ")}] }`
  }
  const models = [
    model("test/model", "near", false),
    model("test/thinker", "near", true),
    model("test/far", "far", false),
  ]
  return ["providers:", ...accounts, "models:", ...models, ""].join("\n")
}

export const timeOuts: ProofRow = {
  number: 9,
  title: "time-outs",
  async run({ short, print }) {
    const host = await StallingHost.start()
    if (short) host.releasedMs = RELEASED_ON_BUSY_MS
    const full = await FullHost.start()
    const text = config(host.upstream.origin, full.origin)
    try {
      const seen = await scaledOutcomes(host, text)
      if (!short) seen.push(await defaultOutcomes(host, text))
      await eventually(() => full.callers === 0, { withinMs: host.releasedMs }).catch(() => {})
      const outcomes = seen.flatMap((each) => each.outcomes)
      for (const { stall, dialect, lateMs, reported, freed } of outcomes) {
        if (reported && freed && lateMs <= SLACK_MS && lateMs >= -EARLY_MS) continue
        print(
          `${dialect.name}, ${stall.what} (${stall.limitMs} ms): ${lateMs.toFixed(0)} ms late, ${reported ? "" : "not "}reported, freed: ${freed}`,
        )
      }
      return figures(outcomes, { places: sum(seen.map(({ places }) => places)), callers: full.callers, short })
    } finally {
      full.stop()
      await host.upstream.stop()
    }
  },
}

interface StallResults {
  readonly outcomes: readonly StallOutcome[]
  /** Still taken afterwards. */
  readonly places: number
}

async function scaledOutcomes(host: StallingHost, text: string): Promise<StallResults[]> {
  // All of them first: to start one holds up this process, and with it whatever another has to end in time.
  const started = SCALED.map(({ timeouts, stalls }) => {
    return { stalls, gateway: InProcessGateway.start({ config: text, timeouts }) }
  })
  try {
    return await Promise.all(
      started.map(async ({ stalls, gateway }) => {
        const outcomes = await suffered(host, stalls, gateway)
        const [, places] = /^trivium_in_flight (\d+)$/m.exec(gateway.gateway.metrics.expose()) ?? []
        return { outcomes, places: Number(places) }
      }),
    )
  } finally {
    for (const { gateway } of started) await gateway.stop()
  }
}

async function defaultOutcomes(host: StallingHost, text: string): Promise<StallResults> {
  const gateway = await RunningGateway.start({ config: text })
  try {
    const outcomes = await suffered(host, DEFAULTS, gateway)
    const status = (await (await gateway.administer("/admin/v1/status")).json()) as { in_flight: number }
    return { outcomes, places: status.in_flight }
  } finally {
    await gateway.stop()
  }
}

function suffered(host: StallingHost, stalls: readonly UpstreamStall[], gateway: { url: string; key: string }) {
  const { url, key } = gateway
  return Promise.all(
    stalls.flatMap((stall) => WIRE_DIALECTS.map((dialect) => host.suffer(stall, dialect, { url, key }))),
  )
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}

function figures(
  outcomes: readonly StallOutcome[],
  { places, callers, short }: { places: number; callers: number; short: boolean },
): ProofFigure[] {
  const count = (wrong: (outcome: StallOutcome) => boolean) => outcomes.filter(wrong).length
  return [
    { what: "stalls", seen: outcomes.length, atLeast: short ? 75 : 100 },
    {
      what: "the latest error after its limit",
      seen: Math.max(...outcomes.map(({ lateMs }) => lateMs)),
      atMost: SLACK_MS,
      unit: "ms",
    },
    { what: "errors before their limit", seen: count(({ lateMs }) => lateMs < -EARLY_MS), atMost: 0 },
    { what: "stalls not reported as an error", seen: count(({ reported }) => !reported), atMost: 0 },
    { what: "upstream sockets not freed", seen: count(({ freed }) => !freed) + callers, atMost: 0 },
    { what: "slots not released", seen: places, atMost: 0 },
  ]
}
