import { describe, expect, test } from "bun:test"
import type { JsonObject } from "../../canonical/json.ts"
import { call, clockTool, events, json, weatherInput, weatherTool, words } from "../simulator.fixture.ts"
import { createSimulator } from "../simulator.ts"

const PATH = "/v1/responses"
const hello = { model: "openai/gpt", input: "Hello" }
const tools = [weatherTool, clockTool].map(({ name, description, schema: parameters }) => {
  return { type: "function", name, description, parameters }
})

interface ResponsesItem extends JsonObject {
  id: string
  type: string
  status: string
}
interface ResponsesAnswer extends JsonObject {
  id: string
  output: ResponsesItem[]
  usage: {
    input_tokens: number
    output_tokens: number
    total_tokens: number
    input_tokens_details: { cached_tokens: number }
    output_tokens_details: { reasoning_tokens: number }
  }
}
interface ResponsesEvent extends JsonObject {
  type: string
  sequence_number: number
}

/** Members that the Open Responses suite requires of every response object. */
const REQUIRED = (
  "id object created_at completed_at status incomplete_details model previous_response_id instructions output error tools " +
  "tool_choice truncation parallel_tool_calls text top_p presence_penalty frequency_penalty top_logprobs temperature " +
  "reasoning usage max_output_tokens max_tool_calls store background service_tier metadata safety_identifier prompt_cache_key"
).split(" ")

async function stream(body: JsonObject): Promise<ResponsesEvent[]> {
  const sent = await events<ResponsesEvent>(PATH, { ...body, stream: true })
  for (const { event, data } of sent) expect(event).toBe(data?.type)
  const all = sent.flatMap(({ data }) => data ?? [])
  expect(all.map(({ sequence_number }) => sequence_number)).toEqual(all.map((_, at) => at))
  return all
}

/** The event types in order, with repetitions in a row merged. */
function order(sent: readonly ResponsesEvent[]): string[] {
  const types = sent.map(({ type }) => type.replace("response.", ""))
  return types.filter((type, at) => type !== types[at - 1])
}

test("a response object has every required member", async () => {
  const answer = await json<ResponsesAnswer>(PATH, hello)
  expect(Object.keys(answer)).toEqual(expect.arrayContaining(REQUIRED))
  expect(answer).toMatchObject({ object: "response", status: "completed", error: null, incomplete_details: null })
  expect(answer.id).toMatch(/^resp_\w+$/)
  const text = expect.stringContaining('You said: "Hello"') as unknown as string
  expect(answer.output).toMatchObject([
    {
      type: "message",
      status: "completed",
      role: "assistant",
      content: [{ type: "output_text", text, annotations: [] }],
    },
  ] as unknown as ResponsesItem[])
  const { input_tokens, output_tokens, total_tokens } = answer.usage
  expect({ input_tokens, output_tokens, total_tokens }).toEqual({
    input_tokens: 1,
    output_tokens: 29,
    total_tokens: 30,
  })
})

test("a response object repeats the settings of the request", async () => {
  const settings = {
    temperature: 0.5,
    instructions: "Be brief",
    metadata: { a: "b" },
    store: false,
    max_output_tokens: 900,
  }
  expect(await json<ResponsesAnswer>(PATH, { ...hello, ...settings, tools })).toMatchObject({
    ...settings,
    tools: tools.map((tool) => ({ ...tool, strict: true })),
  })
})

describe("the events come in order", () => {
  test("the events of a text answer come in order", async () => {
    expect(order(await stream(hello))).toEqual([
      "created",
      "in_progress",
      "output_item.added",
      "content_part.added",
      "output_text.delta",
      "output_text.done",
      "content_part.done",
      "output_item.done",
      "completed",
    ])
  })

  test("the events of reasoning with a summary and a call come in order", async () => {
    const body = { ...hello, tools, tool_choice: "required", reasoning: { effort: "low", summary: "auto" } }
    expect(order(await stream(body))).toEqual([
      "created",
      "in_progress",
      "output_item.added",
      "reasoning_summary_part.added",
      "reasoning_summary_text.delta",
      "reasoning_summary_text.done",
      "reasoning_summary_part.done",
      "output_item.done",
      "output_item.added",
      "function_call_arguments.delta",
      "function_call_arguments.done",
      "output_item.done",
      "completed",
    ])
  })

  test("the events of an answer that reached its limit come in order", async () => {
    const sent = await stream({ ...hello, max_output_tokens: 3 })
    expect(order(sent).at(-1)).toBe("incomplete")
    expect(sent.at(-1)?.response).toMatchObject({
      status: "incomplete",
      incomplete_details: { reason: "max_output_tokens" },
      output: [{ status: "incomplete", content: [{ text: "This is Trivium's" }] }],
    })
  })
})

