// The translate lane as a caller sees it, beyond the pairs of protocols: losses, strict requests, choice of the target,
// large requests, seals, names, files at URLs, errors.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test"
import { encloseSeal } from "../../src/canonical/chat/sealed-content.ts"
import { anthropicMessage } from "../stage/anthropic-wire.ts"
import { eventually } from "../stage/eventually.ts"
import { RunningGateway, runCommand } from "../stage/gateway.ts"
import { completion, type ReceivedRequest, ScriptedUpstream, type UpstreamReply } from "../stage/upstream.ts"

type TranslatedBody = Record<string, unknown>

let upstream: ScriptedUpstream
let gateway: RunningGateway

const config = (origin: string) => `
providers:
  chat: { type: openai-compatible, base_url: "${origin}/v1", api_key: k, protocols: [openai-chat] }
  responses: { type: openai-compatible, base_url: "${origin}/v1", api_key: k, protocols: [openai-responses] }
  openai-like: { type: openai-compatible, base_url: "${origin}/v1", api_key: k, protocols: [openai-responses, openai-chat] }
  messages: { type: anthropic-compatible, base_url: "${origin}", api_key: k }
  gemini: { type: gemini-compatible, base_url: "${origin}", api_key: k }
models:
  - { id: t/chat, max_output_tokens: 1000, pricing: { input: "1", output: "2" }, targets: [{ provider: chat, model: up }] }
  - { id: t/messages, reasoning: true, max_output_tokens: 1000, pricing: { input: "1", output: "2" }, targets: [{ provider: messages, model: up }] }
  - { id: t/both, max_output_tokens: 1000, pricing: { input: "1", output: "2" }, targets: [{ provider: messages, model: up, priority: 1 }, { provider: chat, model: up, priority: 2 }] }
  - { id: t/messages-by-chat, reasoning: true, max_output_tokens: 4000, pricing: { input: "1", output: "2" }, targets: [{ provider: chat, model: up }] }
  - { id: t/openai, max_output_tokens: 1000, pricing: { input: "1", output: "2" }, targets: [{ provider: openai-like, model: up }] }
  - { id: t/gemini, max_output_tokens: 1000, pricing: { input: "1", output: "2" }, targets: [{ provider: gemini, model: gemini-3-pro }] }
`

beforeAll(async () => {
  upstream = await ScriptedUpstream.start()
  gateway = await RunningGateway.start({ config: config(upstream.origin) })
})
beforeEach(() => {
  upstream.requests.length = 0
  upstream.script = answerInKind
})
afterAll(async () => {
  await gateway.stop()
  await upstream.stop()
})

function answerInKind({ path }: ReceivedRequest, reply: UpstreamReply): void {
  reply.json(path.endsWith("/messages") ? anthropicMessage("Hello.") : completion("Hello."))
}

const sent = () => JSON.parse(upstream.lastRequest().body.toString("utf8")) as TranslatedBody

const chat = (body: TranslatedBody, init: RequestInit = {}) =>
  gateway.chat({ messages: [{ role: "user", content: "Hi" }], ...body }, init)

function messages(body: TranslatedBody, key = gateway.key): Promise<Response> {
  return fetch(`${gateway.url}/anthropic/v1/messages`, {
    method: "POST",
    headers: { "x-api-key": key, "anthropic-version": "2023-06-01", "content-type": "application/json" },
    body: JSON.stringify({ max_tokens: 100, messages: [{ role: "user", content: "Hi" }], ...body }),
  })
}

const errorOf = async (response: Response) => ((await response.json()) as { error: TranslatedBody }).error

