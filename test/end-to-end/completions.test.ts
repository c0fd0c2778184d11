// POST /v1/completions: relayed to hosts that have it, whole and streamed, billed as chat is, and rejected for all
// others.
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import OpenAI from "openai"
import { SimulatorServer } from "../../src/simulator/server.ts"
import { RunningGateway } from "../stage/gateway.ts"
import { rejectionOf } from "../stage/rejection-of.ts"
import { DONE, ScriptedUpstream, streams, type UpstreamScript } from "../stage/upstream.ts"

const PRICES = 'pricing: { input: "1", output: "2", cache_read: "0.5" }'

let upstream: ScriptedUpstream
let simulator: SimulatorServer
let gateway: RunningGateway
let client: OpenAI

beforeAll(async () => {
  upstream = await ScriptedUpstream.start()
  simulator = await SimulatorServer.start({ host: "127.0.0.1", port: 0 })
  const config = `
providers:
  host: { type: openai-compatible, base_url: "${upstream.baseUrl}", api_key: "upstream-credential" }
  simulated: { type: openai-compatible, base_url: "${simulator.url}/v1" }
  claude: { type: anthropic-compatible, base_url: "${upstream.origin}", api_key: "upstream-credential" }
  openai: { base_url: "${upstream.baseUrl}", api_key: "upstream-credential" }
models:
  - { id: test/base, kind: chat, context_window: 1000, ${PRICES}, targets: [{ provider: host, model: upstream-base }] }
  - { id: test/simulated, kind: chat, ${PRICES}, targets: [{ provider: simulated, model: base }] }
  - { id: test/messages, kind: chat, ${PRICES}, targets: [{ provider: claude, model: claude }] }
  - { id: test/newer, kind: chat, ${PRICES}, targets: [{ provider: openai, model: gpt-5 }] }
  - { id: test/instruct, kind: chat, ${PRICES}, targets: [{ provider: openai, model: gpt-3.5-turbo-instruct }] }
`
  gateway = await RunningGateway.start({ config })
  client = new OpenAI({ apiKey: gateway.key, baseURL: `${gateway.url}/v1`, maxRetries: 0 })
})
afterAll(async () => {
  await gateway.stop()
  await simulator.stop()
  await upstream.stop()
})

