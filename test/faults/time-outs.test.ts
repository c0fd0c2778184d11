// Upstreams that take too long, at each stage: an error in time, and the upstream's connection freed. The limits are
// short here; the sockets are real.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "bun:test"
import type { ExchangeTimeouts } from "../../src/exchange/exchange-deps.ts"
import { eventually, within } from "../stage/eventually.ts"
import { FullHost } from "../stage/full-host.ts"
import { upstreamConfig } from "../stage/gateway.ts"
import { InProcessGateway } from "../stage/in-process.ts"
import { RawClient } from "../stage/raw-client.ts"
import {
  chunk,
  completion,
  DONE,
  ScriptedUpstream,
  streamedWords,
  type UpstreamReply,
  type UpstreamScript,
} from "../stage/upstream.ts"

const LIMIT_MS = 400
const HEARTBEAT = ": ping\n\n"

const messages = [{ role: "user", content: "hi" }]
const unary = { model: "test/model", messages }
const streamed = { ...unary, stream: true }
const OPENER = chunk({ role: "assistant", content: "" })
const BEGUN = OPENER + chunk({ content: "Hello" })

let upstream: ScriptedUpstream
let gateway: InProcessGateway | undefined
/** The upstream's side of the last call. */
let called: PromiseWithResolvers<UpstreamReply>

beforeEach(async () => {
  upstream = await ScriptedUpstream.start()
  called = Promise.withResolvers()
})
afterEach(async () => {
  await gateway?.stop()
  await upstream.stop()
})

function start(timeouts: Partial<ExchangeTimeouts>, { reasoning = false } = {}): InProcessGateway {
  const config = upstreamConfig(upstream.baseUrl).replace("kind: chat,", `kind: chat, reasoning: ${reasoning},`)
  gateway = InProcessGateway.start({ config, timeouts })
  return gateway
}

function answer(script: (reply: UpstreamReply) => void | Promise<void>): void {
  upstream.script = (_, reply) => {
    called.resolve(reply)
    return script(reply)
  }
}

async function released(): Promise<void> {
  await within((await called.promise).closed, "the release of the upstream")
}

/** Sends the piece repeatedly until the gateway has disconnected, for at most five seconds. */
async function repeat(reply: UpstreamReply, piece: string, everyMs: number): Promise<void> {
  let open = true
  void reply.closed.then(() => {
    open = false
  })
  for (let waited = 0; open && waited < 5000; waited += everyMs) {
    await reply.write(piece)
    await Bun.sleep(everyMs)
  }
}

interface TimedAnswer {
  readonly status: number
  readonly text: string
  readonly tookMs: number
}

async function timed(pending: Promise<Response>): Promise<TimedAnswer> {
  const began = performance.now()
  const response = await pending
  const text = await response.text()
  return { status: response.status, text, tookMs: performance.now() - began }
}

/** How soon after the limit it ends is a figure of the proof table. */
function expectNotEarly({ tookMs }: TimedAnswer, limitMs = LIMIT_MS): void {
  expect(tookMs).toBeGreaterThan(limitMs - 50)
}

function expectRefusal({ status, text }: TimedAnswer): void {
  expect(status).toBe(503)
  expect(JSON.parse(text)).toMatchObject({
    error: { code: "upstream_unavailable", attempts: [{ model: "test/model" }] },
  })
}

