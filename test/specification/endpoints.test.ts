// Every endpoint answers in its specified shape. In demo mode.
import { afterAll, beforeAll, expect } from "bun:test"
import { RunningGateway } from "../stage/gateway.ts"
import {
  type ClientStyle,
  chat,
  errorOf,
  generate,
  list,
  MODEL,
  messages,
  objectOf,
  type SpecBody,
  sendRequest,
} from "./client-styles.ts"
import type { LineId } from "./lines.ts"
import { nothingForgotten, specify, specifyEach } from "./specify.ts"

let demo: RunningGateway
beforeAll(async () => {
  demo = await RunningGateway.start()
})
afterAll(() => demo.stop())

interface SpecifiedEndpoint {
  readonly line: LineId
  readonly style: ClientStyle
  readonly method: "GET" | "POST"
  readonly path: string
  readonly body?: SpecBody
  /** A part of its answer that shows its operation. */
  readonly gives: SpecBody
}

/** Any value of this kind. */
const aKind = (kind: typeof Array | typeof Number | typeof Object | typeof String) => expect.any(kind) as unknown

const ENDPOINTS: readonly SpecifiedEndpoint[] = [
  {
    line: "endpoint.chat-completions",
    style: chat,
    method: "POST",
    path: "/v1/chat/completions",
    body: chat.body(MODEL),
    gives: { object: "chat.completion", choices: aKind(Array) },
  },
  {
    line: "endpoint.responses",
    style: chat,
    method: "POST",
    path: "/v1/responses",
    body: { model: "openai/gpt-4o", input: "How far is the moon?" },
    gives: { object: "response", status: "completed", output: aKind(Array), usage: aKind(Object) },
  },
  {
    line: "endpoint.models",
    style: chat,
    method: "GET",
    path: "/v1/models",
    gives: { object: "list", data: aKind(Array) },
  },
  {
    line: "endpoint.models-count",
    style: chat,
    method: "GET",
    path: "/v1/models/count",
    gives: { count: aKind(Number) },
  },
  {
    line: "endpoint.embeddings",
    style: chat,
    method: "POST",
    path: "/v1/embeddings",
    body: { model: "openai/text-embedding-3-small", input: "the moon" },
    gives: { object: "list", data: [{ object: "embedding", index: 0, embedding: aKind(Array) }] },
  },
  {
    line: "endpoint.images",
    style: chat,
    method: "POST",
    path: "/v1/images/generations",
    body: { model: "openai/gpt-image-1", prompt: "the moon" },
    gives: { created: aKind(Number), data: [{ b64_json: aKind(String) }] },
  },
  {
    line: "endpoint.messages",
    style: messages,
    method: "POST",
    path: "/msgapi/v1/messages",
    body: messages.body(MODEL),
    gives: { type: "message", content: aKind(Array) },
  },
  {
    line: "endpoint.messages-models",
    style: messages,
    method: "GET",
    path: "/msgapi/v1/models",
    gives: { data: aKind(Array) },
  },
  {
    line: "endpoint.messages-models-count",
    style: messages,
    method: "GET",
    path: "/msgapi/v1/models/count",
    gives: { count: aKind(Number) },
  },
  {
    line: "endpoint.generate-content",
    style: generate,
    method: "POST",
    path: `/genapi/v1beta/models/${MODEL}:generateContent`,
    body: generate.body(MODEL),
    gives: { candidates: aKind(Array) },
  },
  {
    line: "endpoint.generate-models",
    style: generate,
    method: "GET",
    path: "/genapi/v1beta/models",
    gives: { models: aKind(Array) },
  },
  {
    line: "endpoint.generate-models-count",
    style: generate,
    method: "GET",
    path: "/genapi/v1beta/models/count",
    gives: { count: aKind(Number) },
  },
]

function call(
  { method, path, body, style }: SpecifiedEndpoint,
  headers: Record<string, string> = {},
): Promise<Response> {
  const all = { ...style.headers, ...style.keyHeader(demo.key), ...headers }
  if (!body) return fetch(demo.url + path, { method, headers: all })
  const type = { "content-type": "application/json" }
  return fetch(demo.url + path, { method, headers: { ...type, ...all }, body: JSON.stringify(body) })
}

for (const endpoint of ENDPOINTS) {
  const { line, method, path, gives } = endpoint
  specify(line, `${method} ${path} answers`, async () => {
    const response = await call(endpoint)
    expect(response.status).toBe(200)
    expect(response.headers.get("content-type")).toBe("application/json")
    expect(await response.json()).toMatchObject(gives)
  })
}

specify("endpoint.models", "shows for every model what OpenAI's listing shows, and its limits and prices", async () => {
  const { data } = await objectOf(await list(demo, chat))
  for (const card of data as SpecBody[]) {
    expect(card).toMatchObject({
      id: expect.stringMatching(/^[^/\s]+\/\S+$/) as unknown,
      object: "model",
      created: aKind(Number),
      owned_by: String(card.id).split("/")[0],
      display_name: aKind(String),
      modalities: aKind(Object),
      capabilities: aKind(Array),
      pricing: aKind(Object),
    })
    if (card.kind === "chat") {
      expect(card).toMatchObject({ context_window: aKind(Number), max_output_tokens: aKind(Number) })
    }
  }
})

