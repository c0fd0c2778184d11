// Rate limits for the official clients: the headers of every answer, and the 429 of each client's own class.
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import Anthropic from "@anthropic-ai/sdk"
import { ApiError, GoogleGenAI } from "@google/genai"
import OpenAI from "openai"
import { RunningGateway } from "../stage/gateway.ts"
import { KeyFolder } from "../stage/keys.ts"
import { rejectionOf } from "../stage/rejection-of.ts"

const MODEL = "openai/gpt-4o"
const HI = { model: MODEL, messages: [{ role: "user" as const, content: "hi" }] }
const folder = new KeyFolder()
let gateway: RunningGateway
beforeAll(async () => {
  const key = folder.within((keys) => keys.create({ name: "whole" }).text)
  gateway = await RunningGateway.start({ dataDir: folder.path, key })
})
afterAll(async () => {
  await gateway.stop()
  folder.remove()
})

/** A new key of the running gateway. */
async function newKey(limits: Record<string, unknown>): Promise<string> {
  const body = JSON.stringify({ name: "limited", ...limits })
  const response = await gateway.administer("/admin/v1/keys", { method: "POST", body })
  return ((await response.json()) as { key: string }).key
}

async function read(stream: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of stream);
}

const openai = (apiKey: string, maxRetries = 0) => new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey, maxRetries })
const anthropic = (apiKey: string) => new Anthropic({ baseURL: `${gateway.url}/anthropic`, apiKey, maxRetries: 0 })
const google = (apiKey: string) => new GoogleGenAI({ apiKey, httpOptions: { baseUrl: `${gateway.url}/gemini` } })

interface LimitedClient {
  readonly name: string
  readonly raises: new (...args: never[]) => Error
  call(key: string): Promise<unknown>
}

const CLIENTS: readonly LimitedClient[] = [
  {
    name: "openai, chat",
    raises: OpenAI.RateLimitError,
    call: (key) => openai(key).chat.completions.create(HI),
  },
  {
    name: "openai, chat, streamed",
    raises: OpenAI.RateLimitError,
    call: async (key) => read(await openai(key).chat.completions.create({ ...HI, stream: true })),
  },
  {
    name: "openai, responses",
    raises: OpenAI.RateLimitError,
    call: (key) => openai(key).responses.create({ model: MODEL, input: "hi" }),
  },
  {
    name: "openai, responses, streamed",
    raises: OpenAI.RateLimitError,
    call: async (key) => read(await openai(key).responses.create({ model: MODEL, input: "hi", stream: true })),
  },
  {
    name: "anthropic",
    raises: Anthropic.RateLimitError,
    call: (key) => anthropic(key).messages.create({ ...HI, max_tokens: 50 }),
  },
  {
    name: "anthropic, streamed",
    raises: Anthropic.RateLimitError,
    call: async (key) => read(await anthropic(key).messages.create({ ...HI, max_tokens: 50, stream: true })),
  },
  {
    name: "genai",
    raises: ApiError,
    call: (key) => google(key).models.generateContent({ model: MODEL, contents: "hi" }),
  },
  {
    name: "genai, streamed",
    raises: ApiError,
    call: async (key) => read(await google(key).models.generateContentStream({ model: MODEL, contents: "hi" })),
  },
]

describe.each(CLIENTS)("$name", ({ raises, call }) => {
  test("a client above its limit gets its own rate limit class and a retry delay", async () => {
    const key = await newKey({ requests_per_minute: 1 })
    await call(key)
    const error = (await rejectionOf(call(key))) as Error & { status: number; headers?: Headers }
    expect(error).toBeInstanceOf(raises)
    expect(error.status).toBe(429)
    expect(error.message).toContain("1 requests per minute")
    if (raises === ApiError) return
    expect(error.headers?.get("x-ratelimit-limit-requests")).toBe("1")
    expect(error.headers?.get("x-ratelimit-remaining-requests")).toBe("0")
    expect(error.headers?.get("x-ratelimit-reset-requests")).toMatch(/^(5\d(\.\d)?|60)s$/)
    expect(error.headers?.get("retry-after")).toMatch(/^(5\d|60)$/)
    expect(error.headers?.has("x-should-retry")).toBe(false)
  })

  test("a client at its concurrency limit gets its own rate limit class", async () => {
    const key = await newKey({ concurrent_requests: 1 })
    const stalled = { ...HI, model: `${MODEL}@stall-after-3`, stream: true } as const
    const stream = await openai(key).chat.completions.create(stalled)
    const error = (await rejectionOf(call(key))) as Error & { status: number; headers?: Headers }
    expect(error).toBeInstanceOf(raises)
    expect(error.message).toContain("1 requests at once")
    if (raises !== ApiError) expect(error.headers?.get("retry-after")).toBe("1")
    stream.controller.abort()
  })
})

