// Hosts that ignore output limits, in every member of every protocol, on a balance, a strict balance and a budget:
// upstream bills exceed the funds by at most one answer per call under way; that excess is owed; and further calls are
// rejected.
import { nanoOfUsd } from "../../src/canonical/usd.ts"
import { RunningGateway } from "../stage/gateway.ts"
import { FUNDING_KINDS, type FundingKind, FundingSource } from "./funding-sources.ts"
import { ANSWER_TOKENS, type AnswerShape, MeteredHost } from "./metered-host.ts"
import type { ProofFigure, ProofRow } from "./row.ts"
import { runConcurrently } from "./run-concurrently.ts"

/** 0.05 USD, and 10 USD for a million tokens. */
const WORTH_NANO = 50_000_000n
const NANO_PER_TOKEN = 10_000n
const SHAPES = ["unary", "stream", "silent reasoning"] as const
const LATER_CALLS = 10
/** The number of calls made, as a multiple of the concurrent ones. */
const WAVES = 3

interface WrittenLimit {
  readonly what: string
  readonly path: (model: string, stream: boolean) => string
  readonly body: (model: string, stream: boolean) => object
}

const hi = [{ role: "user", content: "hi" }]
const chat = (what: string, limits: object): WrittenLimit => ({
  what: `chat, ${what}`,
  path: () => "/v1/chat/completions",
  body: (model, stream) => ({ model, messages: hi, stream, ...limits }),
})

const LIMITS: readonly WrittenLimit[] = [
  chat("max_completion_tokens with a larger max_tokens", { max_completion_tokens: 1, max_tokens: 100_000 }),
  chat("max_tokens with a larger max_completion_tokens", { max_completion_tokens: 100_000, max_tokens: 1 }),
  chat("max_tokens", { max_tokens: 1 }),
  chat("max_completion_tokens", { max_completion_tokens: 1 }),
  chat("no limit", {}),
  {
    what: "responses",
    path: () => "/v1/responses",
    body: (model, stream) => ({ model, input: "hi", stream, max_output_tokens: 1, store: false }),
  },
  {
    what: "messages",
    path: () => "/msgapi/v1/messages",
    body: (model, stream) => ({ model, messages: hi, stream, max_tokens: 1 }),
  },
  {
    what: "content generation",
    path: (model, stream) =>
      `/genapi/v1beta/models/${model}:${stream ? "streamGenerateContent?alt=sse" : "generateContent"}`,
    body: () => ({ contents: [{ role: "user", parts: [{ text: "hi" }] }], generationConfig: { maxOutputTokens: 1 } }),
  },
]

/** One way to spend: each at a model of its own, for what a gateway learns of one it learns of all that it is called by. */
interface LimitCase {
  readonly limit: WrittenLimit
  readonly shape: AnswerShape
  readonly funding: FundingKind
  readonly upstreamModel: string
  readonly isHonest: boolean
}

function casesOf(short: boolean): LimitCase[] {
  const fundings = FUNDING_KINDS.filter(({ keys }) => keys === 1)
  const all = [false, true].flatMap((isHonest) =>
    LIMITS.flatMap((limit) =>
      SHAPES.flatMap((shape) => fundings.map((funding) => ({ limit, shape, funding, isHonest }))),
    ),
  )
  // A host that obeys limits serves keys with a strict balance, which set a limit.
  const meant = all.filter(
    ({ isHonest, funding, limit }) => !isHonest || (funding.strict && !limit.what.includes("no limit")),
  )
  return (short ? meant.filter((_, at) => at % 7 === 0) : meant).map((each, at) => ({
    ...each,
    upstreamModel: `${each.isHonest ? "honest-" : ""}${each.shape.split(" ")[0]}-${at}`,
  }))
}

function config(origin: string, cases: readonly LimitCase[]): string {
  const models = cases.map(
    ({ upstreamModel }) =>
      `  - { id: test/${upstreamModel}, context_window: 200000, max_output_tokens: 100000,
      pricing: { input: "0", output: "10" }, targets: [{ provider: boundless, model: ${upstreamModel} }] }`,
  )
  return `
providers:
  boundless: { type: openai-compatible, protocols: [openai-chat], base_url: "${origin}/v1", api_key: "k" }
models:
${models.join("\n")}
`
}

interface LimitResult {
  /** Billed beyond what was there and one answer for each call under way, in nano-USD. */
  readonly beyondNano: bigint
  /** Billed beyond what was there at all. */
  readonly overNano: bigint
  /** Calls answered whole that were billed, and are neither paid nor owed. */
  readonly lostNano: bigint
  readonly whole: number
  readonly late: number
}

