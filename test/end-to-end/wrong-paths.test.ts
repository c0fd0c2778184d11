// Wrong base addresses: those that the gateway accepts, and its hints for all others.
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { RunningGateway } from "../stage/gateway.ts"

let gateway: RunningGateway

beforeAll(async () => {
  gateway = await RunningGateway.start()
})
afterAll(() => gateway.stop())

const VERSION = { "anthropic-version": "2023-06-01" }
const CHAT_MODEL = "openai/gpt-4o-mini"

interface AskOptions {
  readonly body?: object
  readonly headers?: Record<string, string>
  readonly method?: string
}

function ask(path: string, { body, headers, method = body ? "POST" : "GET" }: AskOptions = {}): Promise<Response> {
  return fetch(gateway.url + path, {
    method,
    redirect: "manual",
    headers: { authorization: `Bearer ${gateway.key}`, "content-type": "application/json", ...headers },
    ...(body && { body: JSON.stringify(body) }),
  })
}

const messages = [{ role: "user", content: "Hi" }]
const contents = [{ role: "user", parts: [{ text: "Hi" }] }]

describe("other base addresses", () => {
  const OPENAI = ["", "/api/v1", "/openai", "/openai/v1"]

  test.each(OPENAI)("the path %s/chat/completions answers, whole and streamed", async (base) => {
    const whole = await ask(`${base}/chat/completions`, { body: { model: CHAT_MODEL, messages } })
    expect(whole.status).toBe(200)
    expect(await whole.json()).toMatchObject({ object: "chat.completion", model: CHAT_MODEL })
    const streamed = await ask(`${base}/chat/completions`, { body: { model: CHAT_MODEL, messages, stream: true } })
    expect(await streamed.text()).toEndWith("data: [DONE]\n\n")
  })

  test.each(OPENAI)("the base address %s serves every other OpenAI operation", async (base) => {
    const statuses = [
      await ask(`${base}/responses`, { body: { model: CHAT_MODEL, input: "Hi" } }),
      await ask(`${base}/embeddings`, { body: { model: "openai/text-embedding-3-small", input: "Hi" } }),
      await ask(`${base}/moderations`, { body: { input: "Hi" } }),
      await ask(`${base}/models`),
      await ask(`${base}/models/${CHAT_MODEL}`),
    ].map(({ status }) => status)
    expect(statuses).toEqual([200, 200, 200, 200, 200])
  })

  test("a response created at another base address is retrieved there", async () => {
    const made = (await (await ask("/openai/responses", { body: { model: CHAT_MODEL, input: "Hi" } })).json()) as {
      id: string
    }
    expect(await (await ask(`/openai/responses/${made.id}`)).json()).toMatchObject({ id: made.id })
  })

  test.each(["/v1", "/api/v1"])("the path %s/messages answers and counts in the Messages protocol", async (base) => {
    const body = { model: "anthropic/claude-sonnet-4.5", max_tokens: 50, messages }
    const whole = await ask(`${base}/messages`, { body, headers: VERSION })
    expect([whole.status, ((await whole.json()) as { type: string }).type]).toEqual([200, "message"])
    const streamed = await ask(`${base}/messages`, { body: { ...body, stream: true }, headers: VERSION })
    expect(await streamed.text()).toContain("event: message_stop")
    const counted = await ask(`${base}/messages/count_tokens`, { body, headers: VERSION })
    expect(await counted.json()).toMatchObject({ input_tokens: expect.any(Number) })
    const unversioned = await ask(`${base}/messages`, { body })
    expect(await unversioned.json()).toMatchObject({ type: "error", error: { code: "invalid_version" } })
  })

  test.each(["/v1beta", "/v1alpha", "/v1beta1", "/v1beta/v1beta", "/gemini/v1alpha", "/genapi/v1alpha"])(
    "the path %s answers in the content-generation protocol",
    async (base) => {
      const path = `${base}/models/google/gemini-2.5-flash`
      const whole = await ask(`${path}:generateContent`, { body: { contents } })
      expect(await whole.json()).toMatchObject({ candidates: [{ content: { role: "model" } }] })
      const streamed = await ask(`${path}:streamGenerateContent?alt=sse`, { body: { contents } })
      expect(await streamed.text()).toStartWith("data: ")
      expect(await (await ask(`${base}/models?pageSize=1`)).json()).toMatchObject({ models: [{}] })
    },
  )
})

