// Three providers of one model behind a gateway, and requests at a steady pace, independent of their answers.
import { RunningGateway } from "../stage/gateway.ts"
import { completion, ScriptedUpstream, type UpstreamScript } from "../stage/upstream.ts"

export const NAMES = ["one", "two", "three"] as const
export type ProviderLabel = (typeof NAMES)[number]

export const ANSWERS: UpstreamScript = (_, reply) => reply.json(completion("Hello."))

/** The outcome of one request. */
export interface TimedCall {
  /** On the clock of `performance.now`. */
  readonly at: number
  readonly status: number
  readonly provider: string | null
}

const MODEL = "test/model"
const TICK_MS = 10

export class ThreeProviders {
  private constructor(
    readonly hosts: Readonly<Record<ProviderLabel, ScriptedUpstream>>,
    private readonly gateway: RunningGateway,
  ) {}

  static async start(): Promise<ThreeProviders> {
    const [one, two, three] = await Promise.all(NAMES.map(() => ScriptedUpstream.start(ANSWERS)))
    if (!one || !two || !three) throw new Error("three hosts were started")
    const hosts = { one, two, three }
    const providers = NAMES.map(
      (name) =>
        `  ${name}: { type: openai-compatible, protocols: [openai-chat], base_url: "${hosts[name].baseUrl}", api_key: "credential" }`,
    )
    const targets = NAMES.map((name) => `{ provider: ${name}, model: upstream-model }`)
    const model = `{ id: ${MODEL}, pricing: { input: "1", output: "2" }, targets: [${targets}] }`
    const config = `providers:\n${providers.join("\n")}\nmodels:\n  - ${model}\n`
    return new ThreeProviders(hosts, await RunningGateway.start({ config }))
  }

  /** The number of calls to the hosts so far. */
  get calls(): number {
    return NAMES.reduce((sum, name) => sum + this.hosts[name].requests.length, 0)
  }

  /** Sends requests at this rate for this time; resolves when all have ended. */
  async load(perSecond: number, { seconds, routing }: { seconds: number; routing?: string }): Promise<TimedCall[]> {
    const pending: Promise<TimedCall>[] = []
    const began = performance.now()
    for (let due = 0; due < seconds * perSecond; ) {
      const wanted = Math.min(seconds * perSecond, ((performance.now() - began) / 1000) * perSecond)
      for (; due < wanted; due++) pending.push(this.ask(routing))
      await Bun.sleep(TICK_MS)
    }
    return Promise.all(pending)
  }

  async ask(routing?: string): Promise<TimedCall> {
    const at = performance.now()
    const answer = await this.gateway.chat({
      model: MODEL,
      messages: [{ role: "user", content: "Hi" }],
      ...(routing && { provider: { routing } }),
    })
    await answer.text()
    return { at, status: answer.status, provider: answer.headers.get("x-gateway-provider") }
  }

  async stop(): Promise<void> {
    await this.gateway.stop()
    await Promise.all(NAMES.map((name) => this.hosts[name].stop()))
  }
}
