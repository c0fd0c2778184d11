import { describe, expect, test } from "bun:test"
import type { JsonObject } from "../../canonical/json.ts"
import { call, clockTool, events, json, weatherInput, weatherTool, words } from "../simulator.fixture.ts"
import { createSimulator } from "../simulator.ts"

const PATH = "/v1/messages"
const hello = { model: "anthropic/claude", max_tokens: 500, messages: [{ role: "user", content: "Hello" }] }
const tools = [weatherTool, clockTool].map(({ name, description, schema }) => ({
  name,
  description,
  input_schema: schema,
}))

interface MessagesBlock extends JsonObject {
  type: string
}
interface MessagesUsage {
  input_tokens: number
  cache_creation_input_tokens: number
  cache_read_input_tokens: number
  cache_creation?: { ephemeral_5m_input_tokens: number; ephemeral_1h_input_tokens: number }
  output_tokens: number
}
interface MessagesMessage {
  id: string
  content: MessagesBlock[]
  stop_reason: string | null
  stop_sequence: string | null
  usage: MessagesUsage
}
interface MessagesEvent {
  type: string
  index: number
  message: MessagesMessage
  content_block: MessagesBlock
  delta: JsonObject
  usage: MessagesUsage
}

async function stream(body: JsonObject): Promise<MessagesEvent[]> {
  const sent = await events<MessagesEvent>(`${PATH}?beta=true`, { ...body, stream: true })
  for (const { event, data } of sent) expect(event).toBe(data?.type)
  return sent.flatMap(({ data }) => data ?? [])
}

/** Joins the events into one message. */
function fold(sent: readonly MessagesEvent[]): MessagesMessage {
  let message: MessagesMessage | undefined
  const blocks: (MessagesBlock & { json?: string })[] = []
  for (const event of sent) {
    if (event.type === "message_start") message = event.message
    if (event.type === "content_block_start") blocks[event.index] = event.content_block
    if (event.type === "content_block_delta") {
      const { type: _, partial_json, ...delta } = event.delta
      const block = blocks[event.index] ?? { type: "" }
      const grown = Object.entries(delta).map(([name, text]) => [name, `${block[name]}${text}`])
      const json = partial_json === undefined ? {} : { json: `${block.json ?? ""}${partial_json}` }
      blocks[event.index] = { ...block, ...Object.fromEntries(grown), ...json }
    }
    if (event.type === "message_delta" && message) {
      message = { ...message, ...event.delta, usage: { ...message.usage, ...event.usage } }
    }
  }
  if (!message) throw new Error("no message")
  const content = blocks.map(({ json, ...block }) =>
    json === undefined ? block : { ...block, input: JSON.parse(json) },
  )
  return { ...message, content }
}

test("a simulated message has Anthropic's shape", async () => {
  expect(await json<JsonObject>(PATH, hello)).toEqual({
    model: "anthropic/claude",
    id: expect.stringMatching(/^msg_01\w+$/) as unknown as string,
    type: "message",
    role: "assistant",
    content: [{ type: "text", text: expect.stringContaining('"Hello"') as unknown as string }],
    stop_reason: "end_turn",
    stop_sequence: null,
    stop_details: null,
    usage: {
      input_tokens: 1,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: 0,
      cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 0 },
      output_tokens: 30,
      service_tier: "standard",
    },
  })
})

test("the events of a simulated message come in Anthropic's order", async () => {
  const sent = await stream({ ...hello, max_tokens: 2 })
  expect(sent as unknown[]).toEqual([
    {
      type: "message_start",
      message: {
        ...(await json<JsonObject>(PATH, { ...hello, max_tokens: 2 })),
        content: [],
        stop_reason: null,
        usage: expect.objectContaining({ input_tokens: 1, output_tokens: 0 }) as unknown as JsonObject,
      },
    },
    { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
    { type: "ping" },
    { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "This" } },
    { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: " is" } },
    { type: "content_block_stop", index: 0 },
    {
      type: "message_delta",
      delta: { stop_reason: "max_tokens", stop_sequence: null, stop_details: null },
      usage: { input_tokens: 1, cache_creation_input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 2 },
    },
    { type: "message_stop" },
  ])
})

describe("a stream", () => {
  const requests: Record<string, JsonObject> = {
    "for text": hello,
    "for thinking": { ...hello, thinking: { type: "enabled", budget_tokens: 1024 } },
    "for thinking that is not shown": { ...hello, thinking: { type: "adaptive", display: "omitted" } },
    "for thinking and a tool": { ...hello, thinking: { type: "adaptive" }, tools, tool_choice: { type: "any" } },
    "for two tools": { ...hello, tools, messages: [{ role: "user", content: "weather and clock" }] },
    "for a schema": { ...hello, output_config: { format: { type: "json_schema", schema: weatherTool.schema } } },
    "for a stop sequence": { ...hello, stop_sequences: ["simulator"] },
    "for an empty answer": { ...hello, stop_sequences: ["This"] },
  }
  test.each(Object.entries(requests))("a streamed message %s adds up to the whole message", async (_, body) => {
    const whole = await json<MessagesMessage>(PATH, body)
    expect(fold(await stream(body))).toEqual(whole)
  })
})

