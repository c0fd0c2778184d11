// Tenants share the accounts at providers: names that a request may use there, end-user identifiers, and the model that
// answers.
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import OpenAI from "openai"
import { InProcessGateway } from "../stage/in-process.ts"
import {
  chunk,
  completion,
  DONE,
  type ReceivedRequest,
  ScriptedUpstream,
  type UpstreamScript,
} from "../stage/upstream.ts"

let upstream: ScriptedUpstream
let gateway: InProcessGateway

const config = (origin: string) => `
admin: { port: 0 }
providers:
  openai: { base_url: "${origin}/v1", api_key: "k" }
  anthropic: { base_url: "${origin}", api_key: "k" }
  plain: { type: openai-compatible, protocols: [openai-chat], base_url: "${origin}/v1", api_key: "k", salt_identifiers: false }
  newer: { type: openai-compatible, protocols: [openai-chat], base_url: "${origin}/v1", api_key: "k", limit_member: max_completion_tokens }
models:
  - { id: lab/cheap, pricing: { input: "1", output: "1" }, context_window: 1000, targets: [{ provider: openai, model: up-cheap }] }
  - { id: lab/dear, pricing: { input: "100", output: "100" }, targets: [{ provider: openai, model: up-dear }] }
  - { id: lab/claude, pricing: { input: "1", output: "1" }, targets: [{ provider: anthropic, model: claude-x }] }
  - { id: lab/opus, pricing: { input: "100", output: "100" }, targets: [{ provider: anthropic, model: claude-opus-x }] }
  - { id: lab/plain, pricing: { input: "1", output: "1" }, targets: [{ provider: plain, model: up-plain }] }
  - { id: lab/newer, pricing: { input: "1", output: "1" }, targets: [{ provider: newer, model: up-newer }] }
`

beforeAll(async () => {
  upstream = await ScriptedUpstream.start()
  gateway = InProcessGateway.start({ config: config(upstream.origin) })
})
afterAll(async () => {
  await gateway.stop()
  await upstream.stop()
})

const MESSAGES = [{ role: "user", content: "hi" }]

function keyOf(grant: object): string {
  return gateway.gateway.keys.create({ name: "k", requestsPerMinute: 1_000_000, ...grant }).text
}

async function post(path: string, body: object, key = gateway.key) {
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json", "msg-version": "2023-06-01" }
  const response = await fetch(gateway.url + path, { method: "POST", headers, body: JSON.stringify(body) })
  const text = await response.text()
  return { status: response.status, headers: response.headers, text, error: errorIn(text) }
}

function errorIn(text: string): { code?: string; param?: string } {
  try {
    return JSON.parse(text).error ?? {}
  } catch {
    return {}
  }
}

const chat = (more: object, key?: string) =>
  post("/v1/chat/completions", { model: "lab/cheap", messages: MESSAGES, ...more }, key)

/** The bodies that reach the provider while `act` runs, with `script` as its answer. */
async function sentDuring(act: () => Promise<unknown>, script?: UpstreamScript): Promise<Record<string, unknown>[]> {
  upstream.requests.length = 0
  upstream.script = script ?? ((_, reply) => reply.json(completion("Hello.")))
  await act()
  return upstream.requests.map(({ body }: ReceivedRequest) => JSON.parse(body.toString()))
}

async function receipt(id: string | null, key = gateway.key): Promise<Record<string, unknown>> {
  const answer = await fetch(`${gateway.url}/v1/receipts/${id}`, { headers: { authorization: `Bearer ${key}` } })
  return (await answer.json()) as Record<string, unknown>
}

describe("a list of models in a request", () => {
  const fails: UpstreamScript = ({ body }, reply) =>
    body.includes("up-cheap") ? reply.json({ error: { message: "no" } }, 503) : reply.json(completion("Hello."))

  test("listed models are tried in order by the gateway, and priced separately", async () => {
    let answer: Awaited<ReturnType<typeof chat>> | undefined
    const sent = await sentDuring(async () => {
      answer = await chat({ models: ["lab/dear"] })
    }, fails)
    expect(answer?.headers.get("x-gateway-model")).toBe("lab/dear")
    expect(answer?.headers.get("x-gateway-cost")).toBe("0.0012")
    expect(sent.map(({ model }) => model)).toContain("up-dear")
    for (const body of sent) expect(body).not.toHaveProperty("models")
  })

  test("the first listed model is used if the request names no other", async () => {
    const sent = await sentDuring(() =>
      post("/v1/chat/completions", { models: ["lab/cheap", "lab/dear"], messages: MESSAGES }),
    )
    expect(sent).toMatchObject([{ model: "up-cheap" }])
  })

  test("every listed model is checked against the key's scope", async () => {
    const narrow = keyOf({ models: ["lab/cheap", "lab/claude"] })
    const messages = { model: "lab/claude", max_tokens: 9, messages: MESSAGES }
    const sent = await sentDuring(async () => {
      expect(await chat({ models: ["lab/dear"] }, narrow)).toMatchObject({
        ...{ status: 403, error: { code: "model_not_allowed", param: "models[0]" } },
      })
      expect(
        await post("/msgapi/v1/messages", { ...messages, fallbacks: [{ model: "lab/opus" }] }, narrow),
      ).toMatchObject({
        ...{ status: 403, error: { code: "model_not_allowed", param: "fallbacks[0]" } },
      })
      expect((await chat({ models: ["lab/none"] }, narrow)).error).toMatchObject({ code: "model_not_found" })
    })
    expect(sent).toEqual([])
  })
})

