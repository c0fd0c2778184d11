// The rules of every generating endpoint: authentication, cost, routing and errors, in one table of endpoints.
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import type { Ledger } from "../../src/ledger/ledger.ts"
import { InProcessGateway } from "../stage/in-process.ts"

type EndpointKind = "chat" | "embedding" | "image" | "moderation"

interface EndpointSample {
  readonly name: string
  readonly kind: EndpointKind
  path(model: string): string
  body(model: string): object
}

const at = (path: string) => () => path
const gemini = (method: string) => (model: string) => `/genapi/v1beta/models/${model}:${method}`
const content = { parts: [{ text: "Hi" }] }

const ENDPOINTS: readonly EndpointSample[] = [
  {
    ...{ name: "chat completions", kind: "chat", path: at("/v1/chat/completions") },
    body: (model) => ({ model, messages: [{ role: "user", content: "Hi" }] }),
  },
  {
    ...{ name: "responses", kind: "chat", path: at("/v1/responses") },
    body: (model) => ({ model, input: "Hi" }),
  },
  {
    ...{ name: "messages", kind: "chat", path: at("/msgapi/v1/messages") },
    body: (model) => ({ model, max_tokens: 50, messages: [{ role: "user", content: "Hi" }] }),
  },
  {
    ...{ name: "generateContent", kind: "chat", path: gemini("generateContent") },
    body: () => ({ contents: [{ role: "user", ...content }] }),
  },
  {
    ...{ name: "embeddings", kind: "embedding", path: at("/v1/embeddings") },
    body: (model) => ({ model, input: ["Hi", "you"] }),
  },
  {
    ...{ name: "embedContent", kind: "embedding", path: gemini("embedContent") },
    body: () => ({ content }),
  },
  {
    ...{ name: "batchEmbedContents", kind: "embedding", path: gemini("batchEmbedContents") },
    body: (model) => ({ requests: [{ model: `models/${model}`, content }] }),
  },
  {
    ...{ name: "images", kind: "image", path: at("/v1/images/generations") },
    body: (model) => ({ model, prompt: "A fox" }),
  },
  {
    ...{ name: "completions", kind: "chat", path: at("/v1/completions") },
    body: (model) => ({ model, prompt: "Once", max_tokens: 20 }),
  },
  {
    ...{ name: "moderations", kind: "moderation", path: at("/v1/moderations") },
    body: (model) => ({ model, input: "Is this a fair word?" }),
  },
]

const PRICES: Readonly<Record<EndpointKind, string>> = {
  chat: '{ input: "1", output: "2" }',
  embedding: '{ input: "1" }',
  image: '{ per_image: "0.01" }',
  moderation: '{ input: "1" }',
}

const model = (kind: EndpointKind, name: string, upstream: string) =>
  `  - { id: ${kind}/${name}, kind: ${kind}, pricing: ${PRICES[kind]}, targets: [{ provider: sim, model: ${upstream} }] }`

const models = [
  ...(Object.keys(PRICES) as EndpointKind[]).flatMap((kind) => [model(kind, "up", "m"), model(kind, "other", "o")]),
  // Each has its own, because what fails is soon left alone.
  ...ENDPOINTS.map(({ kind }, index) => model(kind, `down-${index}`, `m${index}@status-503`)),
]

const downOf = (endpoint: EndpointSample) => `down-${ENDPOINTS.indexOf(endpoint)}`

let gateway: InProcessGateway
let books: Ledger
beforeAll(() => {
  const config = `admin: { port: 0 }\nproviders: { sim: { type: simulator } }\nmodels:\n${models.join("\n")}\n`
  const bookWith = (ledger: Ledger) => {
    books = ledger
    return ledger
  }
  gateway = InProcessGateway.start({ config, bookWith })
})
afterAll(() => gateway.stop())

interface EndpointAnswer {
  readonly status: number
  readonly headers: Headers
  readonly code: string | undefined
  readonly body: Record<string, unknown>
}

interface EndpointQuestion {
  readonly model?: string
  readonly key?: string | undefined
  readonly provider?: object
}

async function ask(
  { path, body, kind }: EndpointSample,
  { model = "up", key = gateway.key, provider }: EndpointQuestion = {},
) {
  const id = model.includes("/") ? model : `${kind}/${model}`
  const answer = await fetch(gateway.url + path(id), {
    method: "POST",
    headers: {
      "content-type": "application/json",
      "msg-version": "2023-06-01",
      ...(key !== "" && { authorization: `Bearer ${key}` }),
    },
    body: JSON.stringify({ ...body(id), ...(provider && { provider }) }),
  })
  const received = (await answer.json()) as Record<string, unknown>
  return {
    status: answer.status,
    headers: answer.headers,
    code: codeIn(received),
    body: received,
  } satisfies EndpointAnswer
}

/** The gateway's code, wherever the protocol has its errors. */
function codeIn(value: unknown): string | undefined {
  if (typeof value !== "object" || value === null) return undefined
  if ("error" in value && typeof value.error === "object" && value.error !== null) {
    const { error } = value
    if ("details" in error && Array.isArray(error.details)) {
      for (const detail of error.details) if (typeof detail?.code === "string") return detail.code
    }
    if ("code" in error && typeof error.code === "string") return error.code
    return "error" in error ? codeIn(error) : undefined
  }
  return undefined
}

