// Canaries in keys, prompts, headers, credentials and upstream texts are searched for wherever they must not be.
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { RunningGateway, vendorsConfig } from "../stage/gateway.ts"
import { ScriptedUpstream, type UpstreamScript } from "../stage/upstream.ts"
import { OtlpCollector } from "../telemetry/collector.ts"
import type { ProofRow } from "./row.ts"
import { dialectAt, WIRE_DIALECTS, type WireDialect } from "./wire-dialects.ts"

/** Each canary has a word of its own, so that a hit shows its origin. */
const canary = (of: string) => `canary-${of}-5d1c7e`
/** Canaries that not even the caller may read in an answer. */
const NOT_IN_ANSWERS = [/canary-(credential|kept|collector|organisation)-5d1c7e/, /tra_[0-9A-Za-z]{20}/]
/** Files that hold a secret of the gateway's own, for its owner alone. */
const OWN_SECRETS = ["secret", "admin-key"]

const fault = () => ({
  error: { message: `${canary("credential")} ${canary("told")}`, type: canary("type"), code: canary("code") },
})
const account = { "openai-organization": canary("organisation"), "x-ratelimit-limit-requests": "7" }

const SCRIPTS: Readonly<Record<string, UpstreamScript>> = {
  answers: async ({ path, body }, reply) => {
    const dialect = dialectAt(path)
    if (!/"stream":\s*true|streamGenerate/.test(path + body))
      return reply.json(dialect.answer(canary("answer")), 200, account)
    reply.stream(account)
    for (const event of dialect.events(`${canary("streamed")} words`)) await reply.write(event)
    reply.end()
  },
  "400": (_, reply) => reply.json(fault(), 400, account),
  "401": (_, reply) => reply.json(fault(), 401, account),
  "429": (_, reply) => reply.json(fault(), 429, account),
  "500": (_, reply) => reply.json(fault(), 500, account),
  garbage: (_, reply) => reply.raw(canary("garbage"), account),
  "an error first": async (_, reply) => {
    reply.stream(account)
    await reply.write(`event: error\ndata: ${JSON.stringify({ type: "error", ...fault() })}\n\n`)
    reply.end()
  },
  "cut in the middle": async ({ path }, reply) => {
    reply.stream(account)
    const events = dialectAt(path).events(`${canary("cut")} words and more words`)
    for (const event of events.slice(0, events.length / 2)) await reply.write(event)
    await reply.write(`data: {"${canary("broken")}`)
    reply.cut("reset")
  },
}

export const canaries: ProofRow = {
  number: 19,
  title: "secret canaries",
  async run() {
    const collector = new OtlpCollector()
    const upstream = await ScriptedUpstream.start()
    const more = `telemetry: { traces: "${collector.url}", headers: { x-api-key: "${canary("collector")}" } }`
    const config = vendorsConfig(upstream.origin, more).replaceAll("upstream-credential", canary("credential"))
    const gateway = await RunningGateway.start({ config })
    try {
      const answers = await provoke(gateway, upstream)
      const metrics = await (await gateway.administer("/metrics")).text()
      gateway.signal("SIGINT")
      await gateway.exited()
      const files = readdirSync(gateway.dataDir).filter((name) => !OWN_SECRETS.includes(name))
      const store = files.map((name) => readFileSync(join(gateway.dataDir, name), "latin1")).join("\n")
      const { stdout, stderr } = gateway.output
      const seenUpstream = upstream.requests.map(({ head, body }) => head + body.toString()).join("\n")
      return [
        { what: "hits in the log", seen: hits(stderr + stdout.replaceAll(gateway.key, ""), gateway.key), atMost: 0 },
        { what: "hits in the store", seen: hits(store, gateway.key), atMost: 0 },
        { what: "hits in the metrics", seen: hits(metrics, gateway.key), atMost: 0 },
        { what: "hits in the traces", seen: hits(collector.text, gateway.key), atMost: 0 },
        { what: "hits in answers", seen: sum(answers.map((answer) => matches(answer, NOT_IN_ANSWERS))), atMost: 0 },
        { what: "callers' keys and headers sent to the provider", seen: strays(seenUpstream, gateway.key), atMost: 0 },
        { what: "exchanges", seen: answers.length, atLeast: 90 },
        { what: "spans received", seen: collector.spans.length, atLeast: 90 },
        { what: "prompts that reached the provider", seen: matches(seenUpstream, [/canary-prompt/]), atLeast: 1 },
      ]
    } finally {
      await gateway.stop()
      await upstream.stop()
      await collector.stop()
    }
  },
}

