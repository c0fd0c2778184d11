// Requests in the dialects of other gateways and hosts: their meaning reaches every provider, and members that a
// provider would reject are dropped and reported.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test"
import { anthropicMessage } from "../stage/anthropic-wire.ts"
import { RunningGateway } from "../stage/gateway.ts"
import { completion, type ReceivedRequest, ScriptedUpstream, type UpstreamReply } from "../stage/upstream.ts"

type DialectBody = Record<string, unknown>

let upstream: ScriptedUpstream
let gateway: RunningGateway

const config = (origin: string) => `
providers:
  openai: { base_url: "${origin}/v1", api_key: k }
  lenient: { type: openai-compatible, base_url: "${origin}/v1", api_key: k, protocols: [openai-chat] }
  second: { type: openai-compatible, base_url: "${origin}/second/v1", api_key: k, protocols: [openai-chat] }
  messages: { type: anthropic-compatible, base_url: "${origin}", api_key: k }
models:
  - { id: t/openai, reasoning: true, efforts: [low, medium, high], max_output_tokens: 50000, pricing: { input: "1", output: "2" }, targets: [{ provider: openai, model: up }] }
  - { id: t/plain, max_output_tokens: 1000, pricing: { input: "1", output: "2" }, targets: [{ provider: openai, model: up }] }
  - { id: t/lenient, max_output_tokens: 1000, pricing: { input: "1", output: "2" }, targets: [{ provider: lenient, model: up }] }
  - { id: t/claude, reasoning: true, max_output_tokens: 50000, pricing: { input: "1", output: "2" }, targets: [{ provider: messages, model: up }] }
  - { id: t/two, max_output_tokens: 1000, pricing: { input: "1", output: "2" }, targets: [{ provider: lenient, model: up, priority: 1 }, { provider: second, model: up, priority: 2 }] }
  - { id: t/draws, kind: image, pricing: { per_image: "0.01" }, targets: [{ provider: openai, model: up }] }
defaults: { image_model: t/draws }
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

const PIXEL = "iVBORw0KGgo="

function answerInKind({ path }: ReceivedRequest, reply: UpstreamReply): void {
  if (path.endsWith("/images/generations")) reply.json({ created: 1, data: [{ b64_json: PIXEL }] })
  else reply.json(path.endsWith("/messages") ? anthropicMessage("Hello.") : completion("Hello."))
}

const sent = () => JSON.parse(upstream.lastRequest().body.toString("utf8")) as DialectBody
const chat = (body: DialectBody) => gateway.chat({ messages: [{ role: "user", content: "Hi" }], ...body })
const lossesOf = (response: Response) => response.headers.get("x-gateway-losses")

describe("members of other gateways", () => {
  const habits = { transforms: ["middle-out"], usage: { include: true }, num_retries: 2, timeout: 5, drop_params: true }

  test("members of other gateways are dropped and reported if the provider rejects unknown members", async () => {
    const response = await chat({ model: "t/openai", seed: 1, ...habits })
    expect(response.status).toBe(200)
    expect(Object.keys(sent()).sort()).toEqual(["messages", "model", "seed"])
    for (const name of Object.keys(habits)) expect(lossesOf(response)).toContain(name)
  })

  test("members of other gateways pass to hosts that may know them", async () => {
    const response = await chat({ model: "t/lenient", ...habits })
    expect(sent()).toMatchObject(habits)
    expect(lossesOf(response)).toBeNull()
  })
})

describe("the reasoning effort", () => {
  const wishes: readonly (readonly [string, DialectBody, string, number | null])[] = [
    ["OpenRouter's effort", { reasoning: { effort: "high" } }, "high", null],
    ["OpenRouter's budget", { reasoning: { max_tokens: 2000 } }, "low", 2000],
    ["LiteLLM's budget", { thinking: { type: "enabled", budget_tokens: 8000 } }, "medium", 8000],
    ["Google's budget", { extra_body: { google: { thinking_config: { thinking_budget: 9000 } } } }, "medium", 9000],
    ["Google's level", { extra_body: { google: { thinking_config: { thinking_level: "HIGH" } } } }, "high", null],
  ]

  test.each(wishes)(
    "the reasoning effort as %s writes it reaches OpenAI as its own setting",
    async (_, wish, effort) => {
      const response = await chat({ model: "t/openai", ...wish })
      expect(sent()).toMatchObject({ reasoning_effort: effort })
      expect(Object.keys(sent()).sort()).toEqual(["messages", "model", "reasoning_effort"])
      expect(lossesOf(response)).toContain(Object.keys(wish)[0] ?? "")
    },
  )

  test.each(wishes)(
    "the reasoning effort as %s writes it reaches Claude as its own setting",
    async (_, wish, effort, budget) => {
      await chat({ model: "t/claude", max_tokens: 40_000, ...wish })
      const { thinking, output_config } = sent()
      if (budget === null) expect([thinking, output_config]).toMatchObject([{ type: "adaptive" }, { effort }])
      else expect(thinking).toMatchObject({ type: "enabled", budget_tokens: budget })
    },
  )

  test("the reasoning effort is not sent to a model that does not reason", async () => {
    const response = await chat({ model: "t/plain", reasoning: { effort: "high" } })
    expect(Object.keys(sent()).sort()).toEqual(["messages", "model"])
    expect(lossesOf(response)).toContain("reasoning")
  })
})

describe("an image whose URL is a plain string", () => {
  const url = `data:image/png;base64,${PIXEL}`
  const messages = [
    {
      role: "user",
      content: [
        { type: "image_url", image_url: url },
        { type: "text", text: "?" },
      ],
    },
  ]

  test.each(["t/openai", "t/lenient"])(
    "an image whose URL is a plain string reaches %s as an object",
    async (model) => {
      expect((await chat({ model, messages })).status).toBe(200)
      expect(sent().messages).toEqual([
        {
          role: "user",
          content: [
            { type: "image_url", image_url: { url } },
            { type: "text", text: "?" },
          ],
        },
      ])
    },
  )

  test("an image whose URL is a plain string reaches Claude as a block", async () => {
    await chat({ model: "t/claude", messages })
    const [turn] = sent().messages as { content: DialectBody[] }[]
    expect(turn?.content[0]).toMatchObject({ type: "image", source: { data: PIXEL } })
  })
})

test("one target is tried if fallbacks are disabled, and the next one otherwise", async () => {
  upstream.script = (request, reply) =>
    request.path.startsWith("/second") ? answerInKind(request, reply) : reply.json({}, 500)
  const alone = await chat({ model: "t/two", provider: { allow_fallbacks: false } })
  expect(alone.status).toBe(503)
  expect(upstream.requests.filter(({ path }) => path.startsWith("/second"))).toHaveLength(0)
  upstream.requests.length = 0
  expect((await chat({ model: "t/two", provider: { order: ["second"], allow_fallbacks: false } })).status).toBe(200)
  expect(upstream.requests).toHaveLength(1)
  expect((await chat({ model: "t/two" })).status).toBe(200)
})

describe("the legacy functions API", () => {
  const functions = [{ name: "f", parameters: { type: "object" } }]
  const called = { type: "tool_use", id: "toolu_1", name: "f", input: { a: 1 } }

  test("the legacy functions API is answered with a function call, whole", async () => {
    upstream.script = (_, reply) => reply.json({ ...anthropicMessage(""), content: [called], stop_reason: "tool_use" })
    const { choices } = (await (await chat({ model: "t/claude", functions })).json()) as { choices: DialectBody[] }
    expect(choices[0]).toMatchObject({
      finish_reason: "function_call",
      message: { function_call: { name: "f", arguments: '{"a":1}' } },
    })
    expect(choices[0]?.message).not.toHaveProperty("tool_calls")
  })

  test("the legacy functions API is answered with a function call, streamed", async () => {
    const event = (data: DialectBody) => `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`
    upstream.script = async (_, reply) => {
      reply.stream()
      const message = { ...anthropicMessage(""), content: [], stop_reason: null }
      await reply.write(event({ type: "message_start", message }))
      await reply.write(event({ type: "content_block_start", index: 0, content_block: { ...called, input: {} } }))
      const delta = { type: "input_json_delta", partial_json: '{"a":1}' }
      await reply.write(event({ type: "content_block_delta", index: 0, delta }))
      await reply.write(event({ type: "content_block_stop", index: 0 }))
      await reply.write(
        event({ type: "message_delta", delta: { stop_reason: "tool_use" }, usage: { output_tokens: 9 } }),
      )
      await reply.write(event({ type: "message_stop" }))
      reply.end()
    }
    const text = await (await chat({ model: "t/claude", functions, stream: true })).text()
    const choices = text
      .split("\n\n")
      .filter((frame) => frame.startsWith("data: {"))
      .flatMap(
        (frame) =>
          (JSON.parse(frame.slice(6)) as { choices: { delta: DialectBody; finish_reason: unknown }[] }).choices,
      )
    const pieces = choices.flatMap(({ delta }) => (delta.function_call as { arguments: string }) ?? [])
    expect(pieces[0]).toMatchObject({ name: "f" })
    expect(pieces.map((piece) => piece.arguments).join("")).toBe('{"a":1}')
    expect(choices.at(-1)?.finish_reason).toBe("function_call")
    expect(text).not.toContain("tool_calls")
  })

  test("the legacy functions API continues with the message that holds the result", async () => {
    const messages = [
      { role: "user", content: "Hi" },
      { role: "assistant", content: null, function_call: { name: "f", arguments: '{"a":1}' } },
      { role: "function", name: "f", content: "42" },
    ]
    expect((await chat({ model: "t/claude", functions, messages })).status).toBe(200)
    const [, call, result] = sent().messages as { content: DialectBody[] }[]
    expect(call?.content[0]).toMatchObject({ type: "tool_use", name: "f", input: { a: 1 } })
    expect(result?.content[0]).toMatchObject({ type: "tool_result", tool_use_id: call?.content[0]?.id })
    expect((await chat({ model: "t/openai", functions, messages })).status).toBe(200)
    expect(sent().messages).toEqual(messages)
  })
})

test("images are drawn by the configured model if a request names none", async () => {
  const headers = { authorization: `Bearer ${gateway.key}`, "content-type": "application/json" }
  const response = await fetch(`${gateway.url}/v1/images/generations`, {
    ...{ method: "POST", headers, body: JSON.stringify({ prompt: "a fox" }) },
  })
  expect(response.status).toBe(200)
  expect(response.headers.get("x-gateway-model")).toBe("t/draws")
})