function ask(body: object): Promise<Response> {
  return fetch(`${gateway.url}/v1/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${gateway.key}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  })
}

const HEAD = '"id":"cmpl-1","object":"text_completion","created":1731000000,"model":"upstream-base-2026"'
const USAGE =
  '"usage":{"prompt_tokens":5,"completion_tokens":2,"total_tokens":7,"prompt_tokens_details":{"cached_tokens":2}}'
const WHOLE = `{${HEAD},"choices":[{"text":" there was","index":0,"logprobs":null,"finish_reason":"length"}], ${USAGE}}`
const textEvent = (text: string, finish: string | null, more = "") =>
  `data: {${HEAD},"choices":[{"text":"${text}","index":0,"logprobs":null,"finish_reason":${JSON.stringify(finish)}}]${more}}\n\n`
const USAGE_EVENT = `data: {${HEAD},"choices":[],${USAGE}}\n\n`
/** 3 fresh at 1, 2 cached at 0.5, 2 made at 2 USD per million. */
const COST = "0.000008"

const whole: UpstreamScript = (_, reply) => reply.raw(WHOLE)

async function receipt({ headers }: Response): Promise<unknown> {
  const url = `${gateway.url}/v1/receipts/${headers.get("x-request-id")}`
  return (await fetch(url, { headers: { authorization: `Bearer ${gateway.key}` } })).json()
}

describe("a unary completion", () => {
  test("a unary completion passes with only the names changed, and is charged by its usage", async () => {
    upstream.script = whole
    const answer = await ask({ model: "test/base", prompt: "Once", provider: { fallback: [] }, odd: 1.0 })
    expect(await answer.text()).toBe(WHOLE.replace("upstream-base-2026", "test/base"))
    expect(upstream.lastRequest()).toMatchObject({ method: "POST", path: "/v1/completions" })
    expect(JSON.parse(upstream.lastRequest().body.toString())).toEqual({
      model: "upstream-base",
      prompt: "Once",
      odd: 1,
    })
    expect(answer.headers.get("x-gateway-cost")).toBe(COST)
    expect(await receipt(answer)).toMatchObject({ cost: COST, usage: { input: 3, cache_read: 2, output: 2 } })
  })

  test("a unary completion has the requested number of candidates per prompt for the official client", async () => {
    const answer = await client.completions.create({ model: "test/simulated", prompt: ["One", "Two"], n: 2 })
    expect(answer.choices.map(({ index }) => index)).toEqual([0, 1, 2, 3])
    expect(answer.model).toBe("test/simulated")
    expect(answer.usage?.completion_tokens).toBeGreaterThan(0)
  })
})

describe("a streamed completion", () => {
  const EVENTS = [textEvent(" there", null), textEvent(" was", null), textEvent("", "stop"), USAGE_EVENT, DONE]

  test("a streamed completion requests usage upstream, hides it, and is charged the same", async () => {
    upstream.script = streams(EVENTS)
    const answer = await ask({ model: "test/base", prompt: "Once", stream: true })
    const renamed = [...EVENTS.slice(0, 3), DONE].join("").replaceAll("upstream-base-2026", "test/base")
    expect(await answer.text()).toBe(renamed)
    expect(JSON.parse(upstream.lastRequest().body.toString()).stream_options).toEqual({ include_usage: true })
    expect(await receipt(answer)).toMatchObject({ cost: COST, outcome: "settled" })
  })

  test("a streamed completion shows usage to a client that requests it", async () => {
    upstream.script = streams(EVENTS)
    const more = { stream: true, stream_options: { include_usage: true } }
    const answer = await ask({ model: "test/base", prompt: "Once", ...more })
    expect(await answer.text()).toBe(EVENTS.join("").replaceAll("upstream-base-2026", "test/base"))
  })

  test("a streamed completion without its last event is complete if every candidate has ended", async () => {
    upstream.script = streams([textEvent(" there", null), textEvent("", "stop")])
    const answer = await ask({ model: "test/base", prompt: "Once", stream: true })
    expect(await answer.text()).toEndWith(DONE)
  })

  test("a streamed completion that breaks off raises an error in the official client", async () => {
    upstream.script = async (_, reply) => {
      reply.stream()
      await reply.write(textEvent(" there", null))
      reply.cut("fin")
    }
    const stream = await client.completions.create({ model: "test/base", prompt: "Once", stream: true })
    const received: string[] = []
    const reading = (async () => {
      for await (const { choices } of stream) received.push(choices[0]?.text ?? "")
    })()
    expect(await rejectionOf(reading)).toBeInstanceOf(OpenAI.APIError)
    expect(received).toEqual([" there"])
  })

  test("a streamed completion has the same text as the unary one", async () => {
    const request = { model: "test/simulated", prompt: "Tell me of foxes", max_tokens: 30 }
    const alone = await client.completions.create(request)
    let text = ""
    for await (const { choices } of await client.completions.create({ ...request, stream: true })) {
      text += choices[0]?.text ?? ""
    }
    expect(text).toBe(alone.choices[0]?.text ?? "")
  })
})

describe("providers of completions", () => {
  test.each(["test/messages", "test/newer"])(
    "a completion for %s is rejected without a call, since no host serves it",
    async (model) => {
      const calls = upstream.requests.length
      const answer = await ask({ model, prompt: "Once" })
      expect(answer.status).toBe(400)
      expect(await answer.json()).toMatchObject({ error: { code: "model_not_found", param: "model" } })
      expect(upstream.requests).toHaveLength(calls)
    },
  )

  test("OpenAI serves completions for its instruct models", async () => {
    upstream.script = whole
    expect((await ask({ model: "test/instruct", prompt: "Once" })).status).toBe(200)
  })
})

describe("invalid completion requests", () => {
  const refusals: [object, string][] = [
    [{}, "missing_parameter prompt"],
    [{ prompt: [] }, "invalid_parameter prompt"],
    [{ prompt: [""], n: 0 }, "invalid_parameter n"],
    [{ prompt: ["x", 1] }, "invalid_parameter prompt"],
    [{ prompt: "x", best_of: 0 }, "invalid_parameter best_of"],
    [{ prompt: "x", max_tokens: -1 }, "invalid_parameter max_tokens"],
    [{ prompt: "x", stop: [1] }, "invalid_parameter stop[0]"],
    [{ prompt: "x", api_base: "http://elsewhere" }, "unsupported_parameter api_base"],
  ]
  test.each(refusals)("an invalid completion request is rejected: %o", async (body, expected) => {
    const answer = await ask({ model: "test/base", ...body })
    const { error } = (await answer.json()) as { error: { code: string; param: string } }
    expect(`${error.code} ${error.param}`).toBe(expected)
  })
})
