import { afterAll, beforeAll, expect, test } from "bun:test"
import { eventually } from "../stage/eventually.ts"
import { RunningGateway } from "../stage/gateway.ts"
import {
  chunk,
  completion,
  ScriptedUpstream,
  streamedWords,
  streams,
  streamsThen,
  type UpstreamScript,
} from "../stage/upstream.ts"
import { OtlpCollector } from "./collector.ts"
import { parseExposition, valueAt } from "./exposition.ts"

/** A word that is found again wherever it gets to. */
const canary = (of: string) => `canary-${of}-7f3a9`

let gateway: RunningGateway
let upstream: ScriptedUpstream
let collector: OtlpCollector
let texts: Record<"logs" | "metrics" | "traces", string>

const ask = {
  model: "test/model",
  messages: [
    { role: "system", content: canary("system") },
    { role: "user", content: canary("prompt") },
  ],
  tools: [{ type: "function", function: { name: canary("tool"), parameters: { type: "object" } } }],
  user: canary("user"),
}
const frame = `\n    at ${canary("frame")} (/file.ts:1:2)`
const upstreamError = { error: { message: `${canary("told")}${frame}`, type: canary("type"), code: canary("code") } }

/** One exchange of each kind, good and bad. */
const scripts: readonly (readonly [UpstreamScript, Record<string, unknown>])[] = [
  [(_, reply) => reply.json(completion(canary("answer"), { model: canary("answering-model") })), {}],
  [streams(streamedWords(`${canary("streamed")} answer`)), { stream: true }],
  [(_, reply) => reply.json(upstreamError, 400), {}],
  [(_, reply) => reply.json(upstreamError, 401), {}],
  [(_, reply) => reply.json(upstreamError, 429, { "x-organization": canary("upstream-header") }), {}],
  [(_, reply) => reply.json(upstreamError, 500), {}],
  [(_, reply) => reply.json(upstreamError), {}],
  [(_, reply) => reply.raw(canary("garbage")), {}],
  [(_, reply) => reply.cut("reset"), {}],
  [streams([`data: ${JSON.stringify(upstreamError)}\n\n`]), { stream: true }],
  [streamsThen([chunk({ content: canary("cut") })], (reply) => reply.cut("reset")), { stream: true }],
  [
    streams([chunk({ content: "a" }), `data: {"${canary("broken")}\n\n`, `data: ${JSON.stringify(upstreamError)}\n\n`]),
    { stream: true },
  ],
]

beforeAll(async () => {
  collector = new OtlpCollector()
  upstream = await ScriptedUpstream.start()
  gateway = await RunningGateway.start({
    config: `
telemetry: { traces: "${collector.url}", headers: { x-api-key: "${canary("collector-key")}" } }
providers:
  scripted: { type: openai-compatible, base_url: "${upstream.baseUrl}", api_key: "${canary("credential")}" }
models:
  - { id: test/model, kind: chat, pricing: { input: "1", output: "2" }, targets: [{ provider: scripted, model: upstream-model }] }
`,
  })
  for (const [script, more] of scripts) {
    upstream.script = script
    await call(JSON.stringify({ ...ask, ...more }))
  }
  await call(JSON.stringify({ ...ask, model: `${canary("made-up")}/model` }))
  await call(`{"model": "test/model", "messages": ${canary("not-json")}`)
  await call(JSON.stringify(ask), { authorization: `Bearer ${canary("wrong-key")}` })
  await call(JSON.stringify(ask), { traceparent: canary("traceparent") })
  const logged = scripts.length + 4
  await eventually(() => gateway.logged("exchange").length === logged, { what: "a line for each exchange" })
  const metrics = await (await gateway.administer("/metrics")).text()
  gateway.signal("SIGINT")
  await gateway.exited()
  texts = { logs: gateway.output.stderr, metrics, traces: collector.text }
})

afterAll(async () => {
  await gateway.stop()
  await Promise.all([upstream.stop(), collector.stop()])
})

async function call(body: string, headers: Record<string, string> = {}): Promise<void> {
  const sent = { "user-agent": canary("agent"), cookie: canary("cookie"), "x-custom": canary("header"), ...headers }
  const all = { authorization: `Bearer ${gateway.key}`, "content-type": "application/json", ...sent }
  const url = `${gateway.url}/v1/chat/completions?${canary("query")}=1`
  const answer = await fetch(url, { method: "POST", headers: all, body })
  await answer.text()
}

test("every exchange is in the log, in the metrics and in the traces", () => {
  const expected = scripts.length + 4
  expect(texts.logs.match(/"event":"exchange"/g)).toHaveLength(expected)
  expect(collector.exchanges).toHaveLength(expected)
  const requests = parseExposition(texts.metrics).get("trivium_requests_total")?.samples ?? []
  expect(requests.reduce((sum, { value }) => sum + value, 0)).toBe(expected)
  expect(upstream.requests.map(({ body }) => String(body)).join()).toContain(canary("prompt"))
  expect(upstream.lastRequest().head).toContain(canary("credential"))
  expect(collector.requests[0]?.headers.get("x-api-key")).toBe(canary("collector-key"))
})

test.each(["logs", "metrics", "traces"] as const)(
  "no prompt, answer, key, header or upstream text is in the %s",
  (where) => {
    expect(texts[where].match(/.{0,200}canary-.{0,100}/g)).toBeNull()
    expect(texts[where]).not.toContain(gateway.key)
    expect(texts[where]).not.toContain(gateway.key.slice(4))
  },
)

test("the administration returns the metrics of the served requests", () => {
  const families = parseExposition(texts.metrics)
  const labels = { protocol: "openai-chat", model: "test/model", provider: "scripted" }
  expect(
    valueAt(families, "trivium_requests_total", { ...labels, outcome: "answered", status_class: "2xx" }),
  ).toBeGreaterThanOrEqual(2)
  expect(
    valueAt(families, "trivium_tokens_total", { model: "test/model", provider: "scripted", bucket: "input" }),
  ).toBeGreaterThanOrEqual(9)
  expect(valueAt(families, "trivium_in_flight")).toBe(0)
  const results = families.get("trivium_attempts_total")?.samples.map(({ labels: { result } }) => result)
  expect(results).toEqual(expect.arrayContaining(["answered", "upstream_unavailable", "upstream_rate_limited"]))
})
