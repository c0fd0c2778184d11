// The end of a gateway: a graceful stop interrupts no client, and a kill loses no data.
import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { eventually, within } from "../stage/eventually.ts"
import { RunningGateway, runCommand, upstreamConfig } from "../stage/gateway.ts"
import { InProcessGateway } from "../stage/in-process.ts"
import { RawClient } from "../stage/raw-client.ts"
import { chunk, completion, DONE, ScriptedUpstream, streamedWords, type UpstreamReply } from "../stage/upstream.ts"

const messages = [{ role: "user", content: "hi" }]
const unary = { model: "test/model", messages }
const streamed = { ...unary, stream: true }
const [OPENER = "", FIRST = "", ...REST] = streamedWords("until the end")

let upstream: ScriptedUpstream
let config: string
const started: RunningGateway[] = []

beforeEach(async () => {
  upstream = await ScriptedUpstream.start()
  config = upstreamConfig(upstream.baseUrl)
})
afterEach(async () => {
  for (const gateway of started.splice(0)) await gateway.stop()
  await upstream.stop()
})

async function start(dataDir?: string): Promise<RunningGateway> {
  const gateway = await RunningGateway.start({ config, ...(dataDir && { dataDir }) })
  started.push(gateway)
  return gateway
}

/** The upstream's side of a started stream, whose rest follows on demand. */
function heldStream(): { complete: () => void } {
  const gate = Promise.withResolvers<void>()
  upstream.script = async (_, reply) => {
    reply.stream()
    await reply.write(OPENER + FIRST)
    await gate.promise
    await reply.write(REST.join(""))
    reply.end()
  }
  return { complete: gate.resolve }
}

async function isRefused(url: string): Promise<boolean> {
  try {
    await fetch(`${url}/healthz`)
    return false
  } catch {
    return true
  }
}

describe("SIGTERM", () => {
  test("SIGTERM turns readiness off at once, serves on for a while, lets streams end, and exits with code 0", async () => {
    const gateway = await start()
    const { complete } = heldStream()
    const stream = await gateway.chat(streamed)
    expect((await fetch(`${gateway.url}/readyz`)).status).toBe(200)

    const signalled = performance.now()
    gateway.signal("SIGTERM")
    await eventually(async () => (await fetch(`${gateway.url}/readyz`)).status === 503)
    expect((await fetch(`${gateway.url}/healthz`)).status).toBe(200)
    upstream.script = (_, reply) => reply.json(completion("still here"))
    expect((await gateway.chat(unary)).status).toBe(200)

    // The listener goes after the grace; the stream is still there.
    await eventually(() => isRefused(gateway.url), { what: "the end of the grace" })
    expect(performance.now() - signalled).toBeGreaterThan(4000)
    complete()
    const text = await stream.text()
    expect(text).toEndWith(DONE)
    expect(text).not.toContain('"error"')
    expect(await within(gateway.exited(), "the end")).toBe(0)
    expect(gateway.logged("stopped")).toHaveLength(1)
  })
})

