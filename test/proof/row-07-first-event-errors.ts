// Streams that start with status 200 and an error: two of three providers do it in 30 % of calls, and the vendors' own
// libraries see none of it.
import { RunningGateway } from "../stage/gateway.ts"
import { ScriptedUpstream, type UpstreamScript } from "../stage/upstream.ts"
import { STREAM_READERS } from "./official-clients.ts"
import type { ProofRow } from "./row.ts"
import { runConcurrently } from "./run-concurrently.ts"
import { SeededRandom } from "./seeded-random.ts"
import { dialectAt, type WireDialect } from "./wire-dialects.ts"

const TEXT = "The quick brown fox jumps over the lazy dog."
const SHARE = 0.3
const SEED = 7
const AT_ONCE = 4

const error = { message: "The engine is overloaded.", type: "server_error", code: "server_error" }
const FIRST_ERRORS: Readonly<Record<WireDialect["name"], string>> = {
  chat: `data: ${JSON.stringify({ error })}\n\n`,
  responses: `event: error\ndata: ${JSON.stringify({ ...error, type: "error", sequence_number: 0, param: null })}\n\n`,
  messages: `event: error\ndata: ${JSON.stringify({ type: "error", error: { type: "overloaded_error", message: "Overloaded" } })}\n\n`,
  "gemini events": `data: ${JSON.stringify({ error: { code: 503, message: "Overloaded.", status: "UNAVAILABLE" } })}\n\n`,
  "gemini array": "",
}

/** A host of every protocol that fails in a share of its streams. */
class FirstEventHost {
  began = 0
  erred = 0
  private readonly random: SeededRandom

  constructor(
    number: number,
    private readonly share: number,
  ) {
    this.random = new SeededRandom({ seed: SEED, number })
  }

  readonly script: UpstreamScript = async ({ path }, reply) => {
    const dialect = dialectAt(path)
    this.began++
    reply.stream()
    if (this.random.chance(this.share)) {
      this.erred++
      // Half of them send an opening event first.
      const openers = this.random.chance(0.5) ? dialect.events(TEXT).slice(0, dialect.openers) : []
      for (const event of [...openers, FIRST_ERRORS[dialect.name]]) await reply.write(event)
    } else {
      for (const event of dialect.events(TEXT)) await reply.write(event)
    }
    reply.end()
  }
}

/** Every host as a provider of each vendor's protocol, so that each client has three of its own. */
function configFor(origins: readonly string[]): string {
  const entries = origins.flatMap((origin, index) => [
    [
      `openai-${index}`,
      `type: openai-compatible, protocols: [openai-chat, openai-responses], base_url: "${origin}/v1"`,
    ],
    [`anthropic-${index}`, `type: anthropic-compatible, base_url: "${origin}"`],
    [`gemini-${index}`, `type: gemini-compatible, base_url: "${origin}"`],
  ])
  const providers = entries.map(([name, settings]) => `  ${name}: { ${settings}, api_key: "credential" }`)
  const targets = entries.map(([name]) => `{ provider: ${name}, model: upstream-model }`)
  const model = `{ id: test/model, pricing: { input: "1", output: "2" }, targets: [${targets}] }`
  return `providers:\n${providers.join("\n")}\nmodels:\n  - ${model}\n`
}

export const firstEventErrors: ProofRow = {
  number: 7,
  title: "an error as the first event of a 200 in 30 %",
  async run({ short, print }) {
    const hosts = [new FirstEventHost(0, SHARE), new FirstEventHost(1, SHARE), new FirstEventHost(2, 0)]
    const upstreams = await Promise.all(hosts.map(({ script }) => ScriptedUpstream.start(script)))
    const gateway = await RunningGateway.start({ config: configFor(upstreams.map(({ origin }) => origin)) })
    try {
      const each = short ? 12 : 300
      const readers = STREAM_READERS.map((reader) => ({ name: reader.name, read: reader.at(gateway) }))
      const turns = Array.from({ length: each }, () => readers).flat()
      const act = async ({ name, read }: (typeof readers)[number]) => {
        const ending = await read("hi").then((text) => (text === TEXT ? "whole" : "truncated"), String)
        if (ending !== "whole") print(`${name}: ${ending}`)
        return ending
      }
      const endings = await runConcurrently(turns, { atOnce: AT_ONCE, act })
      const erring = hosts.filter(({ erred }) => erred > 0)
      const sum = (of: "began" | "erred") => erring.reduce((total, host) => total + host[of], 0)
      print(`${endings.length} streams read; ${sum("erred")} of ${sum("began")} at two hosts began with an error`)
      return [
        {
          what: "streams that began with an error",
          seen: (100 * sum("erred")) / sum("began"),
          atLeast: 20,
          atMost: 40,
          unit: "%",
        },
        { what: "errors that clients saw", seen: endings.filter((ending) => ending !== "whole").length, atMost: 0 },
        { what: "readers", seen: readers.length, atLeast: 9 },
      ]
    } finally {
      await gateway.stop()
      await Promise.all(upstreams.map((upstream) => upstream.stop()))
    }
  },
}
