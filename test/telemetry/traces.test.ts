import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "bun:test"
import { eventually } from "../stage/eventually.ts"
import { upstreamConfig } from "../stage/gateway.ts"
import { InProcessGateway } from "../stage/in-process.ts"
import { chunk, completion, ScriptedUpstream, streamedWords, streams, streamsThen } from "../stage/upstream.ts"
import { CLIENT, type CollectedSpan, OtlpCollector, SERVER } from "./collector.ts"
import { parseExposition, valueAt } from "./exposition.ts"

let collector: OtlpCollector
let upstream: ScriptedUpstream
let other: ScriptedUpstream
let gateway: InProcessGateway
let running = false

const ask = { model: "test/model", messages: [{ role: "user", content: "Hello" }] }

beforeAll(async () => {
  collector = new OtlpCollector()
  upstream = await ScriptedUpstream.start()
  other = await ScriptedUpstream.start()
})

/** A gateway of its own for each test: what it has traced is there as soon as it has stopped. */
beforeEach(() => {
  collector.requests.length = 0
  upstream.script = (_, reply) => reply.json(completion("Hello."))
  other.script = (_, reply) => reply.json(completion("Hello."))
  running = true
  gateway = InProcessGateway.start({
    config: `
telemetry: { traces: "${collector.url}", headers: { x-api-key: "opens" } }
providers:
  one: { type: openai-compatible, base_url: "${upstream.baseUrl}", api_key: "upstream-credential" }
  mistral: { api_key: "upstream-credential", base_url: "${other.baseUrl}" }
models:
  - { id: test/model, kind: chat, pricing: { input: "1", output: "2" }, targets: [
      { provider: one, model: upstream-model }, { provider: mistral, model: other-model, priority: 2 }] }
  - { id: test/second, kind: chat, pricing: { input: "1", output: "2" }, targets: [{ provider: mistral, model: second-model }] }
`,
  })
})

afterEach(async () => {
  if (running) await stopGateway()
})

afterAll(async () => {
  await Promise.all([collector.stop(), upstream.stop(), other.stop()])
})

async function stopGateway(): Promise<void> {
  running = false
  await gateway.stop()
}

/** The one exchange that was traced, and its attempts, in order. The gateway has stopped then. */
async function traced(): Promise<{ exchange: CollectedSpan; attempts: CollectedSpan[] }> {
  await eventually(() => gateway.logged("exchange").length > 0, { what: "an exchange" })
  await stopGateway()
  const [exchange, ...more] = collector.exchanges
  if (!exchange || more.length > 0) throw new Error(`${collector.exchanges.length} exchanges were traced`)
  return { exchange, attempts: collector.attemptsOf(exchange) }
}

describe("an answered exchange", () => {
  test("an answered exchange is a span with one child for its attempt, named by OpenTelemetry's conventions", async () => {
    const usage = {
      prompt_tokens: 100,
      prompt_tokens_details: { cached_tokens: 30 },
      completion_tokens: 40,
      completion_tokens_details: { reasoning_tokens: 25 },
    }
    upstream.script = (_, reply) => reply.json(completion("Hello.", { usage }))
    const before = Date.now()
    const answer = await gateway.chat(ask)
    await answer.text()
    const { exchange, attempts } = await traced()
    const requestId = answer.headers.get("x-request-id") ?? ""
    expect(exchange.kind).toBe(SERVER)
    expect(exchange.name).toBe("chat test/model")
    expect(exchange.traceId).toBe(requestId.replaceAll("-", ""))
    expect(exchange.parentSpanId).toBeUndefined()
    expect(exchange.status).toEqual({})
    expect(exchange.attributes).toEqual({
      "gen_ai.operation.name": "chat",
      "gen_ai.provider.name": "one",
      "gen_ai.system": "one",
      "gen_ai.request.model": "test/model",
      "gen_ai.response.model": "test/model",
      "gen_ai.usage.input_tokens": 100,
      "gen_ai.usage.output_tokens": 40,
      "gen_ai.usage.cache_read.input_tokens": 30,
      "gen_ai.usage.reasoning.output_tokens": 25,
      "http.request.method": "POST",
      "http.route": "/v1/chat/completions",
      "http.response.status_code": 200,
      "trivium.request_id": requestId,
      "trivium.key_id": expect.any(String),
      "trivium.tenant": expect.any(String),
      "trivium.protocol": "openai-chat",
      "trivium.outcome": "answered",
      "trivium.attempts": 1,
    })
    const [attempt] = attempts
    expect(attempts).toHaveLength(1)
    expect(attempt).toMatchObject({ kind: CLIENT, traceId: exchange.traceId, name: "chat upstream-model", status: {} })
    expect(attempt?.spanId).not.toBe(exchange.spanId)
    expect(attempt?.attributes).toEqual({
      "gen_ai.operation.name": "chat",
      "gen_ai.provider.name": "one",
      "gen_ai.system": "one",
      "gen_ai.request.model": "upstream-model",
      "server.address": "127.0.0.1",
      "server.port": upstream.port,
      "trivium.provider": "one",
      "trivium.model": "test/model",
    })
    for (const span of [exchange, ...attempts]) {
      expect(Number(span.startTimeUnixNano) / 1e6).toBeWithin(before - 100, Date.now() + 100)
      expect(BigInt(span.endTimeUnixNano)).toBeGreaterThanOrEqual(BigInt(span.startTimeUnixNano))
    }
    expect(BigInt(attempt?.startTimeUnixNano ?? 0)).toBeGreaterThanOrEqual(BigInt(exchange.startTimeUnixNano))
  })

  test("a streamed exchange is marked so, with the time of its first event", async () => {
    upstream.script = streams(streamedWords("Hello there."))
    await (await gateway.chat({ ...ask, stream: true })).text()
    const { exchange, attempts } = await traced()
    expect(exchange.attributes["gen_ai.request.stream"]).toBe(true)
    expect(exchange.attributes["gen_ai.response.time_to_first_chunk"]).toBeWithin(0, 5)
    expect(attempts[0]?.attributes["gen_ai.request.stream"]).toBe(true)
  })

  test("an answered exchange reaches the collector with its headers, and the provider gets no trace header", async () => {
    await (await gateway.chat(ask, withHeaders({ traceparent: `00-${"ab".repeat(16)}-${"cd".repeat(8)}-01` }))).text()
    await traced()
    expect(collector.requests[0]?.path).toBe("/v1/traces")
    expect(collector.requests[0]?.headers.get("x-api-key")).toBe("opens")
    expect(Object.keys(upstream.lastRequest().headers).filter((name) => /trace|baggage/.test(name))).toEqual([])
  })
})

