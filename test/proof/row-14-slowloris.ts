// Many connections that send almost nothing: they are closed, and all other clients are served as before.
import { connect, type Socket } from "node:net"
import { setTimeout } from "node:timers/promises"
import { RunningGateway, upstreamConfig } from "../stage/gateway.ts"
import { LatencyProbe } from "../stage/latency-probe.ts"
import { completion, ScriptedUpstream } from "../stage/upstream.ts"
import type { ProofRow } from "./row.ts"
import { percentile } from "./watch-gateway.ts"

const BYTE_EVERY_MS = 1000
const BEGIN_WITHIN_MS = 2000
const GIVE_UP_MS = 30_000
/** Below this a percentile shows the machine rather than the gateway. */
const FLOOR_MS = 5

export const slowloris: ProofRow = {
  number: 14,
  title: "slowloris",
  async run({ short, print }) {
    const upstream = await ScriptedUpstream.start((_, reply) => reply.json(completion("hi")))
    const gateway = await RunningGateway.start({ config: upstreamConfig(upstream.baseUrl) })
    const count = short ? 100 : 2000
    try {
      const alone = await waitsDuring(gateway.url, () => setTimeout(short ? 2000 : 10_000))
      const cuts: number[] = []
      const waits = await waitsDuring(gateway.url, async () => {
        // The clients are independent: none waits for the others to begin.
        const drips = Array.from({ length: count }, async (_, at) => {
          await setTimeout((at / count) * BEGIN_WITHIN_MS)
          return drip(gateway, at)
        })
        cuts.push(...(await Promise.all(drips)))
      })
      const aloneMs = percentile(alone, 99)
      const waitMs = percentile(waits, 99)
      print(`p99 of a small request: ${aloneMs.toFixed(1)} ms alone, ${waitMs.toFixed(1)} ms meanwhile`)
      return [
        { what: "connections", seen: cuts.length, atLeast: count },
        { what: "the last was closed after", seen: Math.max(...cuts) / 1000, atMost: 15, unit: "s" },
        {
          what: `p99 of a small request meanwhile, relative to that alone (at least ${FLOOR_MS} ms)`,
          seen: waitMs / Math.max(aloneMs, FLOOR_MS),
          atMost: 2,
          unit: "times",
          needsQuiet: true,
        },
        { what: "requests that reached the provider", seen: upstream.requests.length, atMost: 0 },
      ]
    } finally {
      await gateway.stop()
      await upstream.stop()
    }
  },
}

async function waitsDuring(url: string, act: () => Promise<unknown>): Promise<number[]> {
  const pulse = await LatencyProbe.start(`${url}/healthz`)
  await act()
  return pulse.stop()
}

/** Four ways to be slow; resolves with the milliseconds until the connection was cut. */
function drip({ url, key }: RunningGateway, at: number): Promise<number> {
  const post = `POST /v1/chat/completions HTTP/1.1\r\nHost: g\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\n`
  const starts = [
    "",
    `${post}X-Slow: `,
    `${post}Content-Length: 1000\r\n\r\n{`,
    `${post}Content-Length: 1000000\r\n\r\n{`,
    `${post}Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n`,
  ]
  const start = starts[at % starts.length] ?? ""
  const chunked = start.includes("chunked")
  const line = "GET /v1/models HTTP/1.1\r\nX-Slow: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
  return cutAfter(url, { start, next: (turn) => (chunked ? "1\r\n \r\n" : start === "" ? (line[turn] ?? "a") : " ") })
}

interface SlowSender {
  readonly start: string
  next(turn: number): string
}

function cutAfter(url: string, { start, next }: SlowSender): Promise<number> {
  const { hostname, port } = new URL(url)
  const startedAt = performance.now()
  return new Promise((resolve) => {
    const socket: Socket = connect({ host: hostname, port: Number(port) })
    let turn = 0
    socket.on("connect", () => socket.write(start))
    const dripping = setInterval(() => {
      if (performance.now() - startedAt > GIVE_UP_MS) socket.destroy()
      else if (socket.writable) socket.write(next(turn++))
    }, BYTE_EVERY_MS)
    socket.on("error", () => {})
    socket.resume()
    socket.once("close", () => {
      clearInterval(dripping)
      resolve(performance.now() - startedAt)
    })
  })
}
