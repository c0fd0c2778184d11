// Providers that send endless bytes without content: the stream ends with its error frame, the event loop is not
// delayed, and other streams continue.
import { eventually } from "../stage/eventually.ts"
import { RunningGateway } from "../stage/gateway.ts"
import { chunk, DONE, ScriptedUpstream } from "../stage/upstream.ts"
import { FLOODS, FloodHost } from "./flood-host.ts"
import { type StreamEnd, streamEnd } from "./fuzz-cases.ts"
import type { ProofFigure, ProofRow } from "./row.ts"
import { runConcurrently } from "./run-concurrently.ts"
import { loopFigure, watch } from "./watch-gateway.ts"
import { ask, chat, messages, type WireDialect } from "./wire-dialects.ts"

/** Relayed, and translated. */
const LANES: readonly WireDialect[] = [chat, messages]
const MIB = 1024 * 1024
/** The bound, six bytes on the way for each where a chunk has one byte, and what the kernel holds. */
const MAX_TAKEN_MIB = 48
const NEIGHBOUR_WORDS = 40
const WORD_MS = 15
const FREED_MS = 15_000

function configOf(floods: FloodHost, neighbours: ScriptedUpstream): string {
  const provider = (id: string, url: string) =>
    `  ${id}: { type: openai-compatible, protocols: [openai-chat], base_url: "${url}", api_key: "k" }`
  const model = (id: string, provider: string) =>
    `  - { id: ${id}, kind: chat, context_window: 1000, pricing: { input: "1", output: "2" }, targets: [{ provider: ${provider}, model: m }] }`
  return [
    "providers:",
    provider("flooding", floods.baseUrl),
    provider("sound", neighbours.baseUrl),
    "models:",
    model("test/flood", "flooding"),
    model("test/model", "sound"),
    "",
  ].join("\n")
}

/** A provider that sends some text now and then. */
async function soundHost(): Promise<ScriptedUpstream> {
  return ScriptedUpstream.start(async (_, reply) => {
    reply.stream()
    for (let word = 0; word < NEIGHBOUR_WORDS; word++) {
      await reply.write(chunk({ role: "assistant", content: `w${word} ` }))
      await Bun.sleep(WORD_MS)
    }
    await reply.write(chunk({}, "stop") + DONE)
    reply.end()
  })
}

interface FloodSeen {
  readonly what: string
  readonly end: StreamEnd | "refused"
  readonly isWhole: boolean
}

async function flooded(gateway: RunningGateway, dialect: WireDialect, index: number): Promise<FloodSeen> {
  const response = await ask(dialect, gateway, { question: `flood ${index}`, model: "test/flood", streamed: true })
  const text = await response.text()
  const { what = "", isWhole = false } = FLOODS[index] ?? {}
  const end = response.ok ? streamEnd(dialect.path("", true), text) : "refused"
  return { what: `${what} (${dialect.name})`, end, isWhole }
}

/** Neighbours that were not answered whole. */
class ConcurrentClients {
  requestCount = 0
  broken = 0
  private isOver = false

  constructor(private readonly gateway: RunningGateway) {}

  async run(atOnce: number): Promise<void> {
    await Promise.all(Array.from({ length: atOnce }, () => this.runOne()))
  }

  stop(): void {
    this.isOver = true
  }

  private async runOne(): Promise<void> {
    while (!this.isOver) {
      const response = await ask(chat, this.gateway, { streamed: true })
      const text = await response.text()
      this.requestCount++
      const isWhole = text.includes(`w${NEIGHBOUR_WORDS - 1} `) && streamEnd(chat.path("", true), text) === "whole"
      if (!isWhole) this.broken++
    }
  }
}

export const meaninglessBytes: ProofRow = {
  number: 29,
  title: "endless bytes without content",
  async run({ short, print }) {
    const host = await FloodHost.start()
    const sound = await soundHost()
    const gateway = await RunningGateway.start({ config: configOf(host, sound) })
    const neighbours = new ConcurrentClients(gateway)
    const seen: FloodSeen[] = []
    const all = LANES.flatMap((dialect, lane) => [...FLOODS.keys()].map((index) => ({ dialect, lane, index })))
    const cases = short ? all.filter(({ lane, index }) => index % LANES.length === lane) : all
    const rounds = short ? 1 : 4
    try {
      const { waits, grownMb, loop } = await watch(gateway, async () => {
        const neighbourLoad = neighbours.run(short ? 2 : 8)
        await runConcurrently(Array.from({ length: rounds }, () => cases).flat(), {
          atOnce: short ? 4 : 12,
          act: async ({ dialect, index }) => void seen.push(await flooded(gateway, dialect, index)),
        })
        neighbours.stop()
        await neighbourLoad
      })
      await eventually(() => host.open === 0, { withinMs: FREED_MS, what: "the end of every flooded connection" })
      for (const { what, end } of seen.filter(isWrong)) print(`${what}: ${end}`)
      print(
        `a small request waited ${Math.max(...waits).toFixed(0)} ms at most, memory grew by ${grownMb.toFixed(0)} MB`,
      )
      print(`the gateway sampled its event loop ${loop.looks} times`)
      return [...countsOf({ seen, neighbours, mostBytes: host.mostBytes, grownMb }), loopFigure(loop)]
    } finally {
      neighbours.stop()
      await gateway.stop()
      await host.stop()
      await sound.stop()
    }
  },
}

function isWrong({ end, isWhole }: FloodSeen): boolean {
  return isWhole ? end !== "whole" : end !== "error" && end !== "refused"
}

interface FloodMeasurement {
  readonly seen: readonly FloodSeen[]
  readonly neighbours: ConcurrentClients
  readonly mostBytes: number
  readonly grownMb: number
}

function countsOf({ seen, neighbours, mostBytes, grownMb }: FloodMeasurement): ProofFigure[] {
  const cut = seen.filter(({ end }) => end === "error").length
  return [
    { what: "floods", seen: seen.length, atLeast: FLOODS.length },
    { what: "of these, cut with an error frame", seen: cut, atLeast: FLOODS.length / 2 },
    {
      what: "floods that ended in neither an error nor a complete answer",
      seen: seen.filter(isWrong).length,
      atMost: 0,
    },
    { what: "peak bytes read of one flood", seen: mostBytes / MIB, atMost: MAX_TAKEN_MIB, unit: "MiB" },
    { what: "other streams meanwhile", seen: neighbours.requestCount, atLeast: 2 },
    { what: "of these, not answered whole", seen: neighbours.broken, atMost: 0 },
    { what: "peak memory growth", seen: grownMb, atMost: 500, unit: "MB" },
  ]
}