test("a client that retries after the stated delay gets its answer", async () => {
  const key = await newKey({ requests_per_minute: 60 })
  const listings = Array.from({ length: 60 }, () => get("/v1/models/count", key))
  for (const response of await Promise.all(listings)) expect(response.status).toBe(200)
  expect((await openai(key, 2).chat.completions.create(HI)).choices).toHaveLength(1)
})

const headersOf = (key: string) => ({ authorization: `Bearer ${key}`, "anthropic-version": "2023-06-01" })

function get(path: string, key: string): Promise<Response> {
  return fetch(gateway.url + path, { headers: headersOf(key) })
}

function post(path: string, key: string, body: unknown): Promise<Response> {
  const headers = { ...headersOf(key), "content-type": "application/json" }
  return fetch(gateway.url + path, { method: "POST", headers, body: JSON.stringify(body) })
}

const standing = ({ headers }: Response, of: "requests" | "tokens") =>
  ["limit", "remaining", "reset"].map((what) => headers.get(`x-ratelimit-${what}-${of}`))

describe("every response to an authenticated request reports the limit", () => {
  const chat = "/v1/chat/completions"
  const calls: readonly [string, number, (key: string) => Promise<Response>][] = [
    ["an answer", 200, (key) => post(chat, key, HI)],
    ["a stream", 200, (key) => post(chat, key, { ...HI, stream: true })],
    ["a message", 200, (key) => post("/anthropic/v1/messages", key, { ...HI, max_tokens: 5 })],
    ["a listing", 200, (key) => get("/v1/models", key)],
    ["a listing of another protocol", 200, (key) => get("/gemini/v1beta/models", key)],
    ["the key itself", 200, (key) => get("/v1/key", key)],
    ["a bad request", 400, (key) => post(chat, key, { ...HI, temperature: 9 })],
    ["an unknown model", 404, (key) => get("/v1/models/no/such", key)],
    ["a model outside the scope", 403, (key) => post(chat, key, { ...HI, model: "meta/llama-3.3-70b" })],
    ["a failed upstream", 503, (key) => post(chat, key, { ...HI, model: `${MODEL}@status-503` })],
  ]
  test.each(calls)("the rate limit headers are in %s (%p)", async (_, status, call) => {
    const key = await newKey({ requests_per_minute: 10, models: ["openai/*"] })
    const response = await call(key)
    expect(response.status).toBe(status)
    await response.text()
    const [limit, remaining, reset] = standing(response, "requests")
    expect([limit, remaining]).toEqual(["10", "9"])
    expect(Number.parseFloat(reset ?? "")).toBeGreaterThan(4)
    expect(reset).toMatch(/^[456](\.\d)?s$/)
    expect(standing(response, "tokens")).toEqual([null, null, null])
  })

  test("token limits are reported if there are any", async () => {
    const key = await newKey({ tokens_per_minute: 1000 })
    expect(standing(await get("/v1/models/count", key), "tokens")).toEqual(["1000", "1000", "0s"])
  })

  test("an unauthenticated response reports no limit", async () => {
    for (const response of [await get("/v1/models", "sk-abc"), await get("/healthz", gateway.key)]) {
      expect(standing(response, "requests")).toEqual([null, null, null])
    }
  })

  test("a rejected request does not count against the limits", async () => {
    const key = await newKey({ requests_per_minute: 2 })
    for (let n = 0; n < 5; n++) await get("/v1/models/count", key)
    const [, , reset] = standing(await get("/v1/models/count", key), "requests")
    expect(Number.parseFloat(reset ?? "")).toBeLessThanOrEqual(60)
  })
})
