// Token counts requested by the official clients: over every kind of upstream, with a counter of its own, without one,
// and with one that fails.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test"
import Anthropic from "@anthropic-ai/sdk"
import { GoogleGenAI } from "@google/genai"
import OpenAI from "openai"
import { encloseSeal } from "../../src/canonical/chat/sealed-content.ts"
import { RunningGateway } from "../stage/gateway.ts"
import { ScriptedUpstream, type UpstreamScript } from "../stage/upstream.ts"

const PATHS = {
  messages: "/v1/messages/count_tokens",
  generate: "/v1beta/models/upstream-model:countTokens",
  responses: "/v1/responses/input_tokens",
}
const COUNTS: Readonly<Record<string, unknown>> = {
  [PATHS.messages]: { input_tokens: 41 },
  [PATHS.generate]: { totalTokens: 42, promptTokensDetails: [{ modality: "TEXT", tokenCount: 42 }] },
  [PATHS.responses]: { object: "response.input_tokens", input_tokens: 43 },
}
const counting: UpstreamScript = ({ path }, reply) => reply.json(COUNTS[path] ?? {}, COUNTS[path] ? 200 : 404)

/** Each model is served by one host, which has chat completions and no counter, or the counter of its protocol. */
function config(origin: string): string {
  const host = (name: string, type: string, path = "") =>
    `  ${name}: { type: ${type}, base_url: "${origin}${path}", api_key: "upstream-credential" }`
  const model = (id: string, provider: string, { kind = "chat", name = "upstream-model" } = {}) =>
    `  - { id: ${id}, kind: ${kind}, context_window: 100000, pricing: { input: "1", output: "2" }, targets: [{ provider: ${provider}, model: ${name} }] }`
  const like = (protocols: string) => `openai-compatible, protocols: [${protocols}]`
  return [
    "providers:",
    host("chat-like", like("openai-chat"), "/v1"),
    host("responses-like", like("openai-responses"), "/v1"),
    host("counterless", like("openai-responses"), "/none/v1"),
    host("messages-like", "anthropic-compatible"),
    host("gemini-like", "gemini-compatible"),
    host("failing-like", "gemini-compatible"),
    host("bedrock-like", "bedrock, region: us-east-1"),
    host("embedding-like", like("openai-embeddings, openai-chat"), "/v1"),
    "models:",
    model("openai/over-chat", "chat-like"),
    model("openai/over-responses", "responses-like"),
    model("openai/over-counterless", "counterless"),
    model("test/over-messages", "messages-like"),
    model("test/over-gemini", "gemini-like"),
    model("test/over-failing", "failing-like"),
    model("test/over-bedrock", "bedrock-like", { name: "anthropic.claude" }),
    model("test/embedding", "embedding-like", { kind: "embedding" }),
  ].join("\n")
}

let upstream: ScriptedUpstream
let gateway: RunningGateway
let demo: RunningGateway
beforeAll(async () => {
  upstream = await ScriptedUpstream.start()
  gateway = await RunningGateway.start({ config: config(upstream.origin) })
  demo = await RunningGateway.start()
})
beforeEach(() => {
  upstream.script = counting
  upstream.requests.length = 0
})
afterAll(async () => {
  await Promise.all([gateway.stop(), demo.stop()])
  await upstream.stop()
})

interface CountResult {
  readonly tokens: number | undefined
  readonly by: string | null | undefined
  readonly provider: string | null | undefined
}

const SYSTEM = "You answer in one sentence."
const TEXT = "How many tokens does this question have, counted by you?"

/** The same request from each vendor's own client. */
const CLIENTS: Readonly<Record<string, (at: RunningGateway, model: string) => Promise<CountResult>>> = {
  async anthropic({ url, key }, model) {
    const client = new Anthropic({ baseURL: `${url}/anthropic`, apiKey: key, maxRetries: 0 })
    const request = { model, system: SYSTEM, messages: [{ role: "user" as const, content: TEXT }] }
    const { data, response } = await client.messages.countTokens(request).withResponse()
    return counted(data.input_tokens, response.headers)
  },
  async genai({ url, key }, model) {
    const client = new GoogleGenAI({ apiKey: key, httpOptions: { baseUrl: `${url}/gemini` } })
    const { totalTokens, sdkHttpResponse } = await client.models.countTokens({ model, contents: [SYSTEM, TEXT] })
    return counted(totalTokens, new Headers(sdkHttpResponse?.headers))
  },
  async openai({ url, key }, model) {
    const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: key, maxRetries: 0 })
    const counting = client.responses.inputTokens.count({ model, instructions: SYSTEM, input: TEXT })
    const { data, response } = await counting.withResponse()
    expect(data.object).toBe("response.input_tokens")
    return counted(data.input_tokens, response.headers)
  },
}

