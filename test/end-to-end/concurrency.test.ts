// The concurrency limit of a key: each slot is released exactly once, however its request ends.
import { afterAll, beforeAll, expect, test } from "bun:test"
import { eventually } from "../stage/eventually.ts"
import { upstreamConfig } from "../stage/gateway.ts"
import { InProcessGateway } from "../stage/in-process.ts"
import { completion, ScriptedUpstream, streamedWords, type UpstreamScript } from "../stage/upstream.ts"

const HI = { model: "test/model", messages: [{ role: "user", content: "hi" }] }
const PLACES = 3

let upstream: ScriptedUpstream
let gateway: InProcessGateway
let key: string
beforeAll(async () => {
  upstream = await ScriptedUpstream.start()
  gateway = InProcessGateway.start({
    config: upstreamConfig(upstream.baseUrl),
    timeouts: { firstEventMs: 300, gapMs: 300, unaryMs: 600, streamMs: 600 },
  })
  key = gateway.gateway.keys.create({ name: "narrow", concurrentRequests: PLACES }).text
})
afterAll(async () => {
  await gateway.stop()
  await upstream.stop()
})

function call(body: unknown, init: RequestInit = {}): Promise<Response> {
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" }
  return gateway.chat(body, { headers, ...init })
}

/** The places that are free, found by taking them all. */
async function freePlaces(): Promise<number> {
  const held: (() => void)[] = []
  upstream.script = (_, reply) =>
    new Promise<void>((resolve) => {
      held.push(() => {
        reply.json(completion("Hello."))
        resolve()
      })
    })
  const calls = Array.from({ length: PLACES + 2 }, () => call(HI))
  let answered = 0
  const refused = calls.map(async (each) => {
    const { status } = await each
    answered++
    return status
  })
  await eventually(() => held.length + answered === calls.length, { what: "the end or the wait of every call" })
  for (const release of held) release()
  const statuses = await Promise.all(refused)
  expect(statuses.filter((status) => status !== 200 && status !== 429)).toEqual([])
  return statuses.filter((status) => status === 200).length
}

async function words(reply: Parameters<UpstreamScript>[1], count: number): Promise<void> {
  reply.stream()
  for (const event of streamedWords("one two three four").slice(0, count)) await reply.write(event)
}

const endings: readonly [string, UpstreamScript, (controller: AbortController) => Promise<unknown>][] = [
  ["answered", (_, reply) => reply.json(completion("Hello.")), () => call(HI).then((it) => it.text())],
  [
    "answered as a stream",
    async (_, reply) => {
      await words(reply, 100)
      reply.end()
    },
    () => call({ ...HI, stream: true }).then((it) => it.text()),
  ],
  ["refused for its body", (_, reply) => reply.end(), () => call({ ...HI, temperature: 9 }).then((it) => it.text())],
  ["refused for its JSON", (_, reply) => reply.end(), () => call("{").then((it) => it.text())],
  ["refused for its model", (_, reply) => reply.end(), () => call({ ...HI, model: "no/such" }).then((it) => it.text())],
  ["failed upstream", (_, reply) => reply.json({}, 500), () => call(HI).then((it) => it.text())],
  [
    "failed upstream with a stream",
    (_, reply) => reply.json({}, 500),
    () => call({ ...HI, stream: true }).then((it) => it.text()),
  ],
  ["failed by silence", () => {}, () => call(HI).then((it) => it.text())],
  [
    "failed in mid-stream",
    async (_, reply) => {
      await words(reply, 2)
      reply.cut("reset")
    },
    () => call({ ...HI, stream: true }).then((it) => it.text()),
  ],
  [
    "failed by silence in mid-stream",
    (_, reply) => words(reply, 2),
    () => call({ ...HI, stream: true }).then((it) => it.text()),
  ],
  [
    "left before the answer",
    () => {},
    async (controller) => {
      const pending = call(HI, { signal: controller.signal })
      await Bun.sleep(50)
      controller.abort()
      await pending
    },
  ],
  [
    "left in mid-stream",
    (_, reply) => words(reply, 2),
    async (controller) => {
      const response = await call({ ...HI, stream: true }, { signal: controller.signal })
      await response.body?.getReader().read()
      controller.abort()
    },
  ],
  [
    "left while sending",
    (_, reply) => reply.end(),
    async (controller) => {
      const body = new ReadableStream({
        async pull(stream) {
          await Bun.sleep(10)
          stream.enqueue(new TextEncoder().encode(" "))
        },
      })
      const pending = call(HI, { body, signal: controller.signal, duplex: "half" } as RequestInit)
      await Bun.sleep(50)
      controller.abort()
      await pending
    },
  ],
]

test.each(endings)("a request that was %s releases its slot once", async (_, script, ask) => {
  upstream.script = script
  await Promise.all(Array.from({ length: PLACES }, () => ask(new AbortController()).catch(() => {})))
  await eventually(() => gateway.gateway.metrics.expose().includes("in_flight 0"), { what: "the end of all" })
  expect(await freePlaces()).toBe(PLACES)
})

test("requests rejected for want of a slot release none", async () => {
  expect(await freePlaces()).toBe(PLACES)
  expect(await freePlaces()).toBe(PLACES)
})