describe("attempts", () => {
  test("attempts are one child each, with their outcome, and the one that answered is last", async () => {
    upstream.script = (_, reply) => reply.json({ error: { message: "overloaded" } }, 503)
    await (await gateway.chat(ask)).text()
    const { exchange, attempts } = await traced()
    expect(attempts.map(({ name, status }) => [name, status.code])).toEqual([
      ["chat upstream-model", 2],
      ["chat other-model", undefined],
    ])
    expect(attempts[0]?.attributes).toMatchObject({
      "error.type": "upstream_unavailable",
      "http.response.status_code": 503,
    })
    expect(attempts[1]?.attributes).toMatchObject({
      "gen_ai.provider.name": "mistral_ai",
      "trivium.provider": "mistral",
    })
    expect(exchange.attributes).toMatchObject({ "trivium.attempts": 2, "gen_ai.provider.name": "mistral_ai" })
    expect(exchange.status).toEqual({})
    expect(new Set(attempts.map(({ spanId }) => spanId)).size).toBe(2)
  })

  test("attempts of another model leave the requested name on the exchange", async () => {
    const failing = (_: unknown, reply: { json(body: unknown, status: number): void }) => reply.json({}, 500)
    upstream.script = failing
    other.script = (request, reply) =>
      String(request.body).includes("second-model") ? reply.json(completion("Hi.")) : reply.json({}, 500)
    await (await gateway.chat({ ...ask, provider: { fallback: ["test/second"] } })).text()
    const { exchange, attempts } = await traced()
    expect(exchange.name).toBe("chat test/model")
    expect(exchange.attributes["gen_ai.response.model"]).toBe("test/second")
    expect(attempts.map(({ attributes }) => attributes["trivium.model"])).toEqual([
      "test/model",
      "test/model",
      "test/second",
    ])
  })

  test("attempts that all fail make the exchange an error", async () => {
    upstream.script = (_, reply) => reply.cut("reset")
    other.script = (_, reply) => reply.json({}, 429)
    expect((await gateway.chat(ask)).status).toBe(503)
    const { exchange, attempts } = await traced()
    expect(exchange.status).toEqual({ code: 2 })
    expect(exchange.attributes).toMatchObject({
      "error.type": "upstream_unavailable",
      "http.response.status_code": 503,
      "trivium.outcome": "failed",
    })
    // A target that broke the connection is retried after a pause; one that limits the gateway without a delay is not.
    expect(attempts.map(({ attributes }) => attributes["error.type"])).toEqual([
      "upstream_unavailable",
      "upstream_rate_limited",
      "upstream_unavailable",
      "upstream_unavailable",
    ])
    expect(exchange.attributes).not.toHaveProperty("gen_ai.response.model")
  })

  test("attempts that break off in the middle of a stream fail, and so does the exchange", async () => {
    upstream.script = streamsThen([chunk({ role: "assistant", content: "Hel" })], (reply) => reply.cut("reset"))
    await (await gateway.chat({ ...ask, stream: true })).text()
    const { exchange, attempts } = await traced()
    expect(exchange).toMatchObject({ status: { code: 2 }, attributes: { "trivium.outcome": "failed" } })
    expect(attempts.map(({ status }) => status.code)).toEqual([2])
  })

  test("attempts whose client leaves are no errors", async () => {
    upstream.script = streamsThen([chunk({ role: "assistant", content: "Hel" })], () => {})
    const answer = await gateway.chat({ ...ask, stream: true })
    await answer.body?.cancel()
    const { exchange, attempts } = await traced()
    expect(exchange).toMatchObject({ status: {}, attributes: { "trivium.outcome": "client-gone" } })
    expect(attempts.map(({ status }) => status.code)).toEqual([undefined])
  })
})