function counted(tokens: number | undefined, headers: Headers): CountResult {
  expect(headers.has("x-gateway-cost")).toBe(false)
  return { tokens, by: headers.get("x-gateway-count"), provider: headers.get("x-gateway-provider") }
}

const clients = Object.entries(CLIENTS)

function post(path: string, body: unknown, key = gateway.key): Promise<Response> {
  const headers = {
    authorization: `Bearer ${key}`,
    "anthropic-version": "2023-06-01",
    "content-type": "application/json",
  }
  return fetch(gateway.url + path, { method: "POST", headers, body: JSON.stringify(body) })
}

interface CountResponseBody {
  readonly input_tokens: number
  readonly totalTokens: number
  readonly error: { readonly code: string }
}

const readBody = async (answer: Response) => (await answer.json()) as CountResponseBody

const asMessages = (model: string, content: string = TEXT) => ({ model, messages: [{ role: "user", content }] })
const countMessages = (model: string, content?: string) =>
  post("/msgapi/v1/messages/count_tokens", asMessages(model, content))

describe.each(clients)("a count requested by %s", (_, ask) => {
  test("tokens of a model without a counter are counted locally, without an upstream call", async () => {
    const { tokens, by, provider } = await ask(gateway, "openai/over-chat")
    expect({ by, provider }).toEqual({ by: "estimated", provider: null })
    expect(tokens).toBeWithin(24, 30)
    expect(upstream.requests).toEqual([])
  })

  test.each([
    ["test/over-messages", "messages-like", PATHS.messages, 41],
    ["test/over-gemini", "gemini-like", PATHS.generate, 42],
    ["openai/over-responses", "responses-like", PATHS.responses, 43],
  ])("tokens of %s are counted by its own upstream", async (model, provider, path, tokens) => {
    expect(await ask(gateway, model)).toEqual({ tokens, by: "upstream", provider })
    expect(upstream.requests.map((request) => request.path)).toEqual([path])
    const { body, head } = upstream.lastRequest()
    expect(body.toString()).toContain(TEXT)
    expect(body.toString()).toContain(SYSTEM)
    expect(head).toContain("upstream-credential")
    expect(head).not.toContain(gateway.key)
  })

  test("the simulator counts tokens of its own models", async () => {
    for (const model of ["anthropic/claude-sonnet-4.5", "google/gemini-2.5-flash"]) {
      const { tokens, by, provider } = await ask(demo, model)
      expect({ by, provider }).toEqual({ by: "upstream", provider: "simulator" })
      expect(tokens).toBe(15)
    }
  })
})

describe("a count by an upstream of another protocol", () => {
  const weather = { name: "weather", description: "Looks up", parameters: { type: "object", properties: {} } }

  test("a count in another protocol sends only the members that the counter accepts", async () => {
    const request = {
      model: "test/over-messages",
      instructions: SYSTEM,
      input: TEXT,
      tools: [{ type: "function", ...weather }],
    }
    expect(
      (await post("/v1/responses/input_tokens", { ...request, max_output_tokens: 9, temperature: 1 })).status,
    ).toBe(200)
    const sent = JSON.parse(upstream.lastRequest().body.toString())
    expect(Object.keys(sent).toSorted()).toEqual(["messages", "model", "system", "tools"])
    expect(sent).toMatchObject({ model: "upstream-model", system: SYSTEM, tools: [{ name: "weather" }] })
    expect(upstream.lastRequest().headers["anthropic-version"]).toBe("2023-06-01")
  })

  test("a count in another protocol sends a whole request if the counter takes one", async () => {
    expect((await countMessages("test/over-gemini")).status).toBe(200)
    const { generateContentRequest } = JSON.parse(upstream.lastRequest().body.toString())
    expect(generateContentRequest).toMatchObject({
      model: "models/upstream-model",
      contents: [{ parts: [{ text: TEXT }] }],
    })
  })

  test("a count in another protocol has the form of its provider", async () => {
    upstream.script = (_, reply) => reply.json({ inputTokens: 44 })
    const answer = await post("/v1/responses/input_tokens", { model: "test/over-bedrock", input: TEXT })
    expect(await readBody(answer)).toMatchObject({ input_tokens: 44 })
    expect(upstream.lastRequest().path).toBe("/model/anthropic.claude/count-tokens")
    const { input } = JSON.parse(upstream.lastRequest().body.toString())
    const inner = JSON.parse(Buffer.from(input.invokeModel.body, "base64").toString())
    const messages = [{ role: "user", content: TEXT }]
    expect(inner).toEqual({ messages, anthropic_version: "bedrock-2023-05-31", max_tokens: 1 })
  })

  test("a count in another protocol never sends another minter's sealed thought", async () => {
    const signature = encloseSeal({ mintedBy: "gemini-generate/google", data: "hidden" })
    const thought = { role: "assistant", content: [{ type: "thinking", thinking: "Hm.", signature }] }
    const { messages } = asMessages("")
    const request = { model: "test/over-messages", messages: [...messages, thought, ...messages] }
    const answer = await post("/msgapi/v1/messages/count_tokens", request)
    expect(answer.headers.get("x-gateway-count")).toBe("upstream")
    expect(upstream.lastRequest().body.toString()).not.toContain(signature)
  })

  test("a count in another protocol works for large requests too", async () => {
    const answer = await countMessages("test/over-gemini", "word ".repeat(100_000))
    expect(answer.headers.get("x-gateway-count")).toBe("upstream")
    expect(upstream.lastRequest().body.length).toBeGreaterThan(500_000)
  })
})