const COUNTED = [
  ["endpoint.models-count", chat],
  ["endpoint.messages-models-count", messages],
  ["endpoint.generate-models-count", generate],
] as const
for (const [line, style] of COUNTED) {
  specify(line, "is as many as the listing has", async () => {
    const { data, models } = await objectOf(await list(demo, style))
    const { count } = await objectOf(await list(demo, style, `${style.listPath}/count`))
    expect(count).toBe(((data ?? models) as unknown[]).length)
  })
}

specify("endpoint.generate-content", "the model may have its slash encoded", async () => {
  const style = { ...generate, path: (model: string) => generate.path(encodeURIComponent(model)) }
  expect((await sendRequest(demo, style)).status).toBe(200)
})

specifyEach("endpoints.authentication", ENDPOINTS, {
  sentence: ({ method, path }) => `${method} ${path} is 401 without a key`,
  check: async (endpoint) => {
    const keyless = { ...endpoint, style: { ...endpoint.style, keyHeader: () => ({}) } }
    const response = await call(keyless)
    expect(response.status).toBe(401)
    expect(await errorOf(response)).toMatchObject({ code: "missing_api_key", type: "authentication_error" })
  },
})

const WITH_BODY = ENDPOINTS.filter(({ body }) => body)

specifyEach("endpoints.content-type", WITH_BODY, {
  sentence: ({ path }) => `${path} accepts JSON and rejects any other content type`,
  check: async (endpoint) => {
    expect((await call(endpoint, { "content-type": "application/json; charset=utf-8" })).status).toBe(200)
    const response = await call(endpoint, { "content-type": "text/plain" })
    expect(response.status).toBe(400)
    expect(await errorOf(response)).toMatchObject({ code: "invalid_content_type", type: "invalid_request_error" })
  },
})
specifyEach("endpoints.content-type", WITH_BODY, {
  sentence: ({ path }) => `${path} refuses a body that is no JSON`,
  check: async ({ path, style }) => {
    const headers = { "content-type": "application/json", ...style.headers, ...style.keyHeader(demo.key) }
    const response = await fetch(demo.url + path, { method: "POST", headers, body: '{"model": ' })
    expect(response.status).toBe(400)
    expect(await errorOf(response)).toMatchObject({ code: "invalid_json", type: "invalid_request_error" })
  },
})

specify("operation.1", "gives the chat response", async () => {
  expect(Object.keys(await objectOf(await sendRequest(demo, chat)))).toEqual(
    expect.arrayContaining(["id", "object", "created", "model", "choices", "usage"]),
  )
})
specify("operation.1", "gives pieces of it where stream is true", async () => {
  const response = await sendRequest(demo, chat, { body: { ...chat.body(MODEL), stream: true } })
  expect(response.headers.get("content-type")).toStartWith("text/event-stream")
  const events = [...(await response.text()).matchAll(/^data: (.+)$/gm)].map(([, data = ""]) => data)
  expect(events.pop()).toBe("[DONE]")
  expect(events.length).toBeGreaterThan(5)
  for (const event of events) {
    expect(JSON.parse(event)).toMatchObject({ object: "chat.completion.chunk", model: MODEL })
  }
})

specify("operation.2", "gives the message", async () => {
  expect(Object.keys(await objectOf(await sendRequest(demo, messages)))).toEqual(
    expect.arrayContaining(["id", "type", "role", "content", "model", "stop_reason", "stop_sequence", "usage"]),
  )
})

specify("operation.3", "gives the content-generation response", async () => {
  expect(Object.keys(await objectOf(await sendRequest(demo, generate)))).toEqual(
    expect.arrayContaining(["candidates", "usageMetadata", "modelVersion"]),
  )
})

specify("operation.4", "gives models, an array of entries", async () => {
  const { models } = await objectOf(await list(demo, generate))
  expect((models as SpecBody[])[0]).toMatchObject({ name: aKind(String), supportedGenerationMethods: aKind(Array) })
})

specify("operation.5", "gives data, has_more, first_id and last_id", async () => {
  const answer = await objectOf(await list(demo, messages))
  const data = answer.data as SpecBody[]
  expect(answer).toEqual({ data, has_more: false, first_id: data[0]?.id, last_id: data.at(-1)?.id })
  expect(data.length).toBeGreaterThan(100)
})
specify("operation.5", "states in has_more that a page is not the last", async () => {
  const answer = await objectOf(await list(demo, messages, "/msgapi/v1/models?limit=2"))
  const data = answer.data as SpecBody[]
  expect(answer).toEqual({ data, has_more: true, first_id: data[0]?.id, last_id: data[1]?.id })
})

specify("operation.6", "gives count, a whole number", async () => {
  const { count, ...rest } = await objectOf(await list(demo, messages, "/msgapi/v1/models/count"))
  expect(count).toSatisfy(Number.isInteger)
  expect(rest).toEqual({})
})

const NEEDS = [
  ["operation.2", "/msgapi/v1/messages"],
  ["operation.5", "/msgapi/v1/models"],
  ["operation.6", "/msgapi/v1/models/count"],
] as const
for (const [line, path] of NEEDS) {
  const endpoint = ENDPOINTS.find((one) => one.path === path)
  specify(line, "needs x-api-key and msg-version", async () => {
    if (!endpoint) throw new Error(`${path} is no endpoint`)
    const keyless = await call({ ...endpoint, style: { ...messages, keyHeader: () => ({}) } })
    expect(keyless.status).toBe(401)
    const ageless = await call({ ...endpoint, style: { ...messages, headers: {} } })
    expect(ageless.status).toBe(400)
    expect(await errorOf(ageless)).toMatchObject({ code: "invalid_version", type: "invalid_request_error" })
  })
}

nothingForgotten("endpoints")
