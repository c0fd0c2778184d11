// Many streams, slow readers and clients that leave, through one real process.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test"
import { eventually, within } from "../stage/eventually.ts"
import { RunningGateway, upstreamConfig } from "../stage/gateway.ts"
import { RawClient } from "../stage/raw-client.ts"
import { chunk, completion, DONE, ScriptedUpstream, streamedWords, type UpstreamReply } from "../stage/upstream.ts"

const MAX_IN_FLIGHT = 2000
const REPETITIONS = 20

const messages = [{ role: "user", content: "hi" }]
const streamed = { model: "test/model", messages, stream: true }
const unary = { model: "test/model", messages }

let upstream: ScriptedUpstream
let gateway: RunningGateway

beforeAll(async () => {
  upstream = await ScriptedUpstream.start()
  gateway = await RunningGateway.start({ config: upstreamConfig(upstream.baseUrl) })
})
beforeEach(() => {
  upstream.requests.length = 0
})
afterAll(async () => {
  await gateway.stop()
  await upstream.stop()
})

/**
 * Opens streams of which the upstream has sent the first word, and ends them all on demand. On bare sockets, because
 * `fetch` under `bun test` runs no more than 256 requests at once, whatever the environment says.
 */
async function openStreams(count: number): Promise<{ clients: RawClient[]; complete: () => void }> {
  const gate = Promise.withResolvers<void>()
  const [opener = "", first = "", ...rest] = streamedWords("all at once")
  upstream.script = async (_, reply) => {
    reply.stream()
    await reply.write(opener + first)
    await gate.promise
    await reply.write(rest.join(""))
    reply.end()
  }
  const request = { key: gateway.key, body: JSON.stringify(streamed) }
  const clients = await Promise.all(Array.from({ length: count }, () => RawClient.chat(gateway.url, request)))
  await Promise.all(clients.map((client) => client.until(/"content":"all"/)))
  return { clients, complete: gate.resolve }
}

async function closeAll(clients: readonly RawClient[]): Promise<string[]> {
  const texts = await Promise.all(clients.map((client) => client.until(/\r\n0\r\n\r\n$/)))
  for (const client of clients) client.leave()
  return texts
}

describe("a reader that stalls", () => {
  const EVENT = chunk({ content: "x".repeat(64 * 1024) })
  const OFFERED_BYTES = 256 * 1024 * 1024

  test("a reader that stalls slows the upstream down instead of filling memory", async () => {
    let written = 0
    let reply: UpstreamReply | undefined
    upstream.script = async (_, opened) => {
      reply = opened
      let open = true
      void opened.closed.then(() => {
        open = false
      })
      opened.stream()
      while (open && written < OFFERED_BYTES) {
        await opened.write(EVENT)
        written += EVENT.length
        await Bun.sleep(0)
      }
    }
    const before = gateway.memoryMb
    const client = await RawClient.chat(gateway.url, { key: gateway.key, body: JSON.stringify(streamed) })
    await client.until(/data: /)
    client.stopReading()
    await untilStill(() => written)
    expect(written).toBeLessThan(OFFERED_BYTES / 4)
    expect(gateway.memoryMb - before).toBeLessThan(64)
    report("stalled reader", { upstreamWroteMb: written / 1024 / 1024, grownMb: gateway.memoryMb - before })

    client.leave("reset")
    if (!reply) throw new Error("the upstream was not called")
    await within(reply.closed, "the upstream's release")
  })

  test("a reader that stalls resumes where it stopped, and gets everything", async () => {
    const count = 400
    upstream.script = async (_, reply) => {
      reply.stream()
      for (let sent = 0; sent < count; sent++) await reply.write(EVENT)
      await reply.write(chunk({}, "stop") + DONE)
      reply.end()
    }
    const client = await RawClient.chat(gateway.url, { key: gateway.key, body: JSON.stringify(streamed) })
    await client.until(/data: /)
    client.stopReading()
    await untilStill(() => client.receivedBytes)
    client.readOn()
    await eventually(() => client.receivedBytes > count * 64 * 1024, { what: "the rest" })
    const text = await client.until(/\r\n0\r\n\r\n$/)
    expect(text.match(/"delta":\{"content"/g)).toHaveLength(count)
    expect(text).toContain("data: [DONE]\n\n")
    client.leave()
  })

  /** A stalled stream has no event for "nothing moves any more". */
  async function untilStill(progress: () => number): Promise<void> {
    let last = -1
    for (let round = 0; round < 20 && progress() !== last; round++) {
      last = progress()
      await Bun.sleep(500)
    }
  }
})

describe("as many streams as the gateway allows", () => {
  test("2,000 streams run at once in one process, and every one completes", async () => {
    const { clients, complete } = await openStreams(MAX_IN_FLIGHT)
    expect(upstream.requests).toHaveLength(MAX_IN_FLIGHT)
    expect(upstream.openSockets).toBeGreaterThanOrEqual(MAX_IN_FLIGHT)
    complete()
    const texts = await closeAll(clients)
    expect(texts.filter((text) => text.startsWith("HTTP/1.1 200 "))).toHaveLength(MAX_IN_FLIGHT)
    expect(texts.filter((text) => text.includes(DONE))).toHaveLength(MAX_IN_FLIGHT)
    expect(texts.filter((text) => text.includes('"error"'))).toBeEmpty()
  })

  test("a stream above the limit is rejected while the others run, with a delay, other routes are served, and a freed slot is reused", async () => {
    const { clients, complete } = await openStreams(MAX_IN_FLIGHT)
    const refused = await gateway.chat(unary)
    expect(refused.status).toBe(503)
    expect(await refused.json()).toMatchObject({ error: { code: "overloaded", type: "service_unavailable_error" } })
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0)
    expect(refused.headers.get("x-should-retry")).toBeNull()
    expect(upstream.requests).toHaveLength(MAX_IN_FLIGHT)
    expect((await fetch(`${gateway.url}/healthz`)).status).toBe(200)

    complete()
    await closeAll(clients)
    upstream.script = (_, reply) => reply.json(completion("free again"))
    expect((await gateway.chat(unary)).status).toBe(200)
  })
})