describe("an upstream whose counter fails", () => {
  const FAILURES: Readonly<Record<string, UpstreamScript>> = {
    "answers 500": (_, reply) => reply.json({ error: { message: "no" } }, 500),
    "answers 400": (_, reply) => reply.json({ error: { message: "no" } }, 400),
    "refuses our credential": (_, reply) => reply.json({ error: { message: "no" } }, 401),
    "breaks off": (_, reply) => reply.cut("reset"),
    "answers with no count": (_, reply) => reply.json({ input_tokens: "many", totalTokens: -1 }),
    "answers with no JSON": (_, reply) => reply.raw("<html>"),
  }

  test.each(Object.keys(FAILURES))("tokens are counted locally if the counter %s", async (name) => {
    upstream.script = FAILURES[name] ?? counting
    for (const model of ["test/over-gemini", "openai/over-responses"]) {
      const answer = await countMessages(model)
      expect(answer.status).toBe(200)
      expect(answer.headers.get("x-gateway-count")).toBe("estimated")
      expect(answer.headers.has("x-gateway-provider")).toBe(false)
      expect(await answer.json()).toEqual({ input_tokens: expect.any(Number) })
    }
    // A kept connection that turns out closed is replaced once.
    expect(upstream.requests.length).toBeWithin(2, 5)
  })

  test("tokens are counted locally if the counter does not answer within two seconds", async () => {
    upstream.script = () => {}
    const begun = performance.now()
    const answer = await countMessages("test/over-messages")
    expect(performance.now() - begun).toBeGreaterThan(1900)
    expect([answer.status, answer.headers.get("x-gateway-count")]).toEqual([200, "estimated"])
  })

  test("an upstream that is out of rotation is not called for a count", async () => {
    upstream.script = (_, reply) => reply.json({ error: { message: "no" } }, 500)
    for (let times = 0; times < 5; times++) {
      const failed = await post("/msgapi/v1/messages", { ...asMessages("test/over-failing"), max_tokens: 1 })
      expect(failed.status).toBe(503)
    }
    upstream.requests.length = 0
    const answer = await countMessages("test/over-failing")
    expect([answer.status, answer.headers.get("x-gateway-count")]).toEqual([200, "estimated"])
    expect(upstream.requests).toEqual([])
  })

  test("an upstream without a counter is not called repeatedly", async () => {
    for (let times = 0; times < 3; times++) {
      const answer = await countMessages("openai/over-counterless")
      expect([answer.status, answer.headers.get("x-gateway-count")]).toEqual([200, "estimated"])
    }
    expect(upstream.requests).toHaveLength(1)
  })
})

