// The number of upstream calls per request, counted by the provider: one per attempt, and at most one more if a kept
// connection turned out to be closed.
import { setTimeout } from "node:timers/promises"
import { RunningGateway } from "../stage/gateway.ts"
import { countReportedAttempts } from "../stage/reported-attempts.ts"
import { completion, ScriptedUpstream, type UpstreamReply } from "../stage/upstream.ts"
import type { ProofFigure, ProofRow } from "./row.ts"

interface KillCase {
  readonly what: string
  /** The time that the provider works on a call before it closes without a byte. */
  readonly afterMs: () => number
  /** Which of the requests for one call it kills: the first, or all. */
  readonly kills: "first" | "all"
}

const at = (ms: number) => () => ms
const CASES: readonly KillCase[] = [
  { what: "closes at once, then answers", afterMs: at(0), kills: "first" },
  { what: "closes after 50 ms, then answers", afterMs: at(50), kills: "first" },
  { what: "closes after 1.5 s, then answers", afterMs: at(1500), kills: "first" },
  { what: "always closes at once", afterMs: at(0), kills: "all" },
  { what: "always closes after 50 ms", afterMs: at(50), kills: "all" },
  { what: "always closes after 1.5 s", afterMs: at(1500), kills: "all" },
  { what: "always closes after up to 400 ms", afterMs: () => Math.random() * 400, kills: "all" },
]

/** A host that works for so long has seen the request: it must not be sent again outside of the attempts. */
const SEEN_MS = 1000
const KEPT_CONNECTIONS = 4
/** Long enough for the connections of calls that have just been answered to be idle. */
const WARM_MS = 50

/** A provider that answers warm-up calls, and kills calls as its case requires. */
class KillingHost {
  private readonly sends = new Map<string, number>()

  private constructor(
    readonly upstream: ScriptedUpstream,
    private readonly of: KillCase,
  ) {}

  static async start(of: KillCase): Promise<KillingHost> {
    const host = new KillingHost(await ScriptedUpstream.start(), of)
    host.upstream.script = async ({ body }, reply) => host.answer(/call-\d+/.exec(body.toString())?.[0], reply)
    return host
  }

  sendsOf(call: string): number {
    return this.sends.get(call) ?? 0
  }

  private async answer(call: string | undefined, reply: UpstreamReply): Promise<void> {
    const sends = call === undefined ? 0 : this.sendsOf(call) + 1
    if (call !== undefined) this.sends.set(call, sends)
    if (sends > 0 && (sends === 1 || this.of.kills === "all")) {
      await setTimeout(this.of.afterMs())
      reply.cut("reset")
    } else {
      // So that several that warm it up are under way at once, each on its own connection.
      await setTimeout(10)
      reply.json(completion("Hello."))
    }
  }
}

interface CallSeen {
  readonly sends: number
  readonly attempts: number
  readonly answered: boolean
}

/** Makes one call while there are several kept connections to its provider. */
async function callOnce(
  gateway: RunningGateway,
  host: KillingHost,
  of: { model: string; call: string },
): Promise<CallSeen> {
  const ask = (content: string) => gateway.chat({ model: of.model, messages: [{ role: "user", content }] })
  const warming = Array.from({ length: KEPT_CONNECTIONS }, async () => (await ask("warm")).arrayBuffer())
  await Promise.all(warming)
  await setTimeout(WARM_MS)
  const response = await ask(of.call)
  const reported = Number(response.headers.get("x-gateway-attempts"))
  const attempts = response.ok ? reported : Math.max(reported, countReportedAttempts(await response.json()))
  return { sends: host.sendsOf(of.call), attempts, answered: response.ok }
}

function configOf(hosts: readonly KillingHost[]): string {
  const providers = hosts.map(
    ({ upstream }, index) =>
      `  p${index}: { type: openai-compatible, protocols: [openai-chat], base_url: "${upstream.baseUrl}", api_key: "k" }`,
  )
  const models = hosts.map(
    (_, index) =>
      `  - { id: test/m${index}, kind: chat, context_window: 1000, pricing: { input: "1", output: "2" }, targets: [{ provider: p${index}, model: m }] }`,
  )
  return ["providers:", ...providers, "models:", ...models, ""].join("\n")
}

function indexesOf(kills: KillCase["kills"]): number[] {
  return [...CASES.keys()].filter((index) => CASES[index]?.kills === kills)
}

export const oneCall: ProofRow = {
  number: 25,
  title: "one call is not sent repeatedly",
  async run({ short, print }) {
    const rounds = short ? 1 : 25
    const hosts = await Promise.all(CASES.map((each) => KillingHost.start(each)))
    const gateway = await RunningGateway.start({ config: configOf(hosts) })
    try {
      const callOften = async (index: number) => {
        const calls: CallSeen[] = []
        for (let round = 0; round < rounds; round++) {
          calls.push(
            await callOnce(gateway, hosts[index] as KillingHost, { model: `test/m${index}`, call: `call-${round}` }),
          )
        }
        return calls
      }
      // One kind after the other: all retries share a budget, and calls that can be answered shall be.
      const seen = (await Promise.all(indexesOf("first").map(callOften))).concat(
        await Promise.all(indexesOf("all").map(callOften)),
      )
      for (const [index, calls] of seen.entries()) {
        const most = calls.toSorted((one, other) => other.sends - one.sends)[0]
        print(`${CASES[index]?.what}: ${most?.sends} sends of one call at most, in ${most?.attempts} attempts`)
      }
      return figures(seen)
    } finally {
      await gateway.stop()
      await Promise.all(hosts.map(({ upstream }) => upstream.stop()))
    }
  },
}

function figures(seen: readonly (readonly CallSeen[])[]): ProofFigure[] {
  const extra = (calls: readonly CallSeen[]) => calls.map(({ sends, attempts }) => sends - attempts)
  const slow = CASES.flatMap(({ afterMs }, index) => (afterMs() >= SEEN_MS ? (seen[index] ?? []) : []))
  const first = CASES.flatMap(({ kills }, index) => (kills === "first" ? (seen[index] ?? []) : []))
  const atOnce = seen[0] ?? []
  return [
    { what: "calls", seen: seen.flat().length, atLeast: CASES.length },
    { what: "sends of one call beyond its attempts, at most", seen: Math.max(...extra(seen.flat())), atMost: 1 },
    { what: "of these, after the provider had worked for seconds", seen: Math.max(...extra(slow)), atMost: 0 },
    { what: "sends of any call, at most", seen: Math.max(...seen.flat().map(({ sends }) => sends)), atMost: 4 },
    {
      what: "calls not answered although only their first request was killed",
      seen: first.filter(({ answered }) => !answered).length,
      atMost: 0,
    },
    {
      what: "attempts of a call whose kept connection was closed at once",
      seen: Math.max(...atOnce.map(({ attempts }) => attempts)),
      atMost: 2,
      // On a busy machine the close may come later than a round trip, which is a failed attempt.
      needsQuiet: true,
    },
  ]
}
