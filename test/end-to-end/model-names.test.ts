// Model names as callers write them: in another letter case, in other gateways' spelling, with a typing error.
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { RunningGateway } from "../stage/gateway.ts"
import { ScriptedUpstream } from "../stage/upstream.ts"

const messages = [{ role: "user", content: "Hi" }]
const contents = [{ role: "user", parts: [{ text: "Hi" }] }]

/** The gateway's answer to a chat request that names this model. */
async function named(gateway: RunningGateway, model: string, key = gateway.key) {
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" }
  const response = await gateway.chat({ model, messages }, { headers })
  const body = (await response.json()) as { model?: string; error?: { code: string; message: string } }
  return { status: response.status, model: response.headers.get("x-gateway-model"), body, error: body.error }
}

async function newKey(gateway: RunningGateway, wish: object): Promise<string> {
  const body = JSON.stringify({ name: "scoped", ...wish })
  const response = await gateway.administer("/admin/v1/keys", { method: "POST", body })
  expect(response.status).toBe(201)
  return ((await response.json()) as { key: string }).key
}

describe("model names in demo mode", () => {
  let gateway: RunningGateway
  beforeAll(async () => {
    gateway = await RunningGateway.start()
  })
  afterAll(() => gateway.stop())

  test.each([
    ["OpenAI/GPT-4o", "openai/gpt-4o"],
    ["GPT-4O-MINI", "openai/gpt-4o-mini"],
    ["gemini/gemini-2.5-flash", "google/gemini-2.5-flash"],
    ["meta-llama/llama-3.3-70b-instruct", "meta/llama-3.3-70b"],
    ["meta-llama/Llama-3.3-70B-Instruct", "meta/llama-3.3-70b"],
    ["openai/gpt-4o-mini:nitro", "openai/gpt-4o-mini"],
    ["openai/gpt-4o-mini:floor", "openai/gpt-4o-mini"],
    ["OpenAI/gpt-4o-mini:NITRO", "openai/gpt-4o-mini"],
    ["meta-llama/llama-3.3-70b-instruct:floor", "meta/llama-3.3-70b"],
  ])("the name %s resolves to %s", async (name, id) => {
    const { status, model, body } = await named(gateway, name)
    expect([status, model, body.model]).toEqual([200, id, id])
  })

  test.each([
    ["gpt4o", "`openai/gpt-4o`"],
    ["openai/gpt-4o-mimi", "`openai/gpt-4o-mini`"],
    ["anthropic/claude-3.5-sonnet", "`anthropic/claude-sonnet-"],
    ["claude-3-5-sonnet-20241022", "`anthropic/claude-sonnet-"],
    ["vertex_ai/gemini-2.5-flash", "`google/gemini-2.5-flash`"],
    ["meta-llama/llama-3.3-70b-instruct:free", "The model's name is `meta/llama-3.3-70b`: no free variants"],
    ["openai/gpt-4o-mini:online", "web search tool"],
    ["openai/gpt-4o-mini:thinking", "ask for reasoning"],
  ])("the name %s is unknown, and the message contains: %s", async (name, advice) => {
    const { status, error } = await named(gateway, name)
    expect([status, error?.code]).toEqual([400, "model_not_found"])
    expect(error?.message).toContain(advice)
    expect(error?.message).toContain("GET /v1/models lists")
  })

  test("a name similar to no other gets no suggestion", async () => {
    const { error } = await named(gateway, "zzzz/qqqqqqqq")
    expect(error?.message).toBe("There is no model `zzzz/qqqqqqqq`. GET /v1/models lists the models this key can call.")
  })

  test("suggestions and resolution stay within the key's scope", async () => {
    const key = await newKey(gateway, { models: ["anthropic/*"] })
    const { error } = await named(gateway, "gpt4o", key)
    expect(error?.message).not.toContain("openai/")
    const unlisted = await named(gateway, "OPENAI/GPT-4O", key)
    expect([unlisted.status, unlisted.error?.message.includes("openai/gpt-4o`")]).toEqual([400, false])
    expect((await named(gateway, "Anthropic/Claude-Sonnet-4.5", key)).model).toBe("anthropic/claude-sonnet-4.5")
    expect((await named(gateway, "openai/gpt-4o", key)).error?.code).toBe("model_not_allowed")
  })

  test("the error names the listing of the protocol in use", async () => {
    const type = { "content-type": "application/json" }
    const headers = { ...type, authorization: `Bearer ${gateway.key}`, "anthropic-version": "2023-06-01" }
    const errorOf = async (path: string, body: object) => {
      const response = await fetch(gateway.url + path, { method: "POST", headers, body: JSON.stringify(body) })
      return ((await response.json()) as { error: { message: string } }).error.message
    }
    const message = { model: "gpt4o", max_tokens: 5, messages }
    expect(await errorOf("/anthropic/v1/messages", message)).toContain("GET /anthropic/v1/models lists")
    expect(await errorOf("/msgapi/messages", message)).toContain("GET /msgapi/")
    expect(await errorOf("/v1/messages", message)).toContain("GET /v1/models lists")
    expect(await errorOf("/gemini/v1beta/models/gpt4o:generateContent", { contents })).toContain(
      "Did you mean `openai/gpt-4o`? GET /gemini/v1beta/models lists",
    )
    expect(await errorOf("/v1beta/models/gpt4o:generateContent", { contents })).toContain("GET /v1beta/models lists")
  })

  test("an unknown fallback is named with its position and a suggestion", async () => {
    const provider = { fallback: ["openai/gpt-4o-mimi"] }
    const response = await gateway.chat({ model: "openai/gpt-4o", messages, provider })
    expect(await response.json()).toMatchObject({
      error: { param: "provider.fallback[0]", message: expect.stringContaining("Did you mean `openai/gpt-4o-mini`") },
    })
  })

  test("one model is shown under every name that calls it, and unknown names get suggestions", async () => {
    const headers = { authorization: `Bearer ${gateway.key}` }
    const shown = await fetch(`${gateway.url}/v1/models/OpenAI/GPT-4o`, { headers })
    expect(await shown.json()).toMatchObject({ id: "openai/gpt-4o" })
    const unknown = await fetch(`${gateway.url}/v1/models/openai/gpt-4o-mimi`, { headers })
    expect([unknown.status, await unknown.text()]).toEqual([404, expect.stringContaining("`openai/gpt-4o-mini`")])
  })
})