describe("a member that selects a model inside the provider", () => {
  test.each([
    [{ Model: "up-dear" }, "Model"],
    [{ "mode\u0142": "x", MODEL: "up-dear" }, "MODEL"],
    [{ route: "fallback" }, "route"],
    [{ plugins: [{ id: "web" }] }, "plugins"],
    [{ max_tokens: 1, Max_Tokens: 90_000 }, "Max_Tokens"],
    [{ apiBase: "http://elsewhere" }, "apiBase"],
  ])("the member %j is rejected by its name, and nothing is sent", async (more, param) => {
    const sent = await sentDuring(async () => {
      const { status, error } = await chat(more)
      expect([status, error.param]).toEqual([400, param])
    })
    expect(sent).toEqual([])
  })

  test("a member that selects a model inside the provider is rejected in a large request too", async () => {
    const messages = [{ role: "user", content: "x".repeat(400_000) }]
    expect((await chat({ messages, Model: "up-dear" })).error.param).toBe("Model")
    expect((await chat({ messages, metadata: { Model: "x" }, models: ["lab/cheap"] })).status).toBe(200)
  })

  test("a member of a duplicate object is rejected in either occurrence", async () => {
    const body = `{"model":"lab/cheap","messages":[{"role":"user","content":[{"type":"file","file":{"file_id":"f"},"file":{}}]}]}`
    const headers = { authorization: `Bearer ${gateway.key}`, "content-type": "application/json" }
    const answer = await fetch(`${gateway.url}/v1/chat/completions`, { method: "POST", headers, body })
    const { error } = (await answer.json()) as { error: { param: string } }
    expect([answer.status, error.param]).toEqual([400, "messages[0].content[0].file.file_id"])
  })
})

describe("end-user identifiers", () => {
  const IDS = { user: "alice", safety_identifier: "s-1", prompt_cache_key: "cache" }

  test("end-user identifiers are salted per tenant, and the receipt keeps them as written", async () => {
    const [one, two] = [keyOf({ tenant: "one" }), keyOf({ tenant: "two" })]
    let id: string | null = null
    const sent = await sentDuring(async () => {
      id = (await chat(IDS, one)).headers.get("x-request-id")
      await chat(IDS, one)
      await chat(IDS, two)
    })
    for (const name of Object.keys(IDS)) {
      const values = sent.map((body) => String(body[name]))
      for (const value of values) expect(value).toMatch(/^trv-[\w-]{43}$/)
      expect(values[0]).toBe(values[1] ?? "")
      expect(values[0]).not.toBe(values[2] ?? "")
    }
    expect((await receipt(id, one)).facts).toMatchObject({ identifiers: IDS })
  })

  test("end-user identifiers are salted alike in another protocol, and echoed as the caller wrote them", async () => {
    const sent = await sentDuring(() =>
      post("/msgapi/v1/messages", {
        ...{ model: "lab/cheap", max_tokens: 9, messages: MESSAGES, metadata: { user_id: "alice" } },
      }),
    )
    const [direct] = await sentDuring(() => chat({ user: "alice" }))
    const named = sent.map((body) => body.safety_identifier ?? body.user)
    expect(new Set(named)).toEqual(new Set([direct?.user]))
    const client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.key, maxRetries: 0 })
    const echo: UpstreamScript = ({ body }, reply) => {
      const { user, prompt_cache_key } = JSON.parse(body.toString())
      reply.json({ id: "r", object: "response", status: "completed", output: [], user, prompt_cache_key })
    }
    let response: OpenAI.Responses.Response | undefined
    const [request] = await sentDuring(async () => {
      response = await client.responses.create({
        model: "lab/cheap",
        input: "hi",
        user: "al\u00efce",
        prompt_cache_key: "c",
      })
    }, echo)
    expect(request?.user).toMatch(/^trv-/)
    expect([response?.user, response?.prompt_cache_key]).toEqual(["al\u00efce", "c"])
  })

  test("end-user identifiers are forwarded unchanged if the operator configures that", async () => {
    const sent = await sentDuring(() => chat({ ...IDS, model: "lab/plain" }))
    expect(sent).toMatchObject([IDS])
  })
})