describe("a stream", () => {
  const requests: Record<string, JsonObject> = {
    "for text": hello,
    "for two calls": { ...hello, input: "weather and clock", tools },
    "for reasoning": { ...hello, reasoning: { effort: "high", summary: "detailed" } },
    "for a schema": { ...hello, text: { format: { type: "json_schema", name: "w", schema: weatherTool.schema } } },
    "for a limit that reasoning uses up": { ...hello, reasoning: { effort: "high" }, max_output_tokens: 5 },
  }
  test.each(Object.entries(requests))("a Responses stream %s adds up to the whole response", async (_, body) => {
    const { created_at: _c, completed_at: _d, ...whole } = await json<ResponsesAnswer>(PATH, body)
    const sent = await stream(body)
    expect(sent.at(-1)?.response).toMatchObject(whole)
    expect(sent.filter(({ type }) => type === "response.output_item.done").map(({ item }) => item)).toEqual(
      whole.output as ResponsesItem[],
    )
    for (const { output_index, item } of sent.filter(({ type }) => type === "response.output_item.added")) {
      const { id } = item as ResponsesItem
      const deltas = sent
        .filter((event) => event.item_id === id && event.type.endsWith(".delta"))
        .map(({ delta }) => delta)
      const whole = sent.find((event) => event.item_id === id && /(text|arguments)\.done$/.test(event.type))
      expect(deltas.join("")).toBe(String(whole?.text ?? whole?.arguments ?? ""))
      expect(sent.filter((event) => event.item_id === id).every((event) => event.output_index === output_index)).toBe(
        true,
      )
    }
  })
})

test("parallel calls have distinct ids", async () => {
  const { output } = await json<ResponsesAnswer>(PATH, {
    ...hello,
    input: "Read the clock and the weather in Paris",
    tools,
  })
  const calls = output.filter(({ type }) => type === "function_call")
  expect(calls.length).toBeGreaterThan(1)
  expect(new Set(calls.map(({ call_id }) => call_id)).size).toBe(calls.length)
  for (const { call_id } of calls) expect(String(call_id)).toMatch(/^call_\w{24}$/)
})

test("a function call has an item id, a call id, and arguments that fit the schema", async () => {
  const { output } = await json<ResponsesAnswer>(PATH, {
    ...hello,
    tools,
    tool_choice: { type: "function", name: "get_weather" },
  })
  expect(output).toHaveLength(1)
  expect(output[0]).toMatchObject({ type: "function_call", name: "get_weather", status: "completed" })
  expect(output[0]?.id).toMatch(/^fc_/)
  expect(String(output[0]?.call_id)).toMatch(/^call_/)
  expect(JSON.parse(String(output[0]?.arguments))).toEqual(weatherInput)
})

test("a tool's output is quoted", async () => {
  const input = [
    { role: "user", content: [{ type: "input_text", text: "weather?" }] },
    { type: "function_call", call_id: "a", name: "get_weather", arguments: "{}" },
    { type: "function_call_output", call_id: "a", output: "18 degrees" },
  ]
  expect(JSON.stringify((await json<ResponsesAnswer>(PATH, { ...hello, input, tools })).output)).toContain("18 degrees")
})

test("reasoning is shown as requested: not at all, as a summary, or encrypted", async () => {
  const reasoningOf = async (body: JsonObject) => (await json<ResponsesAnswer>(PATH, { ...hello, ...body })).output[0]
  expect(await reasoningOf({})).toMatchObject({ type: "message" })
  const hidden = await reasoningOf({ reasoning: { effort: "low" } })
  expect(hidden).toEqual({
    id: expect.stringMatching(/^rs_/) as unknown as string,
    type: "reasoning",
    summary: [],
  } as unknown as ResponsesItem)
  const shown = await reasoningOf({
    reasoning: { effort: "low", summary: "auto" },
    include: ["reasoning.encrypted_content"],
  })
  expect(shown).toMatchObject({ summary: [{ type: "summary_text" }] })
  expect(String(shown?.encrypted_content).length).toBeGreaterThan(20)
  const { usage } = await json<ResponsesAnswer>(PATH, { ...hello, reasoning: { effort: "low" } })
  expect(usage.output_tokens).toBe(29 + usage.output_tokens_details.reasoning_tokens)
})

test("a long Responses prompt that is sent again is cached", async () => {
  const send = createSimulator()
  await json<ResponsesAnswer>(PATH, { ...hello, instructions: words(1100) }, send)
  const { usage } = await json<ResponsesAnswer>(PATH, { ...hello, instructions: words(1100) }, send)
  expect(usage).toMatchObject({ input_tokens: 1101, input_tokens_details: { cached_tokens: 1024 } })
})

test("a request without its input or with an unknown previous response is refused", async () => {
  const refused = async (body: JsonObject) => (await call(PATH, body)).json() as Promise<{ error: JsonObject }>
  expect((await refused({ model: "m" })).error).toMatchObject({ param: "input", code: "missing_required_parameter" })
  expect((await refused({ input: "x" })).error).toMatchObject({ param: "model" })
  const { error } = await refused({ ...hello, previous_response_id: "resp_1" })
  expect(error).toMatchObject({ code: "previous_response_not_found" })
})