describe("losses", () => {
  test("a loss is named in a header by its path in the request, and counted in the log", async () => {
    const response = await messages({
      model: "t/chat",
      top_k: 5,
      system: [{ type: "text", text: "Be kind", cache_control: { type: "ephemeral" } }],
    })
    expect(response.status).toBe(200)
    expect(response.headers.get("x-gateway-losses")).toBe("2; top_k, system[0].cache_control")
    expect(sent()).not.toHaveProperty("top_k")
    await eventually(() => gateway.logged("exchange").length > 0)
    expect(gateway.logged("exchange").at(-1)).toMatchObject({
      protocol: "anthropic-messages",
      upstream_protocol: "openai-chat",
      losses: 2,
    })
  })

  test("a loss is reported by its path in the caller's request", async () => {
    const thinking = { type: "enabled", budget_tokens: 1024, display: "summarized" }
    const response = await messages({ model: "t/messages-by-chat", thinking, max_tokens: 2000 })
    const losses = "2; thinking.display, thinking.budget_tokens"
    expect(response.headers.get("x-gateway-losses")).toBe(losses)
  })

  test("no loss header is sent without a loss, nor for relayed bytes", async () => {
    for (const model of ["t/chat", "t/messages"]) {
      expect((await messages({ model })).headers.get("x-gateway-losses")).toBeNull()
    }
  })

  test("the loss header has at most 2 KiB", async () => {
    const parts = Array.from({ length: 300 }, (_, index) => ({
      type: "text",
      text: `${index}`,
      cache_control: { type: "ephemeral" },
    }))
    const response = await messages({ model: "t/chat", messages: [{ role: "user", content: parts }] })
    const losses = response.headers.get("x-gateway-losses") ?? ""
    expect(losses).toStartWith("300; messages[0].content[0].cache_control, ")
    expect(losses).toEndWith(", ...")
    expect(losses.length).toBeLessThanOrEqual(2048)
  })

  test("a serious loss is rejected by the caller's name for it, without an upstream call", async () => {
    const response = await chat({ model: "t/messages", n: 2 })
    expect(response.status).toBe(400)
    expect(await errorOf(response)).toMatchObject({
      code: "unsupported_parameter",
      param: "n",
      message: expect.stringContaining("`n`") as unknown as string,
    })
    expect(response.headers.get("x-gateway-attempts")).toBeNull()
    expect(upstream.requests).toHaveLength(0)
  })

  test("a loss in one protocol of a provider is avoided by another protocol it speaks", async () => {
    const response = await messages({ model: "t/openai", stop_sequences: ["END"] })
    expect(response.status).toBe(200)
    expect(upstream.lastRequest().path).toBe("/v1/chat/completions")
    expect(sent().stop).toEqual(["END"])
    expect(response.headers.get("x-gateway-attempts")).toBe("1")
  })

  test("a loss at one target is avoided by another target", async () => {
    const response = await chat({ model: "t/both", n: 2 })
    expect(response.status).toBe(200)
    expect(response.headers.get("x-gateway-provider")).toBe("chat")
    expect(response.headers.get("x-gateway-attempts")).toBe("1")
  })
})

describe("a strict request", () => {
  const lossy = { model: "t/messages", response_format: { type: "json_object" } }

  test("a strict request is rejected if its meaning would change, before any upstream call", async () => {
    expect((await chat(lossy)).status).toBe(200)
    upstream.requests.length = 0
    const response = await chat({ ...lossy, provider: { strict: true } })
    expect(response.status).toBe(400)
    expect(await errorOf(response)).toMatchObject({ code: "lossy_translation", param: "response_format" })
    expect(upstream.requests).toHaveLength(0)
  })

  test("a strict request is not rejected for a lost hint", async () => {
    const response = await chat({ model: "t/messages", seed: 7, provider: { strict: true } })
    expect(response.status).toBe(200)
    expect(response.headers.get("x-gateway-losses")).toBe("1; seed")
    expect(sent()).not.toHaveProperty("provider")
  })

  test("a strict key makes each of its requests strict", async () => {
    const words = ["keys", "create", "--name", "strict", "--strict", "--json", "--data", gateway.dataDir]
    const { key, strict } = JSON.parse((await runCommand(words, { folder: gateway.folder })).stdout) as TranslatedBody
    expect(strict).toBe(true)
    const response = await chat(lossy, {
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    })
    expect(await errorOf(response)).toMatchObject({ code: "lossy_translation" })
    expect(upstream.requests).toHaveLength(0)
  })
})