describe("a client that leaves", () => {
  const silent = () => {}
  const beforeFirstEvent = (reply: UpstreamReply) => {
    reply.stream()
    void reply.write(chunk({ role: "assistant", content: "" }))
  }
  const midStream = (reply: UpstreamReply) => {
    reply.stream()
    void reply.write(chunk({ role: "assistant", content: "" }) + chunk({ content: "Hello" }))
  }
  const cases = [
    { when: "before an answer to a unary call", body: unary, answer: silent, seen: undefined },
    { when: "before the upstream has answered a stream", body: streamed, answer: silent, seen: undefined },
    { when: "before a stream's first meaningful event", body: streamed, answer: beforeFirstEvent, seen: undefined },
    { when: "in the middle of a stream", body: streamed, answer: midStream, seen: /Hello/ },
  ]

  test.each(cases)("a client that leaves $when frees the upstream", async ({ when, body, answer, seen }) => {
    const latencies: number[] = []
    for (let round = 0; round < REPETITIONS; round++) {
      const called = Promise.withResolvers<UpstreamReply>()
      upstream.script = (_, reply) => {
        answer(reply)
        called.resolve(reply)
      }
      const client = await RawClient.chat(gateway.url, { key: gateway.key, body: JSON.stringify(body) })
      const reply = await called.promise
      if (seen) await client.until(seen)
      const left = performance.now()
      client.leave(round % 2 === 0 ? "fin" : "reset")
      latencies.push((await within(reply.closed, "the upstream's release")) - left)
    }
    report(`left ${when}`, { maxMs: Math.max(...latencies) })
  })

  test("a client that disconnects is recorded once, and not as an error", async () => {
    const gone = () => gateway.logged("exchange").filter(({ outcome }) => outcome === "client-gone")
    // The stalled reader of above left too.
    await eventually(() => gone().length >= cases.length * REPETITIONS + 1)
    expect(gone()).toHaveLength(cases.length * REPETITIONS + 1)
    expect(gateway.logged("exchange").filter(({ outcome }) => outcome === "failed")).toHaveLength(1)
    expect(gateway.logged("unhandled-rejection")).toBeEmpty()
  })

  test("a client that leaves while it sends its request causes no internal error", async () => {
    const client = await RawClient.connect(gateway.url)
    const head = [
      "POST /v1/chat/completions HTTP/1.1",
      "host: gateway",
      `authorization: Bearer ${gateway.key}`,
      "content-type: application/json",
      "content-length: 1000",
    ]
    await client.send(`${head.join("\r\n")}\r\n\r\n{"model":`)
    const before = gateway.logged("exchange").length
    client.leave("reset")
    await eventually(() => gateway.logged("exchange").length > before, { what: "the record" })
    expect(gateway.logged("exchange").at(-1)).toMatchObject({ outcome: "client-gone" })
  })
})

/** Figures for people; no assertion depends on them. */
function report(what: string, figures: Record<string, number>): void {
  const shown = Object.entries(figures).map(([name, value]) => `${name} ${value.toFixed(1)}`)
  if (process.env.TRIVIUM_TEST_FIGURES) console.log(`${what}: ${shown.join(", ")}`)
}