test("thinking comes first, with its signature, and counts as output", async () => {
  const { content, usage } = await json<MessagesMessage>(PATH, {
    ...hello,
    thinking: { type: "enabled", budget_tokens: 1024 },
  })
  expect(content.map(({ type }) => type)).toEqual(["thinking", "text"])
  expect(String(content[0]?.signature).length).toBeGreaterThan(20)
  expect(usage.output_tokens).toBeGreaterThan(30)
})

describe("tools", () => {
  const one = { type: "tool_use", name: "get_weather", input: weatherInput }
  const choices: Record<string, JsonObject> = {
    "one that fits": { messages: [{ role: "user", content: "How is the weather?" }] },
    "one that is named": { tool_choice: { type: "tool", name: "get_weather" } },
    "any, one at a time": {
      tool_choice: { type: "any", disable_parallel_tool_use: true },
      messages: [{ role: "user", content: "weather and clock" }],
    },
  }
  test.each(Object.entries(choices))("%s is called", async (_, body) => {
    const { content, stop_reason } = await json<MessagesMessage>(PATH, { ...hello, tools, ...body })
    expect(stop_reason).toBe("tool_use")
    expect(content).toMatchObject([one])
    expect(String(content[0]?.id)).toMatch(/^toolu_01\w+$/)
  })

  test("the simulator quotes tool results, whatever else the turn contains", async () => {
    const messages = [
      { role: "user", content: "weather?" },
      { role: "assistant", content: [{ type: "tool_use", id: "toolu_1", name: "get_weather", input: {} }] },
      {
        role: "user",
        content: [
          { type: "tool_result", tool_use_id: "toolu_1", content: [{ type: "text", text: "18 degrees" }] },
          { type: "text", text: "A reminder about the weather." },
        ],
      },
    ]
    const { content } = await json<MessagesMessage>(PATH, { ...hello, tools, messages })
    expect(content).toMatchObject([
      { type: "text", text: expect.stringContaining('"18 degrees"') as unknown as string },
    ])
  })

  test("a tool choice that names an undeclared tool is refused in Anthropic's shape", async () => {
    expect((await call(PATH, { ...hello, tools, tool_choice: { type: "tool", name: "x" } })).status).toBe(400)
  })
})

test("a message that a stop sequence ended names the sequence", async () => {
  const { content, stop_reason, stop_sequence } = await json<MessagesMessage>(PATH, {
    ...hello,
    stop_sequences: ["simulator"],
  })
  expect({ content, stop_reason, stop_sequence }).toEqual({
    content: [{ type: "text", text: "This is Trivium's " }],
    stop_reason: "stop_sequence",
    stop_sequence: "simulator",
  })
})

test("marked content is written to the cache once and read afterwards, and is not counted as input", async () => {
  const send = createSimulator()
  const cache_control = { type: "ephemeral" }
  const body = { ...hello, system: [{ type: "text", text: words(40), cache_control }], tools }
  const usage = async () => (await json<MessagesMessage>(PATH, body, send)).usage
  const first = await usage()
  const cachedTokens = first.cache_creation_input_tokens
  expect(cachedTokens).toBeGreaterThan(40)
  expect(first).toMatchObject({ input_tokens: 1, cache_read_input_tokens: 0 })
  expect(first.cache_creation).toEqual({ ephemeral_5m_input_tokens: cachedTokens, ephemeral_1h_input_tokens: 0 })
  expect(await usage()).toMatchObject({
    input_tokens: 1,
    cache_read_input_tokens: cachedTokens,
    cache_creation_input_tokens: 0,
  })
  const counted = await json<{ input_tokens: number }>(`${PATH}/count_tokens`, body, send)
  expect(counted).toEqual({ input_tokens: cachedTokens + 1 })
})

test("a cache mark on the request itself caches all of it, for an hour if requested", async () => {
  const { usage } = await json<MessagesMessage>(PATH, { ...hello, cache_control: { type: "ephemeral", ttl: "1h" } })
  expect(usage).toMatchObject({ input_tokens: 0, cache_creation: { ephemeral_1h_input_tokens: 1 } })
})

describe("a request that lacks something is refused in Anthropic's shape", () => {
  const lacking: Record<string, [string, JsonObject]> = {
    "model: Field required": [PATH, { max_tokens: 1, messages: hello.messages }],
    "max_tokens: Field required": [PATH, { model: "m", messages: hello.messages }],
    "messages: Field required": [`${PATH}/count_tokens`, { model: "m" }],
  }
  test.each(Object.entries(lacking))("an incomplete messages request is refused: %s", async (message, [path, body]) => {
    const response = await call(path, body)
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({ type: "error", error: { type: "invalid_request_error", message } })
  })
})