describe("a large request", () => {
  test("a large request is translated off the event loop, to the last character", async () => {
    const text = "naïve 🦊 ".repeat(60_000)
    const response = await messages({ model: "t/chat", messages: [{ role: "user", content: text }] })
    expect(response.status).toBe(200)
    expect(sent().messages).toEqual([{ role: "user", content: text }])
  })

  test("a large request is rejected with the same message as a small one", async () => {
    const response = await chat({
      model: "t/messages",
      n: 2,
      messages: [{ role: "user", content: "x".repeat(600_000) }],
    })
    expect(await errorOf(response)).toMatchObject({ code: "unsupported_parameter", param: "n" })
  })
})

describe("tools", () => {
  test("tool names that the provider would reject are replaced, and restored in the answer", async () => {
    const name = "mcp.files/read:all"
    upstream.script = (_, reply) => {
      const [tool] = sent().tools as { function: { name: string } }[]
      const call = { id: "c1", type: "function", function: { name: tool?.function.name, arguments: '{"a":1}' } }
      const message = { role: "assistant", content: null, tool_calls: [call] }
      reply.json(completion("", { choices: [{ index: 0, message, finish_reason: "tool_calls" }] }))
    }
    const response = await fetch(`${gateway.url}/gemini/v1beta/models/t/chat:generateContent`, {
      method: "POST",
      headers: { "x-goog-api-key": gateway.key, "content-type": "application/json" },
      body: JSON.stringify({
        contents: [{ role: "user", parts: [{ text: "Hi" }] }],
        tools: [{ functionDeclarations: [{ name, parametersJsonSchema: { type: "object" } }] }],
      }),
    })
    const [tool] = sent().tools as { function: { name: string } }[]
    expect(tool?.function.name).toMatch(/^[a-zA-Z0-9_-]{1,64}$/)
    const { candidates } = (await response.json()) as { candidates: { content: { parts: TranslatedBody[] } }[] }
    expect(candidates[0]?.content.parts[0]?.functionCall).toMatchObject({ name, args: { a: 1 } })
  })

  test("custom tools with text input become functions of one string, and text again for the caller", async () => {
    const patch = '*** Begin Patch\n"quoted" — naïve\n*** End Patch'
    upstream.script = (_, reply) =>
      reply.json(
        anthropicMessage("", {
          content: [{ type: "tool_use", id: "t1", name: "apply_patch", input: { input: patch } }],
          stop_reason: "tool_use",
        }),
      )
    const response = await fetch(`${gateway.url}/v1/responses`, {
      method: "POST",
      headers: { authorization: `Bearer ${gateway.key}`, "content-type": "application/json" },
      body: JSON.stringify({
        model: "t/messages",
        input: "Hi",
        tools: [{ type: "custom", name: "apply_patch", description: "Edits" }],
      }),
    })
    const { output } = (await response.json()) as { output: TranslatedBody[] }
    expect(output).toMatchObject([{ type: "custom_tool_call", call_id: "t1", name: "apply_patch", input: patch }])
    expect(sent().tools).toMatchObject([
      { name: "apply_patch", input_schema: { properties: { input: { type: "string" } } } },
    ])
  })
})

describe("ids of tool calls", () => {
  test("call ids that the client's protocol does not allow are replaced, and name the same call when they return", async () => {
    const called = { id: "functions.f:0", type: "function", function: { name: "f", arguments: "{}" } }
    const message = { role: "assistant", content: null, tool_calls: [called] }
    upstream.script = (_, reply) =>
      reply.json({ id: "1", choices: [{ index: 0, message, finish_reason: "tool_calls" }] })
    const tools = [{ name: "f", input_schema: { type: "object", properties: {} } }]
    const { content } = (await (await messages({ model: "t/chat", tools })).json()) as { content: TranslatedBody[] }
    const id = content[0]?.id
    expect(id).toMatch(/^[a-zA-Z0-9_-]+$/)
    upstream.script = answerInKind
    const result = { type: "tool_result", tool_use_id: id, content: "ok" }
    const turns = [
      { role: "user", content: "Hi" },
      { role: "assistant", content },
      { role: "user", content: [result] },
    ]
    await messages({ model: "t/chat", tools, messages: turns })
    expect(sent().messages).toMatchObject([{}, { tool_calls: [{ id }] }, { role: "tool", tool_call_id: id }])
  })
})