test("a rejected request has a span without model, provider or attempt", async () => {
  expect((await gateway.chat({ ...ask, model: "made-up/by-caller" })).status).toBe(400)
  const { exchange, attempts } = await traced()
  expect(exchange.name).toBe("chat")
  expect(exchange.status).toEqual({})
  expect(exchange.attributes).toMatchObject({ "error.type": "model_not_found", "trivium.outcome": "refused" })
  expect(attempts).toEqual([])
  expect(collector.text).not.toContain("made-up")
})

describe("the caller's traceparent", () => {
  const traceId = "4bf92f3577b34da6a3ce929d0e0e4736"
  const parentId = "00f067aa0ba902b7"

  test("the caller's traceparent makes the exchange a child of the caller's span", async () => {
    await (await gateway.chat(ask, withHeaders({ traceparent: `00-${traceId}-${parentId}-01` }))).text()
    const { exchange, attempts } = await traced()
    expect(exchange).toMatchObject({ traceId, parentSpanId: parentId })
    expect(attempts[0]).toMatchObject({ traceId, parentSpanId: exchange.spanId })
  })

  test("the caller's traceparent without the sampled flag is not traced", async () => {
    await (await gateway.chat(ask, withHeaders({ traceparent: `00-${traceId}-${parentId}-00` }))).text()
    await (await gateway.chat(ask, withHeaders({ traceparent: `00-${"1".repeat(32)}-${parentId}-01` }))).text()
    expect((await traced()).exchange.traceId).toBe("1".repeat(32))
  })

  test("a malformed traceparent of the caller is ignored", async () => {
    await (await gateway.chat(ask, withHeaders({ traceparent: `00-${traceId}-${parentId}` }))).text()
    const { exchange } = await traced()
    expect(exchange.traceId).not.toBe(traceId)
    expect(exchange.parentSpanId).toBeUndefined()
  })
})

describe("a gateway with another tracing configuration", () => {
  const started = (telemetry: string) =>
    InProcessGateway.start({ config: upstreamConfig(upstream.baseUrl, `telemetry: { ${telemetry} }`) })

  test("a gateway traces the configured share of requests", async () => {
    const none = started(`traces: "${collector.url}", sample: 0`)
    await (await none.chat(ask)).text()
    await none.stop()
    expect(collector.spans).toEqual([])
    const some = started(`traces: "${collector.url}", sample: 0.5`)
    for (let turn = 0; turn < 60; turn++) await (await some.chat(ask)).text()
    await some.stop()
    // One in ten million runs falls outside.
    expect(collector.exchanges.length).toBeWithin(10, 51)
  })

  test("a gateway sends its waiting spans when it stops, also of streams that it ended", async () => {
    const stopping = started(`traces: "${collector.url}/v1/traces"`)
    upstream.script = streamsThen([chunk({ role: "assistant", content: "Hel" })], () => {})
    const answer = await stopping.chat({ ...ask, stream: true })
    const body = answer.text()
    await stopping.stop()
    expect(await body).toContain("shutting_down")
    expect(collector.exchanges.map(({ attributes }) => attributes["error.type"])).toEqual(["shutting_down"])
  })

  test("a gateway serves as usual while its collector is dead, silent or rejects", async () => {
    const silent = new OtlpCollector(() => new Promise<Response>(() => {}))
    const refusing = new OtlpCollector(() => new Response(null, { status: 429, headers: { "retry-after": "60" } }))
    for (const url of ["http://127.0.0.1:1", silent.url, refusing.url]) {
      const serving = started(`traces: "${url}"`)
      for (let round = 0; round < 20; round++) {
        const answers = await Promise.all(Array.from({ length: 20 }, () => serving.chat(ask)))
        expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200))
        for (const answer of answers) await answer.text()
      }
      await serving.stop()
      const families = parseExposition(serving.gateway.metrics.expose())
      const lost = families.get("trivium_trace_spans_total")?.samples.map(({ value }) => value) ?? []
      expect(lost.reduce((sum, each) => sum + each, 0)).toBe(800)
      expect(valueAt(families, "trivium_trace_spans_total", { result: "sent" })).toBeUndefined()
    }
    await Promise.all([silent.stop(), refusing.stop()])
  })
})

function withHeaders(headers: Record<string, string>): RequestInit {
  return { headers: { authorization: `Bearer ${gateway.key}`, "content-type": "application/json", ...headers } }
}