interface EndpointReceipt {
  readonly outcome: string
  readonly cost: string
  readonly model: string | null
  readonly as_booked: boolean | null
  readonly facts: { readonly attempts: { readonly error?: string }[] }
}

async function receiptOf({ headers }: EndpointAnswer): Promise<EndpointReceipt | undefined> {
  const id = headers.get("x-request-id")
  const authorization = `Bearer ${gateway.key}`
  const answer = await fetch(`${gateway.url}/v1/receipts/${id}`, { headers: { authorization } })
  return answer.status === 200 ? ((await answer.json()) as EndpointReceipt) : undefined
}

const newKey = (wish: Parameters<InProcessGateway["gateway"]["keys"]["create"]>[0]) =>
  gateway.gateway.keys.create(wish).text

describe.each(ENDPOINTS.map((endpoint) => [endpoint.name, endpoint] as const))("%s", (_, endpoint) => {
  const { kind } = endpoint

  test("an answer states the provider, the rate limits and the cost, and its receipt matches", async () => {
    const answer = await ask(endpoint)
    expect([answer.status, answer.headers.get("x-gateway-model")]).toEqual([200, `${kind}/up`])
    expect(answer.headers.get("x-gateway-provider")).toBe("sim")
    expect(answer.headers.get("x-gateway-attempts")).toBe("1")
    for (const what of ["limit", "remaining", "reset"])
      expect(answer.headers.get(`x-ratelimit-${what}-requests`)).toMatch(/^[\d.]+s?$/)
    const cost = answer.headers.get("x-gateway-cost")
    expect(Number(cost)).toBeGreaterThan(0)
    expect(await receiptOf(answer)).toMatchObject({ outcome: "settled", cost, model: `${kind}/up`, as_booked: true })
  })

  test("a request without a key, outside the key's scope, or for an unknown model is rejected", async () => {
    expect(await ask(endpoint, { key: "" })).toMatchObject({ status: 401, code: "missing_api_key" })
    expect(await ask(endpoint, { key: "trv_wrong" })).toMatchObject({ status: 401, code: "invalid_api_key" })
    const narrow = newKey({ name: "narrow", models: ["none/*"] })
    expect(await ask(endpoint, { key: narrow })).toMatchObject({ status: 403, code: "model_not_allowed" })
    expect((await ask(endpoint, { model: "no/such" })).code).toBe("model_not_found")
  })

  test("a request beyond the balance is rejected without an upstream call", async () => {
    const { key, text } = gateway.gateway.keys.create({ name: "poor", tenant: `poor-${endpoint.name}` })
    await books.setFloor(`tenant:${key.tenant}`, 0n)
    const refused = await ask(endpoint, { key: text })
    expect(refused).toMatchObject({ status: 403, code: "insufficient_balance" })
    expect(refused.headers.get("x-gateway-attempts")).toBeNull()
  })

  test("a request above the key's requests per minute is rejected with a retry delay", async () => {
    const key = newKey({ name: "slow", requestsPerMinute: 1 })
    expect((await ask(endpoint, { key })).status).toBe(200)
    const refused = await ask(endpoint, { key })
    expect(refused).toMatchObject({ status: 429, code: "rate_limit_exceeded" })
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0)
    expect(refused.headers.get("x-ratelimit-remaining-requests")).toBe("0")
  })

  test("another model answers if the first is unavailable, and is the one charged", async () => {
    const answer = await ask(endpoint, { model: downOf(endpoint), provider: { fallback: [`${kind}/other`] } })
    expect([answer.status, answer.headers.get("x-gateway-model")]).toEqual([200, `${kind}/other`])
    expect(Number(answer.headers.get("x-gateway-attempts"))).toBeGreaterThan(1)
    const receipt = await receiptOf(answer)
    expect(receipt).toMatchObject({ outcome: "settled", model: `${kind}/other` })
    expect(receipt?.facts.attempts[0]).toMatchObject({ error: "upstream_unavailable" })
  })

  test("a request that every target fails ends in 503 with all attempts, and is free", async () => {
    const answer = await ask(endpoint, { model: downOf(endpoint) })
    expect(answer).toMatchObject({ status: 503, code: "upstream_unavailable" })
    expect(JSON.stringify(answer.body)).toContain('"attempts":[{')
    expect(answer.headers.get("x-should-retry")).toBe("false")
    expect(await receiptOf(answer)).toMatchObject({ outcome: "released", cost: "0" })
  })

  test("the `provider` options are applied: unknown ones are rejected, excluded providers are not called, and explain calls none", async () => {
    expect(await ask(endpoint, { provider: { zone: "x" } })).toMatchObject({ status: 400, code: "invalid_parameter" })
    const ruledOut = await ask(endpoint, { provider: { only: ["nobody"] } })
    expect(ruledOut.code).toBe("model_not_found")
    const explained = await ask(endpoint, { provider: { explain: true } })
    expect(explained.body).toMatchObject({ object: "explanation", attempts: [{ provider: "sim" }] })
    expect(await receiptOf(explained)).toBeUndefined()
  })
})

test("every exchange is in the ledger, and the ledger is sound", async () => {
  expect(await books.verify()).toEqual([])
})