describe("seals", () => {
  const thinking = { type: "thinking", thinking: "hm", signature: "c2VhbA==" }
  const call = { type: "tool_use", id: "toolu_1", name: "f", input: {} }
  const tools = [{ type: "function", function: { name: "f", parameters: { type: "object", properties: {} } } }]
  const turn = {
    role: "assistant",
    content: null,
    tool_calls: [{ id: "toolu_1", type: "function", function: { name: "f", arguments: "{}" } }],
  }
  const again = (more: TranslatedBody) =>
    chat({
      model: "t/messages",
      tools,
      messages: [{ role: "user", content: "Hi" }, turn, { role: "tool", tool_call_id: "toolu_1", content: "ok" }],
      ...more,
    })

  test("seals that a chat client drops return to their minter with their call", async () => {
    upstream.script = (_, reply) =>
      reply.json(anthropicMessage("", { content: [thinking, call], stop_reason: "tool_use" }))
    await chat({ model: "t/messages", tools })
    upstream.script = answerInKind
    await again({})
    const [, assistant] = sent().messages as { content: TranslatedBody[] }[]
    expect(assistant?.content).toEqual([thinking, call])
  })

  test("seals are not sent to another provider", async () => {
    await again({ model: "t/chat" })
    expect(JSON.stringify(sent())).not.toContain("c2VhbA==")
  })

  test("seals in the gateway's envelope do not reach an upstream of the client's own protocol", async () => {
    upstream.script = (_, reply) => reply.json(geminiThought())
    const first = (await (
      await messages({ model: "t/gemini", thinking: { type: "enabled", budget_tokens: 1024 }, max_tokens: 2000 })
    ).json()) as { content: TranslatedBody[] }
    const envelope = JSON.stringify(first.content)
    expect(envelope).toContain("dHJ2LXNlYWw6djI7")
    upstream.script = answerInKind
    const turns = [
      { role: "user", content: "Hi" },
      { role: "assistant", content: first.content },
      { role: "user", content: "Go on" },
    ]
    const response = await messages({ model: "t/messages", messages: turns })
    expect(response.status).toBe(200)
    expect(JSON.stringify(sent())).not.toMatch(/trv-seal|dHJ2LXNlYWw/)
    expect(JSON.stringify(sent())).not.toContain("U0lHTkVE")
    expect(response.headers.get("x-gateway-losses")).toContain("messages[1]")
    upstream.script = (_, reply) => reply.json(geminiThought())
    await messages({ model: "t/gemini", messages: turns })
    expect(JSON.stringify(sent())).toContain("U0lHTkVE")
  })

  const geminiThought = () => ({
    candidates: [
      {
        index: 0,
        finishReason: "STOP",
        content: {
          role: "model",
          parts: [{ text: "hm", thought: true, thoughtSignature: "U0lHTkVE" }, { text: "Hello." }],
        },
      },
    ],
    usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 },
  })
})

describe("a file at a URL", () => {
  const content = [{ type: "document", source: { type: "url", url: "http://127.0.0.1:9/a.pdf" } }]
  const ask = () => messages({ model: "t/chat", messages: [{ role: "user", content }] })

  test("a file at a URL is rejected if the provider does not fetch it", async () => {
    const response = await ask()
    expect(response.status).toBe(400)
    expect(await errorOf(response)).toMatchObject({ code: "unsupported_parameter" })
    expect(upstream.requests).toHaveLength(0)
  })

  test("a file at a URL is fetched by the gateway if configured, but never from an internal address", async () => {
    const fetching = await RunningGateway.start({ config: `${config(upstream.origin)}\nmedia: { fetch: true }\n` })
    try {
      const response = await fetch(`${fetching.url}/anthropic/v1/messages`, {
        method: "POST",
        headers: { "x-api-key": fetching.key, "anthropic-version": "2023-06-01", "content-type": "application/json" },
        body: JSON.stringify({
          model: "t/chat",
          max_tokens: 100,
          messages: [
            { role: "user", content: [{ type: "document", source: { type: "url", url: `${upstream.origin}/a.pdf` } }] },
          ],
        }),
      })
      expect(response.status).toBe(400)
      expect((await errorOf(response)).message).toContain("its port is not a standard web port")
      expect(upstream.requests).toHaveLength(0)
    } finally {
      await fetching.stop()
    }
  })
})