describe("model names with several hosts", () => {
  let upstream: ScriptedUpstream
  let gateway: RunningGateway
  beforeAll(async () => {
    upstream = await ScriptedUpstream.start()
    gateway = await RunningGateway.start({
      config: `
providers:
  dear: { type: openai-compatible, base_url: "${upstream.origin}/dear/v1", api_key: x }
  cheap: { type: openai-compatible, base_url: "${upstream.origin}/cheap/v1", api_key: x }
  vertex: { type: openai-compatible, base_url: "${upstream.origin}/vertex/v1", api_key: x }
models:
  - id: acme/Chat
    kind: chat
    context_window: 8192
    max_output_tokens: 1024
    targets:
      - { provider: dear, model: chat, priority: 1, pricing: { input: "9", output: "9" } }
      - { provider: cheap, model: chat, priority: 2, pricing: { input: "1", output: "1" } }
      - { provider: vertex, model: chat, priority: 3, pricing: { input: "5", output: "5" } }
  - { id: acme/TWIN, kind: chat, context_window: 8192, max_output_tokens: 1024, pricing: { input: "1", output: "1" }, targets: [{ provider: dear, model: twin }] }
  - { id: acme/twin, kind: chat, context_window: 8192, max_output_tokens: 1024, pricing: { input: "1", output: "1" }, targets: [{ provider: dear, model: twin }] }
`,
    })
  })
  afterAll(async () => {
    await gateway.stop()
    await upstream.stop()
  })

  async function planOf(model: string): Promise<{ strategy: string | null; providers: string[]; code?: string }> {
    const response = await gateway.chat({ model, messages, provider: { explain: true } })
    const plan = (await response.json()) as {
      strategy: string | null
      attempts?: { provider: string }[]
      error?: { code: string }
    }
    const providers = plan.attempts?.map(({ provider }) => provider) ?? []
    return { strategy: plan.strategy, providers, ...(plan.error && { code: plan.error.code }) }
  }

  test(":floor tries the cheapest first and :nitro the fastest, unless the request has its own routing", async () => {
    expect(await planOf("acme/Chat")).toEqual({ strategy: null, providers: ["dear", "cheap", "vertex"] })
    expect(await planOf("acme/Chat:floor")).toEqual({ strategy: "cost", providers: ["cheap", "vertex", "dear"] })
    expect((await planOf("acme/chat:nitro")).strategy).toBe("latency")
    const provider = { explain: true, routing: "quality" }
    const explicit = await gateway.chat({ model: "acme/Chat:floor", messages, provider })
    expect(await explicit.json()).toMatchObject({ strategy: "quality" })
  })

  test("another gateway's name for a host selects that host", async () => {
    expect((await planOf("vertex_ai/chat")).providers).toEqual(["vertex"])
    expect((await planOf("CHEAP/acme/chat")).providers).toEqual(["cheap"])
  })

  test("two names that differ only in case resolve exactly or not at all, unless the scope leaves one", async () => {
    expect((await planOf("acme/TWIN")).providers).toEqual(["dear"])
    expect((await planOf("acme/Twin")).code).toBe("model_not_found")
    const key = await newKey(gateway, { models: ["acme/twin"] })
    const { status, error } = await named(gateway, "acme/Twin", key)
    expect([status, error]).not.toEqual([400, expect.objectContaining({ code: "model_not_found" })])
  })
})
