// Load shedding: requests are rejected before their body is read, in the protocol's error shape, and counted.
import { afterEach, beforeEach, expect, test } from "bun:test"
import { ask, chat, geminiEvents, messages, type WireDialect } from "../proof/wire-dialects.ts"
import { eventually, within } from "../stage/eventually.ts"
import { upstreamConfig } from "../stage/gateway.ts"
import { InProcessGateway } from "../stage/in-process.ts"
import { RawClient } from "../stage/raw-client.ts"
import { completion, ScriptedUpstream, type UpstreamReply } from "../stage/upstream.ts"
import { parseExposition, valueAt } from "../telemetry/exposition.ts"

const PLACES = 4
const HI = { model: "test/model", messages: [{ role: "user", content: "hi" }] }

interface OverloadErrorBody {
  readonly type?: string
  readonly request_id?: string
  readonly error: { readonly code: string; readonly status?: string }
}

let upstream: ScriptedUpstream
let gateway: InProcessGateway
let replies: UpstreamReply[]
beforeEach(async () => {
  replies = []
  upstream = await ScriptedUpstream.start((_, reply) => void replies.push(reply))
  const config = upstreamConfig(upstream.baseUrl, `server: { max_in_flight: ${PLACES} }`)
  gateway = InProcessGateway.start({ config })
})
afterEach(async () => {
  await gateway.stop()
  await upstream.stop()
})

/** Begins so many requests that the upstream does not answer yet. */
async function occupy(count: number, key = gateway.key): Promise<Promise<Response>[]> {
  const before = replies.length
  const pending = Array.from({ length: count }, () => ask(chat, { url: gateway.url, key }))
  await eventually(() => replies.length === before + count, { what: "the requests at the upstream" })
  return pending
}

async function answerAll(pending: readonly Promise<Response>[]): Promise<void> {
  for (const reply of replies.splice(0)) reply.json(completion("Hello."))
  for (const answer of await Promise.all(pending)) expect(answer.status).toBe(200)
}

function shed(reason: string): number {
  return valueAt(parseExposition(gateway.gateway.metrics.expose()), "trivium_shed_total", { reason }) ?? 0
}

test.each([chat, messages, geminiEvents])(
  "a full gateway reports the overload in the error shape of $name",
  async (dialect: WireDialect) => {
    const pending = await occupy(PLACES)
    const answer = await ask(dialect, { url: gateway.url, key: gateway.key })
    expect([answer.status, answer.headers.get("retry-after")]).toEqual([503, "1"])
    expect(answer.headers.get("x-should-retry")).toBeNull()
    const { type, request_id, error } = (await answer.json()) as OverloadErrorBody
    const code = dialect === geminiEvents ? { code: 503, details: [{ reason: "overloaded" }] } : { code: "overloaded" }
    expect(error).toMatchObject({ ...code, type: "service_unavailable_error" })
    if (dialect === messages) expect([type, request_id]).toEqual(["error", answer.headers.get("x-request-id") ?? ""])
    if (dialect === geminiEvents) expect(error.status).toBe("UNAVAILABLE")
    expect(shed("in_flight")).toBe(1)
    await answerAll(pending)
  },
)

test("a large body is rejected without being read, and its connection is closed", async () => {
  const pending = await occupy(PLACES)
  const client = await RawClient.connect(gateway.url)
  const head = ["POST /v1/chat/completions HTTP/1.1", "host: g", `authorization: Bearer ${gateway.key}`]
  await client.send([...head, "content-type: application/json", "content-length: 30000000", "", "{"].join("\r\n"))
  await within(client.closed, "the end of the connection")
  expect(client.received).toStartWith("HTTP/1.1 503")
  await answerAll(pending)
})

test("a key that holds most slots leaves the last ones to others", async () => {
  const pending = await occupy(2)
  const { text: other } = gateway.gateway.keys.create({ name: "other" })
  pending.push(...(await occupy(1, other)))
  const refused = await gateway.chat(HI)
  expect(refused.status).toBe(503)
  expect(((await refused.json()) as OverloadErrorBody).error.code).toBe("overloaded")
  expect([shed("key_share"), shed("in_flight")]).toEqual([1, 0])
  pending.push(...(await occupy(1, other)))
  await answerAll(pending)
  await eventually(() => valueAt(parseExposition(gateway.gateway.metrics.expose()), "trivium_in_flight") === 0)
  await answerAll([...(await occupy(PLACES / 2)), ...(await occupy(PLACES / 2, other))])
})

test("an event loop that is late for long sheds most requests, and none after it has recovered", async () => {
  const pending = await occupy(1)
  for (let turn = 0; turn < 6; turn++) {
    await Bun.sleep(60)
    const until = performance.now() + 560
    while (performance.now() < until);
  }
  await Bun.sleep(0)
  const answers = await Promise.all(Array.from({ length: 2 }, () => gateway.chat(HI)))
  expect(answers.map(({ status }) => status)).toEqual([503, 503])
  expect(shed("loop_delay")).toBe(2)
  await Bun.sleep(1000)
  pending.push(...(await occupy(2)))
  await answerAll(pending)
})

test("a stopping gateway keeps serving, and closes each connection after its answer", async () => {
  const leaving = InProcessGateway.start({ config: upstreamConfig(upstream.baseUrl) })
  const stopped = leaving.stop({ graceMs: 2000, drainMs: 1000 })
  upstream.script = (_, reply) => reply.json(completion("Hello."))
  const client = await RawClient.chat(leaving.url, { key: leaving.key, body: JSON.stringify(HI) })
  await within(client.closed, "the end of the connection")
  expect(client.received).toStartWith("HTTP/1.1 200")
  expect(client.received).toMatch(/^connection: close\r$/im)
  expect(client.received).toContain("Hello.")
  await stopped
})
