// Client connections byte by byte: framing, pipelining, idle time, fast and slow clients.
import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test"
import { eventually, within } from "../stage/eventually.ts"
import { RunningGateway, upstreamConfig } from "../stage/gateway.ts"
import { RawClient } from "../stage/raw-client.ts"
import { completion, ScriptedUpstream, streamedWords, type UpstreamReply } from "../stage/upstream.ts"

const BODY = '{"model":"test/model","messages":[{"role":"user","content":"hi"}]}'
const STREAMED = BODY.replace("}]}", '}],"stream":true}')
const IDLE_SECONDS = 2
const MOST = 5

let upstream: ScriptedUpstream
let gateway: RunningGateway
/** One that keeps connections for a short while, and few of them. */
let strict: RunningGateway
const clients: RawClient[] = []

beforeAll(async () => {
  upstream = await ScriptedUpstream.start()
  const config = upstreamConfig(upstream.baseUrl)
  const server = `server: { idle_timeout: ${IDLE_SECONDS}, max_connections: ${MOST} }\n`
  gateway = await RunningGateway.start({ config })
  strict = await RunningGateway.start({ config: config + server })
})
afterAll(async () => {
  await gateway.stop()
  await strict.stop()
  await upstream.stop()
})
afterEach(() => {
  upstream.script = (_, reply) => reply.json(completion("Hello."))
  for (const client of clients.splice(0)) client.leave()
})

async function connected(at = gateway): Promise<RawClient> {
  const client = await RawClient.connect(at.url)
  clients.push(client)
  return client
}

const post = (framing: string, more = "") =>
  `POST /v1/chat/completions HTTP/1.1\r\nHost: g\r\nAuthorization: Bearer ${gateway.key}\r\n` +
  `Content-Type: application/json\r\n${framing}\r\n${more}\r\n`
const whole = (body = BODY, more = "") => post(`Content-Length: ${body.length}`, more) + body
const get = (path: string, more = "", version = "1.1") => `GET ${path} HTTP/${version}\r\nHost: g\r\n${more}\r\n`
const statuses = ({ received }: RawClient) =>
  [...received.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, code]) => Number(code))

async function answers(client: RawClient, count: number): Promise<number[]> {
  await eventually(() => statuses(client).length >= count, { what: `${count} answers` })
  return statuses(client)
}

const ended = (client: RawClient, what = "the end of the connection") => within(client.closed, what)

describe("a chunked body", () => {
  const chunked = `${BODY.length.toString(16)}\r\n${BODY}\r\n0\r\nX-Checksum: abc\r\nX-Other: d\r\n\r\n`

  test.each([
    ["with trailers in one piece", [chunked]],
    ["with trailers that are announced", [chunked]],
    [
      "whose trailers come apart from it",
      [chunked.slice(0, chunked.indexOf("X-Ch")), chunked.slice(chunked.indexOf("X-Ch"))],
    ],
    ["that comes byte by byte", [...chunked]],
    ["with extensions", [chunked.replace("\r\n", ';a="b"\r\n')]],
  ])("a chunked body %s is accepted, and the connection kept", async (what, pieces) => {
    const client = await connected()
    await client.send(post("Transfer-Encoding: chunked", what.includes("announced") ? "Trailer: X-Checksum\r\n" : ""))
    for (const piece of pieces) {
      await client.send(piece)
      if (pieces.length < 5) await Bun.sleep(30)
    }
    await client.send(get("/healthz"))
    expect(await answers(client, 2)).toEqual([200, 200])
  })

  test("a chunked body with malformed framing is rejected before any call or charge", async () => {
    const called = upstream.requests.length
    for (const broken of [chunked.replace("X-Checksum:", "X-Checksum :"), chunked.replace("\r\n0\r\n", "\r\nzz\r\n")]) {
      for (const apart of [0, 30]) {
        const client = await connected()
        await client.send(post("Transfer-Encoding: chunked") + broken.slice(0, BODY.length))
        await Bun.sleep(apart)
        await client.send(broken.slice(BODY.length))
        await ended(client)
        expect(statuses(client)).toEqual([400])
      }
    }
    expect(upstream.requests.length).toBe(called)
  })
})