test("nothing is stored in the provider's account, and that is reported", async () => {
  let answer: Awaited<ReturnType<typeof chat>> | undefined
  const sent = await sentDuring(async () => {
    answer = await chat({ store: true })
  })
  expect(sent).toMatchObject([{ store: false }])
  expect(answer?.headers.get("x-gateway-losses")).toBe("1; store")
})

test("the output limit is sent in the member that the provider's entry names", async () => {
  const sent = await sentDuring(async () => {
    await chat({ model: "lab/newer", max_tokens: 7 })
    await chat({ model: "lab/plain", max_completion_tokens: 7 })
    await chat({ model: "lab/plain", max_completion_tokens: 7, max_tokens: 5 })
  })
  expect(sent.map(({ max_tokens, max_completion_tokens }) => [max_tokens, max_completion_tokens])).toEqual([
    [undefined, 7],
    [7, undefined],
    [5, undefined],
  ])
})

describe("an answer by another model than requested", () => {
  const usage = { prompt_tokens: 10, completion_tokens: 10, total_tokens: 20 }

  test.each([
    ["up-cheap-2026-01-01", "0.00002", undefined],
    ["up-unknown", "0.00002", undefined],
    ["up-dear", "0.002", "lab/dear"],
  ])("an answer that reports the model %s costs %s USD", async (model, cost, answered) => {
    let answer: Awaited<ReturnType<typeof chat>> | undefined
    await sentDuring(
      async () => {
        answer = await chat({})
      },
      (_, reply) => reply.json(completion("Hello.", { model, usage })),
    )
    expect(answer?.headers.get("x-gateway-cost")).toBe(cost)
    const { facts, as_booked } = await receipt(answer?.headers.get("x-request-id") ?? null)
    expect([(facts as Record<string, unknown>).answered_model, as_booked]).toEqual([answered, true])
  })

  test("an answer by another model is detected in a stream as well", async () => {
    let id: string | null = null
    const streamed: UpstreamScript = async (_, reply) => {
      reply.stream()
      const extra = { model: "up-dear" }
      await reply.write(chunk({ role: "assistant", content: "Hello." }, null, extra) + chunk({}, "stop", extra))
      await reply.write(chunk({}, null, { ...extra, choices: [], usage }) + DONE)
      reply.end()
    }
    await sentDuring(async () => {
      id = (await chat({ stream: true })).headers.get("x-request-id")
    }, streamed)
    expect(await receipt(id)).toMatchObject({ cost: "0.002", facts: { answered_model: "lab/dear" } })
  })
})

describe("tools that a provider runs", () => {
  const searching = { model: "lab/cheap", input: "hi", tools: [{ type: "web_search" }] }
  const search = { type: "web_search_call", status: "completed", action: { type: "search", query: "x" } }
  const page = { type: "web_search_call", status: "completed", action: { type: "open_page" } }
  const usage = { input_tokens: 0, output_tokens: 0, total_tokens: 0 }

  test("tools that a provider runs cost a fee per call, which the receipt shows", async () => {
    let answer: Awaited<ReturnType<typeof post>> | undefined
    const response = { id: "r", object: "response", status: "completed", output: [search, page, search], usage }
    await sentDuring(
      async () => {
        answer = await post("/v1/responses", searching)
      },
      (_, reply) => reply.json(response),
    )
    expect(answer?.headers.get("x-gateway-cost")).toBe("0.02")
    expect(await receipt(answer?.headers.get("x-request-id") ?? null)).toMatchObject({
      ...{ cost: "0.02", recomputed_cost: "0.02", as_booked: true },
      formula: [{ bucket: "web_search", units: 2, price: "0.01", amount: "0.02" }],
      facts: { tool_fees: [{ tool: "web_search", calls: 2, price: "0.01" }] },
    })
  })

  test("tools that a provider runs are counted by the vendor's usage, even beyond the window", async () => {
    let answer: Awaited<ReturnType<typeof post>> | undefined
    const message = {
      ...{
        id: "m",
        type: "message",
        role: "assistant",
        content: [{ type: "text", text: "x" }],
        stop_reason: "end_turn",
      },
      usage: { input_tokens: 420_000, output_tokens: 5, server_tool_use: { web_search_requests: 10 } },
    }
    await sentDuring(
      async () => {
        answer = await post("/msgapi/v1/messages", {
          ...{ model: "lab/claude", max_tokens: 9, messages: MESSAGES },
          tools: [{ type: "web_search_20250305", name: "web_search" }],
        })
      },
      (_, reply) => reply.json(message),
    )
    expect(answer?.headers.get("x-gateway-cost")).toBe("0.520005")
  })

  test("tools that a provider runs are not counted if none is allowed", async () => {
    let answer: Awaited<ReturnType<typeof post>> | undefined
    const response = { id: "r", object: "response", status: "completed", output: [search], usage }
    await sentDuring(
      async () => {
        answer = await post("/v1/responses", { model: "lab/cheap", input: "hi" })
      },
      (_, reply) => reply.json(response),
    )
    expect(answer?.headers.get("x-gateway-cost")).toBe("0")
  })
})