function expectErrorFrame({ status, text }: TimedAnswer): void {
  expect(status).toBe(200)
  expect(text.match(/^data: \{"error".*"upstream_unavailable".*$/gm)).toHaveLength(1)
  expect(text).not.toContain("[DONE]")
}

describe("connecting", () => {
  let full: FullHost

  beforeAll(async () => {
    full = await FullHost.start()
  })
  afterAll(() => full.stop())

  test.each([unary, streamed])("connecting to a host that does not accept ends in time: %j", async (body) => {
    const config = upstreamConfig(`http://127.0.0.1:${full.port}/v1`)
    gateway = InProcessGateway.start({ config, timeouts: { connectMs: 1000 } })
    const read = await timed(gateway.chat(body))
    expectRefusal(read)
    expectNotEarly(read, 1000)
  })

  test("the connect time-out ends once a host has accepted: the answer may take longer", async () => {
    const { chat } = bound(start({ connectMs: 1000 }))
    answer(async (reply) => {
      await Bun.sleep(2000)
      reply.json(completion("thought about it"))
    })
    expect((await timed(chat(unary))).status).toBe(200)
  })
})

describe("the first meaningful event", () => {
  const silences: Record<string, UpstreamScript> = {
    "no headers": () => {},
    "headers and nothing else": (_, reply) => reply.stream(),
    "the opener and nothing else": (_, reply) => {
      reply.stream()
      void reply.write(OPENER)
    },
    "comments only": (_, reply) => {
      reply.stream()
      return repeat(reply, ": thinking\n\n", 100)
    },
    "half an event": (_, reply) => {
      reply.stream()
      void reply.write(BEGUN.slice(0, -20))
    },
  }

  test.each(Object.entries(silences))("the first meaningful event has a time-out: %s", async (_, script) => {
    const { chat } = bound(start({ firstEventMs: LIMIT_MS }))
    answer((reply) => script({} as never, reply))
    const read = await timed(chat(streamed))
    expectRefusal(read)
    expectNotEarly(read)
    await released()
  })

  test("the first meaningful event may take longer for a model that reasons", async () => {
    const { chat } = bound(start({ firstEventMs: 100, gapMs: 100, patientMs: 5000 }, { reasoning: true }))
    answer(async (reply) => {
      reply.stream()
      await Bun.sleep(LIMIT_MS)
      await reply.write(streamedWords("at last").join(""))
      reply.end()
    })
    expect((await timed(chat(streamed))).text).toEndWith(DONE)
  })
})

describe("the gap between events", () => {
  test("the gap between events has a time-out", async () => {
    const { chat } = bound(start({ gapMs: LIMIT_MS }))
    answer(async (reply) => {
      reply.stream()
      await reply.write(BEGUN)
    })
    const read = await timed(chat(streamed))
    expectErrorFrame(read)
    expect(read.text).toContain("Hello")
    expectNotEarly(read)
    await released()
  })

  test("the gap between events has a time-out after opening events of any length", async () => {
    const { chat } = bound(start({ firstEventMs: LIMIT_MS, gapMs: LIMIT_MS }))
    answer(async (reply) => {
      reply.stream()
      await reply.write(`: ${"x".repeat(300 * 1024)}\n\n`)
    })
    const read = await within(timed(chat(streamed)), "the end")
    expect(read.text).toContain("upstream_unavailable")
    await released()
  })

  test("keep-alives of the upstream end the gap between events", async () => {
    const { chat } = bound(start({ gapMs: 2000 }))
    answer(async (reply) => {
      reply.stream()
      await reply.write(BEGUN)
      for (let beats = 0; beats < 8; beats++) {
        await Bun.sleep(400)
        await reply.write(": alive\n\n")
      }
      await reply.write(chunk({}, "stop") + DONE)
      reply.end()
    })
    expect((await timed(chat(streamed))).text).toEndWith(DONE)
  })

  test("the gap between events may be longer during a tool call", async () => {
    const { chat } = bound(start({ gapMs: 200, patientMs: 5000 }))
    const call = { index: 0, id: "call_1", type: "function", function: { name: "f", arguments: "" } }
    answer(async (reply) => {
      reply.stream()
      await reply.write(OPENER + chunk({ tool_calls: [call] }))
      await Bun.sleep(LIMIT_MS + 200)
      await reply.write(chunk({}, "tool_calls") + DONE)
      reply.end()
    })
    expect((await timed(chat(streamed))).text).toEndWith(DONE)
  })
})

describe("the whole call", () => {
  test("a whole stream has a time-out, however lively it is", async () => {
    const { chat } = bound(start({ streamMs: LIMIT_MS * 2 }))
    answer((reply) => {
      reply.stream()
      return repeat(reply, chunk({ content: "and " }), 50)
    })
    const read = await timed(chat(streamed))
    expectErrorFrame(read)
    expectNotEarly(read, LIMIT_MS * 2)
    await released()
  })

  test("a whole unary call has a time-out: no headers", async () => {
    const { chat } = bound(start({ unaryMs: LIMIT_MS }))
    answer(() => {})
    const read = await timed(chat(unary))
    expectRefusal(read)
    expectNotEarly(read)
    await released()
  })

  test("a whole unary call has a time-out: a body that drips", async () => {
    const { chat } = bound(start({ unaryMs: LIMIT_MS }))
    answer((reply) => {
      reply.stream({ "content-type": "application/json" })
      return repeat(reply, " ", 50)
    })
    const read = await timed(chat(unary))
    expectRefusal(read)
    expectNotEarly(read)
    await released()
  })

  test("a whole unary call has a time-out: an error whose body drips", async () => {
    const { chat } = bound(start({ unaryMs: LIMIT_MS }))
    answer((reply) => reply.raw("{", { "content-length": "100" }, 500))
    const read = await timed(chat(unary))
    expectRefusal(read)
    expectNotEarly(read)
    await released()
  })
})

describe("a reader that stalls for too long", () => {
  test("a reader that stalls for too long is disconnected: its upstream and slot are freed, its connection closed", async () => {
    const { url, key, logged } = bound(start({ heartbeatMs: 100, stalledMs: LIMIT_MS }))
    answer((reply) => {
      reply.stream()
      return repeat(reply, chunk({ content: "x".repeat(1024 * 1024) }), 1)
    })
    const client = await RawClient.chat(url, { key, body: JSON.stringify(streamed) })
    await client.until(/data: /)
    client.stopReading()
    await within((await called.promise).closed, "the release of the upstream")
    // The output is counted first, by a thread that has to be loaded.
    await eventually(() => logged("exchange").length > 0, { what: "the record" })
    expect(logged("exchange")[0]).toMatchObject({ outcome: "client-gone" })
    await Bun.sleep(3000)
    client.readOn()
    await within(client.closed, "the end of the connection")
    expect(client.received).not.toContain("0\r\n\r\n")
  })
})

describe("a heart-beat", () => {
  const heartbeatMs = 300

  test("heart-beats start a stream without events, and continue until there are some", async () => {
    const { url, key } = bound(start({ heartbeatMs }))
    const speak = Promise.withResolvers<void>()
    answer(async (reply) => {
      await speak.promise
      reply.stream()
      await reply.write(streamedWords("at last").join(""))
      reply.end()
    })
    const began = performance.now()
    const client = await RawClient.chat(url, { key, body: JSON.stringify(streamed) })
    const head = await client.until(/: ping\n\n/)
    expect(performance.now() - began).toBeGreaterThan(heartbeatMs - 50)
    expect(head).toStartWith("HTTP/1.1 200 ")
    expect(head.toLowerCase()).toContain("content-type: text/event-stream")
    expect(head.toLowerCase()).toContain("x-request-id: ")
    expect(head.toLowerCase()).not.toContain("x-gateway-provider")
    await client.until(/(: ping\n\n[\s\S]*){3}/)
    speak.resolve()
    const text = await client.until(/\r\n0\r\n\r\n$/)
    expect(text).toContain(" last")
    expect(text).toContain(DONE)
    expect(text).not.toContain('"error"')
    client.leave()
  })

  const failures: Record<string, (reply: UpstreamReply) => void> = {
    "status 500": (reply) => reply.json({ error: { message: "no" } }, 500),
    "status 400": (reply) => reply.json({ error: { message: "no" } }, 400),
    "a reset": (reply) => reply.cut("reset"),
    "a web page": (reply) => reply.raw("<html>", { "content-type": "text/html" }),
  }
  test.each(Object.entries(failures))("a failure after a heart-beat becomes an error frame: %s", async (_, fail) => {
    const { chat } = bound(start({ heartbeatMs: 100 }))
    answer(async (reply) => {
      await Bun.sleep(400)
      fail(reply)
    })
    const { status, text } = await timed(chat(streamed))
    expect(status).toBe(200)
    expect(text).toStartWith(HEARTBEAT)
    expect(text.match(/^data: /gm)).toHaveLength(1)
    expect(text).toMatch(/\ndata: \{"error":\{.*\}\}\n\n$/)
  })

  test("a first event that is late after a heart-beat becomes an error frame", async () => {
    const { chat } = bound(start({ heartbeatMs: 100, firstEventMs: LIMIT_MS }))
    answer((reply) => reply.stream())
    const read = await timed(chat(streamed))
    expectErrorFrame(read)
    expectNotEarly(read)
    await released()
  })

  test("heart-beats fill a pause between events and never split one", async () => {
    const { chat } = bound(start({ heartbeatMs }))
    answer(async (reply) => {
      const [half = "", rest = ""] = chunk({ content: "Hello" }).split("Hello")
      reply.stream()
      await reply.write(BEGUN + half)
      await Bun.sleep(heartbeatMs * 10)
      await reply.write(`Hello${rest}${chunk({}, "stop")}${DONE}`)
      reply.end()
    })
    const { text } = await timed(chat(streamed))
    expect(text.split(HEARTBEAT).length).toBeGreaterThanOrEqual(3)
    const events = text.replaceAll(HEARTBEAT, "").trimEnd().split("\n\n")
    expect(events).toHaveLength(5)
    for (const event of events.slice(0, -1)) expect(JSON.parse(event.slice(6)).object).toBe("chat.completion.chunk")
    expect(text).toEndWith(DONE)
  })

  test("no heart-beat is sent without a pause", async () => {
    const { chat } = bound(start({ heartbeatMs: 3000 }))
    answer(async (reply) => {
      reply.stream()
      for (const event of streamedWords("a word every now and then is enough")) {
        await reply.write(event)
        await Bun.sleep(400)
      }
      reply.end()
    })
    const { text } = await timed(chat(streamed))
    expect(text).not.toContain(HEARTBEAT)
    expect(text).toEndWith(DONE)
  })

  test("heart-beats do not keep the upstream of a client that has left", async () => {
    const { url, key } = bound(start({ heartbeatMs: 100 }))
    answer(() => {})
    const client = await RawClient.chat(url, { key, body: JSON.stringify(streamed) })
    await client.until(/: ping/)
    client.leave()
    await released()
  })
})

/** The gateway's methods, to be taken apart. */
function bound(running: InProcessGateway) {
  return {
    url: running.url,
    key: running.key,
    chat: (body: unknown) => running.chat(body),
    logged: (event: string) => running.logged(event),
  }
}