describe("a pipelined request", () => {
  test("a pipelined request is answered in order, in any pieces", async () => {
    const held: UpstreamReply[] = []
    upstream.script = (_, reply) => void held.push(reply)
    for (const apart of [false, true]) {
      const client = await connected()
      const called = upstream.requests.length
      if (apart) {
        await client.send(whole())
        await eventually(() => upstream.requests.length > called)
        await client.send(get("/healthz") + get("/nowhere"))
      } else await client.send(whole() + get("/healthz") + get("/nowhere"))
      await eventually(() => held.length === 1)
      await Bun.sleep(50)
      expect(statuses(client)).toEqual([])
      held.pop()?.json(completion("Hello."))
      expect(await answers(client, 3)).toEqual([200, 200, 404])
      expect(client.received.indexOf("Hello.")).toBeLessThan(client.received.indexOf('{"status":"ok"}'))
    }
  })

  test("pipelined requests are each charged once", async () => {
    upstream.script = async (request, reply) => {
      if (!request.body.includes('"stream":true')) return reply.json(completion("Hello."))
      reply.stream()
      for (const word of streamedWords("one two")) await reply.write(word)
      reply.end()
    }
    const called = upstream.requests.length
    const client = await connected()
    await client.send(whole() + whole(STREAMED) + whole())
    expect(await answers(client, 3)).toEqual([200, 200, 200])
    const ids = [...client.received.matchAll(/^x-request-id: (\S+)\r$/gm)].map(([, id]) => id ?? "")
    const lines = () => gateway.logged("exchange").filter(({ request_id }) => ids.includes(String(request_id)))
    await eventually(() => lines().length === 3, { what: "three lines" })
    expect(lines().map(({ outcome, attempts }) => `${outcome} ${attempts}`)).toEqual(Array(3).fill("answered 1"))
    expect(upstream.requests.length).toBe(called + 3)
  })

  test("a large pipelined request waits in the client and arrives whole", async () => {
    const held: UpstreamReply[] = []
    upstream.script = (_, reply) => void held.push(reply)
    const client = await connected()
    const large = BODY.replace("hi", "a".repeat(3_000_000))
    await client.send(whole())
    await eventually(() => held.length === 1)
    const sending = client.send(whole(large))
    await Bun.sleep(100)
    upstream.script = (_, reply) => reply.json(completion("Hello."))
    held.pop()?.json(completion("Hello."))
    await sending
    expect((await answers(client, 2)).length).toBe(2)
  })

  test("thousands of pipelined requests are all answered while other clients are served", async () => {
    const client = await connected()
    const count = 5000
    await client.send(get("/healthz").repeat(count))
    expect((await fetch(`${gateway.url}/healthz`)).status).toBe(200)
    expect(await answers(client, count)).toHaveLength(count)
  })

  test("a pipelined request that is not HTTP does not remove the answer before it", async () => {
    const held: UpstreamReply[] = []
    upstream.script = (_, reply) => void held.push(reply)
    const client = await connected()
    await client.send(`${whole()}NONSENSE\r\n\r\n`)
    await eventually(() => held.length === 1)
    held.pop()?.json(completion("Hello."))
    await ended(client)
    expect(statuses(client)).toEqual([200, 400])
  })
})