async function spend(each: LimitCase, { gateway, host, atOnce }: LimitStage): Promise<LimitResult> {
  const funding = await FundingSource.open(gateway, each.funding, WORTH_NANO)
  const call = () => send(gateway, funding.key(0), each)
  const first = await runConcurrently(Array.from({ length: WAVES * atOnce }), { atOnce, act: call })
  const billedNano = BigInt(host.billed.get(each.upstreamModel) ?? 0) * NANO_PER_TOKEN
  const bookedNano = WORTH_NANO - (await standing(gateway, funding))
  const answerNano = BigInt(ANSWER_TOKENS[each.shape]) * NANO_PER_TOKEN
  const mostNano = WORTH_NANO + BigInt(atOnce) * answerNano
  let late = 0
  if (bookedNano >= WORTH_NANO) for (let at = 0; at < LATER_CALLS; at++) if ((await call()).status === 200) late++
  const whole = first.filter(({ isWhole }) => isWhole).length
  const isReported = each.shape !== "stream"
  return {
    beyondNano: positive(billedNano - mostNano),
    overNano: positive(billedNano - WORTH_NANO),
    lostNano: isReported ? positive(billedNano - bookedNano) : 0n,
    whole,
    late,
  }
}

function positive(nano: bigint): bigint {
  return nano > 0n ? nano : 0n
}

/** The balance less the debt. */
async function standing(gateway: RunningGateway, funding: FundingSource): Promise<bigint> {
  const headers = { authorization: `Bearer ${funding.key(0)}` }
  const status = (await (await fetch(`${gateway.url}/v1/key`, { headers })).json()) as { debt?: string }
  return (await funding.leftNano()) - (nanoOfUsd(status.debt ?? "0") ?? 0n)
}

async function send(gateway: RunningGateway, key: string, { limit, shape, upstreamModel }: LimitCase) {
  const [model, stream] = [`test/${upstreamModel}`, shape !== "unary"]
  const response = await fetch(gateway.url + limit.path(model, stream), {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json", "msg-version": "2023-06-01" },
    body: JSON.stringify(limit.body(model, stream)),
  })
  const text = await response.text()
  return { status: response.status, isWhole: response.status === 200 && !text.includes("ran out while streaming") }
}

interface LimitStage {
  readonly gateway: RunningGateway
  readonly host: MeteredHost
  readonly atOnce: number
}

export const limits: ProofRow = {
  number: 23,
  title: "output limits that hosts ignore, in every member, unary, streamed and with silent reasoning",
  async run({ short, print }) {
    const host = await MeteredHost.start()
    const cases = casesOf(short)
    const gateway = await RunningGateway.start({ config: config(host.origin, cases) })
    const stage = { gateway, host, atOnce: short ? 40 : 200 }
    const seen: (LimitResult & LimitCase)[] = []
    try {
      for (const each of cases) {
        const found = await spend(each, stage)
        seen.push({ ...each, ...found })
        print(
          `${each.limit.what}, ${each.shape}, ${each.funding.what}: ${found.overNano} nano-USD over, ${found.whole} whole`,
        )
      }
    } finally {
      await gateway.stop()
      await host.stop()
    }
    return figures(seen, stage.atOnce)
  },
}

function figures(seen: readonly (LimitResult & LimitCase)[], atOnce: number): ProofFigure[] {
  const usd = (all: readonly LimitResult[], of: "beyondNano" | "overNano" | "lostNano") =>
    Number(all.reduce((sum, each) => sum + each[of], 0n)) / 1e9
  const honest = seen.filter(({ isHonest }) => isHonest)
  const loose = seen.filter(({ isHonest }) => !isHonest)
  const limited = loose.filter(({ shape, limit }) => shape === "stream" && limit.what !== "chat, no limit")
  return [
    { what: `ways to spend, ${WAVES * atOnce} calls each, ${atOnce} at once`, seen: seen.length, atLeast: 10 },
    {
      what: "USD billed beyond the balance and one answer per call under way",
      seen: usd(seen, "beyondNano"),
      atMost: 0,
    },
    { what: "USD of reported output that is neither paid nor owed", seen: usd(seen, "lostNano"), atMost: 0 },
    { what: "calls admitted after all was spent", seen: seen.reduce((sum, { late }) => sum + late, 0), atMost: 0 },
    {
      what: "whole streams of hosts that exceed the limit, on a balance that covers none",
      seen: limited.reduce((sum, { whole }) => sum + whole, 0),
      atMost: 0,
    },
    { what: "USD above a strict balance at hosts that obey the limit", seen: usd(honest, "overNano"), atMost: 0 },
    { what: "calls answered by these hosts", seen: honest.reduce((sum, { whole }) => sum + whole, 0), atLeast: 1 },
  ]
}