describe("SIGINT", () => {
  test("SIGINT ends an idle gateway at once, with code 0", async () => {
    const gateway = await start()
    expect((await gateway.chat(unary)).status).toBe(200)
    gateway.signal("SIGINT")
    expect(await within(gateway.exited(), "the end")).toBe(0)
  })

  test("SIGINT is handled from the moment the gateway reports that it listens", async () => {
    const codes = Array.from({ length: 10 }, async () => {
      const gateway = await start()
      gateway.signal("SIGINT")
      return gateway.exited()
    })
    expect(new Set(await Promise.all(codes))).toEqual(new Set([0]))
  })

  test("SIGINT rejects new connections at once, and lets streams end", async () => {
    const gateway = await start()
    const { complete } = heldStream()
    const stream = await gateway.chat(streamed)
    gateway.signal("SIGINT")
    await eventually(() => isRefused(gateway.url), { what: "the end of listening" })
    complete()
    expect(await stream.text()).toEndWith(DONE)
    expect(await within(gateway.exited(), "the end")).toBe(0)
  })

  test("SIGINT lets the last answer of any size arrive whole", async () => {
    const gateway = await start()
    const content = "0123456789".repeat(2 * 1024 * 1024)
    const arrival = Promise.withResolvers<UpstreamReply>()
    upstream.script = (_, reply) => arrival.resolve(reply)
    const answer = gateway.chat(unary)
    const reply = await arrival.promise
    gateway.signal("SIGINT")
    await eventually(() => isRefused(gateway.url), { what: "the end of listening" })
    reply.json(completion(content))
    const text = await (await answer).text()
    expect(text.length).toBeGreaterThan(content.length)
    expect(await within(gateway.exited(), "the end")).toBe(0)
  })

  test("SIGINT lets the last stream of a slow reader arrive whole", async () => {
    const gateway = await start()
    const EVENT = chunk({ content: "x".repeat(64 * 1024) })
    const count = 200
    upstream.script = async (_, reply) => {
      reply.stream()
      for (let sent = 0; sent < count; sent++) await reply.write(EVENT)
      await reply.write(chunk({}, "stop") + DONE)
      reply.end()
    }
    const client = await RawClient.chat(gateway.url, { key: gateway.key, body: JSON.stringify(streamed) })
    await client.until(/data: /)
    client.stopReading()
    gateway.signal("SIGINT")
    await eventually(() => isRefused(gateway.url), { what: "the end of listening" })
    client.readOn()
    await client.closed
    expect(client.received.match(/"delta":\{"content"/g)).toHaveLength(count)
    expect(client.received).toEndWith("data: [DONE]\n\n\r\n0\r\n\r\n")
    expect(await within(gateway.exited(), "the end")).toBe(0)
  })
})

describe("the end of draining", () => {
  test("at the end of draining, streams end in an error frame, and their upstreams are freed", async () => {
    const gateway = InProcessGateway.start({ config })
    const replies: UpstreamReply[] = []
    upstream.script = async (_, reply) => {
      replies.push(reply)
      reply.stream()
      await reply.write(OPENER + FIRST)
    }
    const streams = await Promise.all(Array.from({ length: 20 }, () => gateway.chat(streamed)))
    const texts = Promise.all(streams.map((stream) => stream.text()))
    await gateway.stop({ drainMs: 300 })
    for (const text of await texts) {
      expect(text.match(/^data: \{"error".*"shutting_down".*$/gm)).toHaveLength(1)
      expect(text).toContain("until")
      expect(text).not.toContain("[DONE]")
    }
    for (const reply of replies) await within(reply.closed, "the release of the upstream")
  })

  test("at the end of draining, streams with only heart-beats end in an error frame too", async () => {
    const gateway = InProcessGateway.start({ config, timeouts: { heartbeatMs: 100 } })
    upstream.script = () => {}
    const stream = await gateway.chat(streamed)
    const text = stream.text()
    await gateway.stop({ drainMs: 300 })
    expect(await text).toMatch(/^: ping\n\n[\s\S]*data: \{"error".*"shutting_down".*\n\n$/)
  })

  test("at the end of draining, unary calls are answered 503 and may be retried", async () => {
    const gateway = InProcessGateway.start({ config })
    const arrival = Promise.withResolvers<UpstreamReply>()
    upstream.script = (_, reply) => arrival.resolve(reply)
    const answers = Array.from({ length: 5 }, () => gateway.chat(unary))
    const reply = await arrival.promise
    await eventually(() => upstream.requests.length === answers.length)
    const settled = Promise.allSettled(answers)
    await gateway.stop({ drainMs: 300 })
    for (const each of await settled) {
      if (each.status === "rejected") throw each.reason
      expect(each.value.status).toBe(503)
      expect(each.value.headers.get("x-should-retry")).toBeNull()
      expect(await each.value.json()).toMatchObject({ error: { code: "shutting_down" } })
    }
    await within(reply.closed, "the release of the upstream")
  })

  test("a new request on an old connection is rejected while the gateway stops", async () => {
    const gateway = InProcessGateway.start({ config })
    const client = await RawClient.chat(gateway.url, { key: gateway.key, body: JSON.stringify(unary) })
    await client.until(/"choices"/)
    heldStream()
    const stream = await gateway.chat(streamed)
    const text = stream.text()
    const stopped = gateway.stop({ drainMs: 500 })
    await eventually(() => isRefused(gateway.url), { what: "the end of listening" })
    const body = JSON.stringify(unary)
    const head = `POST /v1/chat/completions HTTP/1.1\r\nhost: gateway\r\nauthorization: Bearer ${gateway.key}\r\n`
    await client.send(`${head}content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`)
    // The connection may as well be closed before; then the client knows to open another, elsewhere.
    await client.until(/shutting_down/).catch(() => expect(client.received.match(/HTTP\/1.1/g)).toHaveLength(1))
    await stopped
    await text
    client.leave()
  })
})

describe("kill -9", () => {
  test("kill -9 of the launcher ends the gateway too", async () => {
    const gateway = await start()
    const { pid } = gateway
    gateway.signal("SIGKILL")
    await gateway.exited()
    await eventually(() => !isAlive(pid), { what: "the gateway's end" })
    expect(await isRefused(gateway.url)).toBe(true)
  })

  test("kill -9 of the gateway loses no key, and the next start works on the same folder", async () => {
    const dataDir = mkdtempSync(join(tmpdir(), "trivium-data-"))
    try {
      const first = await start(dataDir)
      expect((await first.chat(unary)).status).toBe(200)
      process.kill(first.pid, "SIGKILL")
      await within(first.exited(), "the launcher's end")
      const second = await start(dataDir)
      expect(second.key).toBe("")
      const headers = { authorization: `Bearer ${first.key}`, "content-type": "application/json" }
      expect((await second.chat(unary, { headers })).status).toBe(200)
    } finally {
      rmSync(dataDir, { recursive: true, force: true })
    }
  })
})

test("a second gateway on one data folder is refused with a message, and the first continues", async () => {
  const first = await start()
  const second = start(join(first.folder, "data"))
  await expect(second).rejects.toThrow(/ended with 1: .*trivium\.db is in use by another process.*Stop it first/)
  expect((await first.chat(unary)).status).toBe(200)
})

test("a second gateway on one port is refused, and the first continues", async () => {
  const first = await start()
  const { port } = new URL(first.url)
  const second = runCommand(["serve", "--port", port, "--data", join(first.folder, "other")], { folder: first.folder })
  const { code, stderr } = await within(second, "the refusal")
  expect([code, stderr]).toEqual([1, expect.stringContaining(`port ${port} in use`)])
  expect((await first.chat(unary)).status).toBe(200)
})

/** A zombie process is not alive. */
function isAlive(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"))
  } catch {
    return false
  }
}
