// Tenants that announce large bodies, send most of each and let the rest drip, while another tenant sends ordinary ones.
import { connect } from "node:net"
import { setTimeout } from "node:timers/promises"
import { RunningGateway, upstreamConfig } from "../stage/gateway.ts"
import { completion, ScriptedUpstream } from "../stage/upstream.ts"
import type { ProofRow } from "./row.ts"
import { faultsLogged, watch } from "./watch-gateway.ts"

const MIB = 1024 * 1024
const ANNOUNCED = 32 * MIB
/** The bytes that each hog sends at once: together far more than the gateway's budget. */
const AT_ONCE = 30 * MIB
/** Just enough to count as a body on its way. */
const DRIP_BYTES = 20 * 1024
const DRIP_MS = 5000
const HOG_KEYS = 4
const SENDERS = 4
const QUESTION = { model: "test/model", messages: [{ role: "user", content: "a".repeat(100_000) }] }

type FramingKind = "announced" | "chunked"

interface HogRun {
  readonly url: string
  readonly key: string
  readonly framing: FramingKind
  readonly isOver: () => boolean
}

/** Sends a body that never ends, and another whenever that is refused; resolves with the bodies begun. */
async function hog(run: HogRun): Promise<number> {
  let begun = 0
  while (!run.isOver()) {
    begun++
    await sendEndlessBody(run)
    await setTimeout(100)
  }
  return begun
}

function sendEndlessBody({ url, key, framing, isOver }: HogRun): Promise<void> {
  const { hostname, port } = new URL(url)
  const length = framing === "chunked" ? "transfer-encoding: chunked" : `content-length: ${ANNOUNCED}`
  const lines = ["host: g", `authorization: Bearer ${key}`, "content-type: application/json", length]
  const piece = (bytes: number) => {
    const text = " ".repeat(bytes)
    return framing === "chunked" ? `${bytes.toString(16)}\r\n${text}\r\n` : text
  }
  return new Promise((resolve) => {
    const socket = connect({ host: hostname, port: Number(port) })
    socket.on("error", () => {})
    socket.resume()
    socket.write(`POST /v1/chat/completions HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n`)
    for (let sent = 0; sent < AT_ONCE; sent += MIB) socket.write(piece(MIB))
    let drips = 0
    const dripping = setInterval(() => {
      if (isOver()) socket.destroy()
      else if (++drips % (DRIP_MS / 100) === 0) socket.write(piece(DRIP_BYTES))
    }, 100)
    socket.once("close", () => {
      clearInterval(dripping)
      resolve()
    })
  })
}

async function newKey(gateway: RunningGateway, tenant: string): Promise<string> {
  const body = JSON.stringify({ name: tenant, tenant, requests_per_minute: 1_000_000 })
  const answer = await gateway.administer("/admin/v1/keys", { method: "POST", body })
  return ((await answer.json()) as { key: string }).key
}

async function bodyBytes(gateway: RunningGateway): Promise<number> {
  const text = await (await gateway.administer("/metrics")).text()
  return Number(/^trivium_body_bytes_being_read (\d+)$/m.exec(text)?.[1])
}

export const bodyHogs: ProofRow = {
  number: 26,
  title: "bodies that are announced and do not end",
  async run({ short, print }) {
    const upstream = await ScriptedUpstream.start((_, reply) => reply.json(completion("hi")))
    const config = upstreamConfig(upstream.baseUrl).replace("context_window: 1000,", "context_window: 1000000,")
    const gateway = await RunningGateway.start({ config })
    const statuses = new Map<number, number>()
    let [isOver, mostHeld] = [false, 0]
    const over = () => isOver
    try {
      const hogKeys = await Promise.all(Array.from({ length: HOG_KEYS }, (_, at) => newKey(gateway, `hog-${at}`)))
      const headers = {
        authorization: `Bearer ${await newKey(gateway, "ordinary")}`,
        "content-type": "application/json",
      }
      const send = async () => {
        while (!isOver) {
          const answer = await gateway.chat(QUESTION, { headers })
          await answer.arrayBuffer()
          statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1)
          await setTimeout(20)
        }
      }
      const { grownMb } = await watch(gateway, async () => {
        const hogs = hogKeys.flatMap((key) =>
          (["announced", "announced", "chunked"] as const).map((framing) => {
            return hog({ url: gateway.url, key, framing, isOver: over })
          }),
        )
        const senders = Array.from({ length: SENDERS }, send)
        const end = performance.now() + (short ? 4000 : 60_000)
        while (performance.now() < end) {
          mostHeld = Math.max(mostHeld, await bodyBytes(gateway))
          await setTimeout(50)
        }
        isOver = true
        await Promise.all(senders)
        const begun = (await Promise.all(hogs)).reduce((sum, each) => sum + each, 0)
        print(`${begun} endless bodies begun by ${HOG_KEYS} keys`)
      })
      print(
        `the ordinary tenant's answers: ${[...statuses].map(([status, count]) => `${status}: ${count}`).join(", ")}`,
      )
      const other = [...statuses].reduce((sum, [status, count]) => sum + (status === 200 ? 0 : count), 0)
      return [
        { what: "peak bytes of bodies held", seen: mostHeld / MIB, atLeast: 200, atMost: 256, unit: "MiB" },
        {
          what: "the ordinary tenant's requests answered",
          seen: statuses.get(200) ?? 0,
          atLeast: short ? 20 : 500,
          needsQuiet: true,
        },
        { what: "the ordinary tenant's requests refused", seen: other, atMost: 0 },
        { what: "peak memory growth", seen: grownMb, atMost: 700, unit: "MB" },
        { what: "faults logged", seen: faultsLogged(gateway), atMost: 0 },
      ]
    } finally {
      isOver = true
      await gateway.stop()
      await upstream.stop()
    }
  },
}