describe("Azure's client", () => {
  const azure = (path: string, body: object, headers: Record<string, string> = { "api-key": gateway.key }) =>
    fetch(`${gateway.url}/openai/deployments/${path}?api-version=2024-10-21`, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: JSON.stringify(body),
    })

  test("Azure's client names its model as a deployment, in any spelling, with or without one in the body", async () => {
    for (const name of ["gpt-4o-mini", "openai/gpt-4o-mini", "openai%2Fgpt-4o-mini"]) {
      const answer = await azure(`${name}/chat/completions`, { messages })
      expect([name, answer.status, answer.headers.get("x-gateway-model")]).toEqual([name, 200, CHAT_MODEL])
    }
    const both = await azure("gpt-4o-mini/chat/completions", { model: "gpt-4o", messages })
    expect(both.headers.get("x-gateway-model")).toBe(CHAT_MODEL)
  })

  test("Azure's client reaches models of other protocols, streams, embeds and draws", async () => {
    const claude = await azure("anthropic/claude-sonnet-4.5/chat/completions", { messages, stream: true })
    expect(await claude.text()).toEndWith("data: [DONE]\n\n")
    const embedded = await azure("text-embedding-3-small/embeddings", { input: "Hi" })
    expect(await embedded.json()).toMatchObject({ object: "list" })
    const drawn = await azure("openai/gpt-image-1.5/images/generations", { prompt: "A fox" })
    expect(drawn.status).toBe(200)
  })

  test("Azure's client gets the same errors as on any other path", async () => {
    const unknown = await azure("no-such/chat/completions", { messages })
    expect([unknown.status, await unknown.json()]).toEqual([
      400,
      { error: expect.objectContaining({ code: "model_not_found", param: "model" }) },
    ])
    expect((await azure("gpt-4o-mini/chat/completions", { messages }, { "api-key": "wrong" })).status).toBe(401)
    expect((await azure("gpt-4o-mini/chat/completions", { messages }, {})).status).toBe(401)
  })
})

describe("GET /v1/models", () => {
  test("GET /v1/models is a messages-style listing for clients that send anthropic-version, and OpenAI's for all others", async () => {
    const theirs = (await (await ask("/v1/models?limit=1", { headers: VERSION })).json()) as { data: object[] }
    expect(theirs).toMatchObject({ has_more: true, data: [{ type: "model" }] })
    expect(await (await ask("/v1/models")).json()).toMatchObject({ object: "list" })
    const one = await ask("/v1/models/anthropic/claude-sonnet-4.5", { headers: VERSION })
    expect(await one.json()).toMatchObject({ type: "model", id: "anthropic/claude-sonnet-4.5" })
    const counted = await ask("/v1/models/count", { headers: VERSION })
    expect(await counted.json()).toEqual({ count: expect.any(Number) })
    const bad = await ask("/v1/models", { headers: { "anthropic-version": "soon" } })
    expect(await bad.json()).toMatchObject({ type: "error", error: { code: "invalid_version" } })
  })

  test("GET /v1/models accepts a key from x-api-key in its messages style", async () => {
    const answer = await fetch(`${gateway.url}/v1/models`, { headers: { ...VERSION, "x-api-key": gateway.key } })
    expect(answer.status).toBe(200)
  })
})

describe("common first addresses", () => {
  test("common first addresses lead to the documentation and to the health check", async () => {
    const browser = await ask("/", { headers: { accept: "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8" } })
    expect([browser.status, browser.headers.get("location")]).toEqual([307, "/docs"])
    const other = await ask("/", { headers: { accept: "*/*" } })
    expect(await other.json()).toMatchObject({ docs: "/docs" })
    const health = await ask("/health")
    expect([health.status, health.headers.get("location")]).toEqual([307, "/healthz"])
  })
})