/** Good and bad exchanges of every kind; gives what came back. */
async function provoke(gateway: RunningGateway, upstream: ScriptedUpstream): Promise<string[]> {
  const answers: string[] = []
  for (const script of Object.values(SCRIPTS)) {
    upstream.script = script
    for (const dialect of WIRE_DIALECTS) {
      for (const streamed of [false, true]) answers.push(await call(gateway, { dialect, streamed }))
    }
  }
  upstream.script = SCRIPTS.answers as UpstreamScript
  for (const dialect of WIRE_DIALECTS) {
    answers.push(await call(gateway, { dialect, streamed: false, key: canary("wrong-key") }))
    answers.push(await call(gateway, { dialect, streamed: false, model: `${canary("model")}/x` }))
    answers.push(await call(gateway, { dialect, streamed: false, text: `{"model": ${canary("no-json")}` }))
    answers.push(await call(gateway, { dialect, streamed: false, text: `{"${canary("member")}": 1}` }))
  }
  for (const path of [`/${canary("path")}`, `/v1/models/${canary("path")}/x`]) {
    const headers = { authorization: `Bearer ${gateway.key}` }
    answers.push(await textOf(fetch(`${gateway.url}${path}?key=${canary("query")}`, { headers })))
  }
  const put = { method: "PUT", body: JSON.stringify({ api_key: canary("kept") }) }
  answers.push(await textOf(gateway.administer("/admin/v1/providers/groq/credential", put)))
  const check = {
    method: "POST",
    body: JSON.stringify({ text: `providers: { opanai: { api_key: "${canary("kept")}" } }` }),
  }
  answers.push(await textOf(gateway.administer("/admin/v1/config/check", check)))
  answers.push(await textOf(gateway.administer("/admin/v1/providers")))
  return answers
}

interface CanaryRequest {
  readonly dialect: WireDialect
  readonly streamed: boolean
  readonly key?: string
  readonly model?: string
  readonly text?: string
}

function call(
  { url, key: own }: RunningGateway,
  { dialect, streamed, key = own, model = "test/model", text }: CanaryRequest,
) {
  const headers = {
    ...dialect.headers(key),
    cookie: canary("header"),
    "user-agent": canary("header"),
    "x-forwarded-for": canary("header"),
    "openai-organization": canary("header"),
    traceparent: canary("header"),
  }
  const body = text ?? JSON.stringify(dialect.body(canary("prompt"), { model, streamed }))
  return textOf(fetch(url + dialect.path(model, streamed), { method: "POST", headers, body }))
}

/** Headers and body, up to a break of the connection. */
async function textOf(answer: Promise<Response>): Promise<string> {
  const { headers, body } = await answer
  let text = JSON.stringify([...headers])
  try {
    for await (const piece of body ?? []) text += Buffer.from(piece).toString("latin1")
  } catch {
    // Bytes before the break count.
  }
  return text
}

function hits(text: string, key: string): number {
  return matches(text, [/canary-[a-z-]+-5d1c7e/, /tra_[0-9A-Za-z]{20}/]) + (text.includes(key) ? 1 : 0)
}

function strays(text: string, key: string): number {
  return matches(text, [/canary-(header|wrong-key|kept|collector)-5d1c7e/]) + (text.includes(key) ? 1 : 0)
}

function matches(text: string, patterns: readonly RegExp[]): number {
  return sum(patterns.map((pattern) => text.match(new RegExp(pattern, "g"))?.length ?? 0))
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0)
}