describe("an upstream's error", () => {
  test("an upstream's error has the client's shape, whatever protocol it arrived in", async () => {
    upstream.script = (_, reply) =>
      reply.json(
        { error: { message: "too long", type: "invalid_request_error", code: "context_length_exceeded" } },
        400,
      )
    const response = await messages({ model: "t/chat" })
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({ type: "error", error: { code: "context_length_exceeded" } })
  })

  test("a temporary upstream error falls back to a target of another protocol", async () => {
    upstream.script = (request, reply) =>
      request.path.endsWith("/messages")
        ? reply.json({ type: "error", error: { type: "overloaded_error", message: "busy" } }, 529)
        : answerInKind(request, reply)
    const response = await chat({ model: "t/both" })
    expect(response.status).toBe(200)
    expect(response.headers.get("x-gateway-provider")).toBe("chat")
  })

  test("an upstream's error with status 200 is an error", async () => {
    upstream.script = (_, reply) => reply.json({ error: { message: "no", type: "server_error" } })
    expect((await messages({ model: "t/chat" })).status).toBe(503)
    upstream.script = (_, reply) => reply.raw("<html>", { "content-type": "text/html" })
    expect((await messages({ model: "t/chat" })).status).toBe(503)
  })
})

const PASSAGE = {
  type: "search_result",
  source: "https://kb.example/foxes",
  title: "Foxes",
  content: [
    { type: "text", text: "Foxes are omnivores." },
    { type: "text", text: "They live in dens." },
  ],
  citations: { enabled: true },
}

describe.each(["t/chat", "t/openai", "t/gemini"])("search results of a Messages client, to %s", (model) => {
  const expected = "Title: Foxes\\nSource: https://kb.example/foxes\\n\\nFoxes are omnivores.\\nThey live in dens."

  test("search results become text with title and source, in a prompt and in a tool result", async () => {
    upstream.script = (_, reply) => reply.json({}, 500)
    const calls = { role: "assistant", content: [{ type: "tool_use", id: "toolu_1", name: "find", input: {} }] }
    const found = { role: "user", content: [{ type: "tool_result", tool_use_id: "toolu_1", content: [PASSAGE] }] }
    const tools = [{ name: "find", input_schema: { type: "object" } }]
    const question = { role: "user", content: [PASSAGE, { type: "text", text: "What do foxes eat?" }] }
    await messages({ model, tools, messages: [question, calls, found] })
    const body = upstream.lastRequest().body.toString("utf8")
    expect(body.split(expected)).toHaveLength(3)
  })

  test("documents made of blocks become text as well", async () => {
    upstream.script = (_, reply) => reply.json({}, 500)
    const source = { type: "content", content: PASSAGE.content }
    const response = await messages({
      model,
      messages: [{ role: "user", content: [{ type: "document", title: "Foxes", source }] }],
    })
    expect(upstream.lastRequest().body.toString("utf8")).toContain(
      "Title: Foxes\\nFoxes are omnivores.\\nThey live in dens.",
    )
    expect(response.headers.get("x-gateway-losses")).toBeNull()
  })
})

test("a search result stays a block in its own protocol, even if the request is translated", async () => {
  const thinking = {
    type: "thinking",
    thinking: "hm",
    signature: encloseSeal({ mintedBy: "another", data: "c2VhbA==" }),
  }
  const turns = [
    { role: "user", content: [PASSAGE] },
    { role: "assistant", content: [thinking, { type: "text", text: "Yes." }] },
    { role: "user", content: "Go on." },
  ]
  await messages({ model: "t/messages", messages: turns })
  expect((sent().messages as { content: unknown[] }[])[0]?.content).toEqual([PASSAGE])
})