describe("a local count", () => {
  const tokensOf = async (answer: Response) => (await readBody(answer)).totalTokens
  const at = (model: string) => `/genapi/v1beta/models/${model}:countTokens`
  const contents = [{ role: "user", parts: [{ text: TEXT }] }]

  test("a local count covers the instructions and tools in any wrapping of the request", async () => {
    const plain = await tokensOf(await post(at("openai/over-chat"), { contents }))
    const wrapped = { model: "models/openai/over-chat", contents }
    expect(await tokensOf(await post(at("openai/over-chat"), { generateContentRequest: wrapped }))).toBe(plain)
    const instructed = { ...wrapped, systemInstruction: { parts: [{ text: SYSTEM }] } }
    const longer = await tokensOf(await post(at("openai/over-chat"), { generateContentRequest: instructed }))
    expect(longer - plain).toBe(6 + 4)
    const tools = [{ functionDeclarations: [{ name: "weather", description: "Looks up the weather" }] }]
    expect(await tokensOf(await post(at("openai/over-chat"), { contents, tools }))).toBeGreaterThan(plain + 8)
  })

  test("a local count covers embedding input if the protocol counts that", async () => {
    const answer = await post(at("test/embedding"), { contents })
    expect([answer.status, answer.headers.get("x-gateway-count")]).toEqual([200, "estimated"])
    expect(await tokensOf(answer)).toBeGreaterThan(10)
    const elsewhere = await countMessages("test/embedding")
    expect([elsewhere.status, (await readBody(elsewhere)).error.code]).toEqual([400, "invalid_parameter"])
  })

  test("a local count covers letters of every alphabet and large requests", async () => {
    const few = await readBody(await countMessages("openai/over-chat", "naïve 温度 🦊"))
    expect(few.input_tokens).toBeWithin(12, 20)
    const many = await readBody(await countMessages("openai/over-chat", "naïve word ".repeat(100_000)))
    expect(many.input_tokens).toBeWithin(300_000, 500_000)
  })

  test("a local count is free, and counts as one request without tokens", async () => {
    const limits = { name: "poor", balance: "0", requests_per_minute: 5, tokens_per_minute: 1 }
    const made = await gateway.administer("/admin/v1/keys", { method: "POST", body: JSON.stringify(limits) })
    const { key } = (await made.json()) as { key: string }
    const ask = () => post("/v1/responses/input_tokens", { model: "openai/over-chat", input: TEXT }, key)
    for (const left of [4, 3, 2, 1, 0]) {
      const answer = await ask()
      expect(answer.status).toBe(200)
      expect(answer.headers.get("x-ratelimit-remaining-requests")).toBe(`${left}`)
      const receipt = await fetch(`${gateway.url}/v1/receipts/${answer.headers.get("x-request-id")}`, {
        headers: { authorization: `Bearer ${gateway.key}` },
      })
      expect(receipt.status).toBe(404)
    }
    expect((await ask()).status).toBe(429)
  })
})

describe("invalid counts", () => {
  test.each([
    ["/v1/responses", { model: "no/such", input: "hi" }],
    ["/v1/responses", { model: "openai/over-chat" }],
    ["/v1/responses", { model: "openai/over-chat", input: [{ role: "nobody", content: "hi" }] }],
    ["/v1/responses", { model: "openai/over-chat", input: "hi", previous_response_id: "resp_1" }],
    ["/v1/responses", { model: "openai/over-chat", input: "hi", base_url: "https://example.com" }],
    ["/v1/responses", { model: "openai/over-chat", input: "hi", provider: { only: ["nobody"] } }],
    ["/msgapi/v1/messages", { model: "no/such", messages: [{ role: "user", content: "hi" }], max_tokens: 1 }],
    ["/msgapi/v1/messages", { model: "openai/over-chat", messages: [], max_tokens: 1 }],
  ])("a count at %s is rejected like the call it counts for: %j", async (path, body) => {
    const generating = await post(path, body)
    const counts = await post(path.endsWith("messages") ? `${path}/count_tokens` : `${path}/input_tokens`, body)
    expect(counts.status).toBe(generating.status)
    expect(counts.status).toBe(400)
    expect((await readBody(counts)).error).toEqual((await readBody(generating)).error)
    expect(upstream.requests).toEqual([])
  })

  test("a count for a model outside the key's scope is rejected", async () => {
    const narrow = JSON.stringify({ name: "narrow", models: ["test/*"] })
    const made = await gateway.administer("/admin/v1/keys", { method: "POST", body: narrow })
    const { key } = (await made.json()) as { key: string }
    const answer = await post("/v1/responses/input_tokens", { model: "openai/over-chat", input: "hi" }, key)
    expect([answer.status, (await readBody(answer)).error.code]).toEqual([403, "model_not_allowed"])
  })
})