describe("a connection", () => {
  const KEPT = /^connection: keep-alive\r\nkeep-alive: timeout=75\r$/im

  test.each<[string, string, boolean]>([
    ["HTTP/1.1", get("/healthz"), true],
    ["HTTP/1.1 with keep-alive", get("/healthz", "Connection: keep-alive\r\n"), true],
    ["HTTP/1.1 with close", get("/healthz", "Connection: close\r\n"), false],
    ["HTTP/1.0", get("/healthz", "", "1.0"), false],
    ["HTTP/1.0 with keep-alive", get("/healthz", "Connection: keep-alive\r\n", "1.0"), true],
  ])("a connection of %s is kept or closed as its answer announces", async (_, request, isKept) => {
    const client = await connected()
    await client.send(request)
    if (isKept) {
      await client.until(KEPT)
      await client.send(request)
      expect(await answers(client, 2)).toEqual([200, 200])
    } else {
      await ended(client)
      expect(client.received).toMatch(/^connection: close\r$/im)
      expect(statuses(client)).toEqual([200])
    }
  })

  test("an HTTP/1.0 connection gets a stream without chunks that ends with the connection", async () => {
    upstream.script = async (_, reply) => {
      reply.stream()
      for (const word of streamedWords("one two")) await reply.write(word)
      reply.end()
    }
    const client = await connected()
    await client.send(whole(STREAMED, "Connection: keep-alive\r\n").replace("HTTP/1.1", "HTTP/1.0"))
    await ended(client)
    expect(client.received).not.toMatch(/transfer-encoding/i)
    expect(client.received).toEndWith("data: [DONE]\n\n")
  })

  test("a client that expects 100-continue gets it, and none if its request is rejected", async () => {
    const client = await connected()
    await client.send(post(`Content-Length: ${BODY.length}`, "Expect: 100-continue\r\n"))
    await client.until(/^HTTP\/1\.1 100 Continue\r\n\r\n$/)
    await client.send(BODY)
    expect(await answers(client, 2)).toEqual([100, 200])
    const refused = await connected()
    const unknown = post(`Content-Length: ${BODY.length}`, "Expect: 100-continue\r\n").replace(gateway.key, "wrong")
    await refused.send(unknown)
    expect(await answers(refused, 1)).toEqual([401])
  })

  test("a connection is kept after an answer to HEAD, which has no body", async () => {
    const client = await connected()
    await client.send(`HEAD /api/hello HTTP/1.1\r\nHost: g\r\n\r\n${get("/healthz")}`)
    expect(await answers(client, 2)).toEqual([200, 200])
    expect(client.received.match(/\{"status":"ok"\}/g)).toHaveLength(1)
  })

  test("a connection survives a small unread body, and the next request on it is parsed correctly", async () => {
    const client = await connected()
    const unread = `GET /healthz HTTP/1.1\r\nHost: g\r\nContent-Length: 40\r\n\r\n`
    await client.send(unread)
    await client.until(/ok/)
    await client.send(`GET /nowhere HTTP/1.1\r\nHost: g\r\n\r\n`.padEnd(40, "x").slice(0, 40) + get("/readyz"))
    expect(await answers(client, 2)).toEqual([200, 200])
    expect(client.received).toContain("ready")
  })

  test("a connection rejected during a large body is closed after the client can read the error", async () => {
    const client = await connected()
    const sending = client.send(post("Content-Length: 30000000").replace(gateway.key, "wrong") + "a".repeat(5_000_000))
    await ended(client)
    await sending
    expect(statuses(client)).toEqual([401])
    expect(client.received).toContain("invalid_api_key")
  })

  test("an empty line after a body is accepted, as old clients send it", async () => {
    const client = await connected()
    await client.send(`${whole()}\r\n${get("/healthz")}`)
    expect(await answers(client, 2)).toEqual([200, 200])
  })

  test("a connection gets a large answer whole at any reading speed", async () => {
    const content = "0123456789ü".repeat(1_000_000)
    upstream.script = (_, reply) => reply.json(completion(content))
    const client = await connected()
    await client.send(whole())
    client.stopReading()
    await Bun.sleep(500)
    client.readOn()
    await eventually(() => client.receivedBytes > 12_000_000, { what: "the answer" })
    await client.send(get("/healthz"))
    await eventually(() => client.received.endsWith('{"status":"ok"}'), { what: "the next" })
  })
})

describe("an idle connection", () => {
  test("an idle connection is announced a keep-alive time, kept that long, and then closed", async () => {
    const client = await connected(strict)
    await client.send(get("/healthz"))
    await client.until(/^keep-alive: timeout=2\r$/im)
    const since = performance.now()
    for (const count of [2, 3, 4]) {
      await Bun.sleep(IDLE_SECONDS * 500)
      await client.send(get("/healthz"))
      expect(await answers(client, count)).toEqual(Array.from({ length: count }, () => 200))
    }
    await ended(client)
    expect(performance.now() - since).toBeGreaterThan(IDLE_SECONDS * 2500 - 300)
  })

  test("the longest idle connection is closed for a new one at the connection limit", async () => {
    const idle: RawClient[] = []
    for (let made = 0; made < MOST; made++) {
      const client = await connected(strict)
      await client.send(get("/healthz"))
      await client.until(/ok/)
      idle.push(client)
    }
    await idle[0]?.send(get("/healthz"))
    await answers(idle[0] as RawClient, 2)
    const latest = await connected(strict)
    await latest.send(get("/healthz"))
    expect(await answers(latest, 1)).toEqual([200])
    await ended(idle[1] as RawClient, "the end of the one idle longest")
    for (const still of [0, 2]) {
      await idle[still]?.send(get("/readyz"))
      await idle[still]?.until(/ready/)
    }
  })

  test("a busy connection is never closed for a new one", async () => {
    const held: UpstreamReply[] = []
    upstream.script = (_, reply) => void held.push(reply)
    const busy = await connected(strict)
    await busy.send(whole().replace(gateway.key, strict.key))
    await eventually(() => held.length === 1)
    for (let made = 0; made < 3 * MOST; made++) {
      const client = await connected(strict)
      await client.send(get("/healthz"))
      expect(await answers(client, 1)).toEqual([200])
    }
    held.pop()?.json(completion("Hello."))
    expect(await answers(busy, 1)).toEqual([200])
  })

  test("an idle connection that starts a request must complete it as fast as a new one", async () => {
    const client = await connected()
    await client.send(get("/healthz"))
    await client.until(/ok/)
    const slow = setInterval(() => client.send("a"), 500)
    await client.send("GET /healthz HTTP/1.1\r\nX-Slow: ")
    await within(client.closed, "the end of a slow head").finally(() => clearInterval(slow))
  }, 30_000)
})
