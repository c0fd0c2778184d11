// A long mixed load with leaving clients and failing upstreams: memory and descriptors stay level.
import { readdirSync } from "node:fs"
import { setTimeout } from "node:timers/promises"
import { RunningGateway } from "../stage/gateway.ts"
import { RunningSimulator } from "../stage/simulator.ts"
import type { ProofRow } from "./row.ts"
import { faultsLogged } from "./watch-gateway.ts"
import { WIRE_DIALECTS } from "./wire-dialects.ts"

const CALLERS = 40
const LEAVING = 0.05
const FAILING = 0.05
const SAMPLE_MS = 1000
/** The share of the time until compilers and caches have settled. */
const SETTLING = 0.25

const FAULTS = ["status-500", "status-429", "cut-after-3", "reset-after-3", "garbage-after-2", "error-after-0", "html"]

/** A model that is served well, and one for each fault. */
function config(origin: string): string {
  const model = (id: string, name: string) => `
  - { id: ${id}, kind: chat, context_window: 100000, max_output_tokens: 1000, pricing: { input: "1", output: "2" }, targets: [
      { provider: openai-like, model: "${name}" },
      { provider: anthropic-like, model: "${name}" },
      { provider: gemini-like, model: "${name}" }] }`
  return `
providers:
  openai-like: { type: openai-compatible, protocols: [openai-chat, openai-responses, openai-embeddings, openai-images], base_url: "${origin}/v1", api_key: "k" }
  anthropic-like: { type: anthropic-compatible, base_url: "${origin}", api_key: "k" }
  gemini-like: { type: gemini-compatible, base_url: "${origin}", api_key: "k" }
models:${model("test/model", "well")}${FAULTS.map((fault) => model(`test/${fault}`, `well@${fault}`)).join("")}
`
}

interface SoakTally {
  calls: number
  left: number
  failed: number
  /** A good model's stream that did not arrive. */
  lost: number
  /** Refused because the gateway had too much to do. */
  shed: number
}

export const soak: ProofRow = {
  number: 21,
  title: "soak: mixed load, 5 % of streams left by their client, 5 % of upstreams failing",
  async run({ short, print }) {
    const simulator = await RunningSimulator.start("--first-token-ms", "5", "--tokens-per-second", "500")
    const gateway = await RunningGateway.start({ config: config(simulator.url) })
    const durationMs = short ? 4000 : 10 * 60_000
    const tally: SoakTally = { calls: 0, left: 0, failed: 0, lost: 0, shed: 0 }
    const samples: [minutes: number, megabytes: number][] = []
    try {
      await call(gateway, { tally, at: 0 })
      const before = descriptors(gateway.pid)
      const startedAt = performance.now()
      const until = startedAt + durationMs
      const callers = Array.from({ length: CALLERS }, async (_, caller) => {
        for (let at = caller; performance.now() < until; at += CALLERS) await call(gateway, { tally, at })
      })
      while (performance.now() < until) {
        await setTimeout(SAMPLE_MS)
        samples.push([(performance.now() - startedAt) / 60_000, gateway.memoryMb])
        if (samples.length % 60 === 0) print(`after ${samples.length / 60} min: ${gateway.memoryMb.toFixed(1)} MB`)
      }
      await Promise.all(callers)
      // Idle connections, to either side, are given time to close.
      await setTimeout(short ? 500 : 45_000)
      const settled = samples.slice(Math.floor(samples.length * SETTLING))
      print(
        `${tally.calls} calls, ${tally.left} left, ${tally.failed} failed upstream; idle again at ${gateway.memoryMb.toFixed(1)} MB`,
      )
      return [
        // In a few seconds it means nothing.
        ...(short ? [] : [{ what: "slope of memory", seen: slope(settled), atMost: 0.5, unit: "MB per minute" }]),
        { what: "peak memory", seen: Math.max(...samples.map(([, mb]) => mb)), atMost: 300, unit: "MB" },
        { what: "calls", seen: tally.calls, atLeast: short ? 500 : 100_000, needsQuiet: true },
        { what: "sound streams that did not arrive", seen: tally.lost, atMost: 0 },
        // A gateway on a busy machine sheds load.
        { what: "sound streams that were shed", seen: tally.shed, atMost: 0, needsQuiet: true },
        { what: "descriptors gained", seen: descriptors(gateway.pid) - before, atMost: short ? 300 : 5 },
        { what: "faults logged", seen: faultsLogged(gateway), atMost: 0 },
      ]
    } finally {
      await gateway.stop()
      await simulator.stop()
    }
  },
}

async function call(gateway: RunningGateway, { tally, at }: { tally: SoakTally; at: number }): Promise<void> {
  const dialect = WIRE_DIALECTS[at % WIRE_DIALECTS.length] ?? WIRE_DIALECTS[0]
  if (!dialect) return
  const streamed = at % 3 !== 0
  const failing = Math.random() < FAILING
  const model = failing ? `test/${FAULTS[at % FAULTS.length]}` : "test/model"
  const question = "Tell me about the sea. ".repeat(1 + (at % 50))
  const body = JSON.stringify(dialect.body(question, { model, streamed }))
  const leaves = streamed && Math.random() < LEAVING
  const abort = new AbortController()
  tally.calls++
  try {
    const response = await fetch(gateway.url + dialect.path(model, streamed), {
      method: "POST",
      headers: dialect.headers(gateway.key),
      body,
      signal: abort.signal,
    })
    let text = ""
    for await (const bytes of response.body ?? []) {
      if (leaves) abort.abort()
      if (!response.ok) text += Buffer.from(bytes)
    }
    if (failing) tally.failed++
    else if (response.status === 503 && text.includes("overloaded")) tally.shed++
    else if (!response.ok && !leaves) tally.lost++
  } catch {
    if (leaves) tally.left++
    else if (failing) tally.failed++
    else tally.lost++
  }
}

function descriptors(pid: number): number {
  return readdirSync(`/proc/${pid}/fd`).length
}

/** The slope of the regression line. */
function slope(points: readonly (readonly [number, number])[]): number {
  const mean = (at: 0 | 1) => points.reduce((sum, point) => sum + point[at], 0) / points.length
  const [x, y] = [mean(0), mean(1)]
  const over = points.reduce((sum, point) => sum + (point[0] - x) * (point[1] - y), 0)
  return over / points.reduce((sum, point) => sum + (point[0] - x) ** 2, 0)
}