describe("a path without a route", () => {
  const ADVICE: readonly [string, string][] = [
    ["/api/chat", "POST /v1/chat/completions"],
    ["/api/generate", "POST /v1/chat/completions"],
    ["/api/tags", "GET /v1/models"],
    ["/api/embed", "POST /v1/embeddings"],
    ["/v2/chat", "POST /v1/chat/completions"],
    ["/model/anthropic.claude-sonnet-4-5/converse", "POST /v1/messages"],
    [
      "/gemini/models/google/gemini-2.5-flash:generateContent",
      "/gemini/v1beta/models/google/gemini-2.5-flash:generateContent",
    ],
    [
      "/models/google/gemini-2.5-flash:generateContent",
      "/gemini/v1beta/models/google/gemini-2.5-flash:generateContent",
    ],
    ["/v1/models/gemini-2.5-flash:generateContent", "/gemini/v1beta/models/gemini-2.5-flash:generateContent"],
    ["/v1/projects/p/locations/l/publishers/google/models/g:generateContent", "Put /gemini in front"],
    ["/v1/chat/completion", "/v1/chat/completions"],
    ["/v1/chat/completions/", "/v1/chat/completions"],
    ["/V1/Chat/Completions", "/v1/chat/completions"],
    ["/v1/v1/chat/completions", "/v1/chat/completions"],
    ["/anthropic/v1/v1/messages", "/anthropic/v1/messages"],
    ["/gateway/v1/embeddings", "/v1/embeddings"],
    ["/v1/message", "/v1/messages"],
    ["/v1/embedding", "/v1/embeddings"],
    ["/v1/modles", "/v1/models"],
    ["/v1/credits", "GET /v1/key"],
    ["/v1/generation", "GET /v1/receipts/{id}"],
    ["/v1/audio/speech", "no speech"],
    ["/v1/files", "inside the request"],
    ["/v1/batches", "one by one"],
    ["/v1/rerank", "no reranking"],
    ["/v1/responses/compact", "POST /v1/responses"],
    ["/gemini/v1beta/files", "inside the request"],
    ["/v1beta/cachedContents", "inside the request"],
    ["/upload/v1beta/files", "inside the request"],
    ["/admin/v1/keys", "its own port"],
    ["/metrics", "its own port"],
    ["/key/generate", "its own port"],
    ["/health/liveliness", "GET /healthz"],
    ["/quite/another/thing", "GET /docs"],
  ]

  test.each(ADVICE)("the path %s is 404 and names %s", async (path, right) => {
    const answer = await ask(path, { body: {} })
    const text = await answer.text()
    expect([answer.status, text]).toEqual([404, expect.stringContaining("route_not_found")])
    expect(text).toContain(right.startsWith("/") ? `Did you mean ${right}?` : right)
  })

  test("a path without a route is rejected in the error shape of the neighbouring protocol", async () => {
    expect(await (await ask("/v1/messages/batches")).json()).toMatchObject({ type: "error" })
    expect(await (await ask("/anthropic/nothing")).json()).toMatchObject({ type: "error" })
    expect(await (await ask("/v1beta/files")).json()).toMatchObject({ error: { code: 404, status: "NOT_FOUND" } })
    expect(await (await ask("/genapi/nothing")).json()).toMatchObject({ error: { code: "route_not_found" } })
    expect(await (await ask("/v1/nothing")).json()).toMatchObject({ error: { code: "route_not_found" } })
  })
})

describe("an error on a vendor's own path", () => {
  const generate = (base: string, model: string, headers: Record<string, string> = {}) =>
    ask(`${base}/v1beta/models/${model}:generateContent`, { body: { contents }, headers })

  test.each(["/gemini", ""])(
    "an error on a vendor's own path has a numeric code on %s/v1beta, and the gateway's in its details",
    async (base) => {
      const unknown = await generate(base, "none/none")
      expect([unknown.status, await unknown.json()]).toEqual([
        404,
        {
          error: expect.objectContaining({
            code: 404,
            status: "NOT_FOUND",
            type: "not_found_error",
            details: [{ "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason: "model_not_found" }],
          }),
        },
      ])
      const unauthenticated = await generate(base, "google/gemini-2.5-flash", { authorization: "Bearer wrong" })
      expect([unauthenticated.status, await unauthenticated.json()]).toEqual([
        401,
        { error: expect.objectContaining({ code: 401, status: "UNAUTHENTICATED" }) },
      ])
    },
  )

  test("an error on a stand-in path keeps the specification's shape and status, whatever header carried the key", async () => {
    const unknown = await generate("/genapi", "none/none", { "x-goog-api-key": gateway.key })
    expect([unknown.status, await unknown.json()]).toEqual([
      400,
      { error: expect.objectContaining({ code: "model_not_found", status: "INVALID_ARGUMENT" }) },
    ])
  })

  test("an unknown model is 404 on a vendor's own Messages path, but 400 on /msgapi and /v1", async () => {
    const body = { model: "none/none", max_tokens: 5, messages }
    const statusAt = async (path: string) => (await ask(path, { body, headers: VERSION })).status
    expect(await statusAt("/anthropic/v1/messages")).toBe(404)
    expect(await statusAt("/v1/messages")).toBe(404)
    expect(await statusAt("/msgapi/v1/messages")).toBe(400)
    expect(await statusAt("/v1/chat/completions")).toBe(400)
    const answer = await ask("/anthropic/v1/messages", { body, headers: VERSION })
    expect(await answer.json()).toMatchObject({
      type: "error",
      error: { type: "not_found_error", code: "model_not_found" },
    })
  })
})
