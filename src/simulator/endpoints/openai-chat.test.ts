import { describe, expect, test } from "bun:test"
import type { JsonObject } from "../../canonical/json.ts"
import { call, clockTool, events, json, weatherInput, weatherTool, words } from "../simulator.fixture.ts"
import { createSimulator } from "../simulator.ts"

const PATH = "/chat/completions"
const hello = { model: "openai/gpt", messages: [{ role: "user", content: "Hello" }] }
const tools = [weatherTool, clockTool].map(({ name, description, schema: parameters }) => {
  return { type: "function", function: { name, description, parameters } }
})

interface CompletionCall {
  id: string
  type: string
  function: { name: string; arguments: string }
}
interface CompletionMessage {
  role: string
  content: string | null
  refusal: null
  reasoning_content?: string
  tool_calls?: CompletionCall[]
}
interface CompletionUsage {
  prompt_tokens: number
  completion_tokens: number
  total_tokens: number
  prompt_tokens_details: { cached_tokens: number }
  completion_tokens_details: { reasoning_tokens: number }
}
interface ChatCompletion {
  id: string
  choices: { index: number; message: CompletionMessage; finish_reason: string }[]
  usage: CompletionUsage
}
interface CompletionDelta extends Omit<Partial<CompletionMessage>, "tool_calls"> {
  tool_calls?: (Partial<CompletionCall> & { index: number })[]
}
interface CompletionChunk {
  id: string
  object: string
  choices: { index: number; delta: CompletionDelta; finish_reason: string | null }[]
  usage?: CompletionUsage | null
}

/** Joins the chunks into a whole completion. */
function fold(chunks: readonly (CompletionChunk | undefined)[]): Pick<ChatCompletion, "choices" | "usage"> {
  const choices: ChatCompletion["choices"] = []
  let usage: CompletionUsage | undefined
  for (const chunk of chunks) {
    if (chunk?.usage) usage = chunk.usage
    for (const { index, delta, finish_reason } of chunk?.choices ?? []) {
      choices[index] ??= {
        index,
        message: { role: delta.role ?? "", content: delta.content ?? null, refusal: null },
        finish_reason: "",
      }
      const choice = choices[index]
      const { message } = choice
      if (delta.content) message.content = (message.content ?? "") + delta.content
      if (delta.reasoning_content)
        message.reasoning_content = (message.reasoning_content ?? "") + delta.reasoning_content
      for (const { index: at, id = "", type = "", function: called } of delta.tool_calls ?? []) {
        message.tool_calls ??= []
        message.tool_calls[at] ??= { id, type, function: { name: called?.name ?? "", arguments: "" } }
        message.tool_calls[at].function.arguments += called?.arguments ?? ""
      }
      if (finish_reason) choice.finish_reason = finish_reason
    }
  }
  if (!usage) throw new Error("no usage")
  return { choices, usage }
}

test("a simulated completion has OpenAI's shape", async () => {
  const answer = await json<JsonObject>(PATH, hello)
  const anyText = expect.any(String) as unknown as string
  expect(answer).toEqual({
    id: expect.stringMatching(/^chatcmpl-\w+$/) as unknown as string,
    object: "chat.completion",
    created: expect.any(Number) as unknown as number,
    model: "openai/gpt",
    service_tier: "default",
    system_fingerprint: expect.stringMatching(/^fp_/) as unknown as string,
    choices: [
      {
        index: 0,
        message: { role: "assistant", content: anyText, refusal: null, annotations: [] },
        logprobs: null,
        finish_reason: "stop",
      },
    ],
    usage: {
      prompt_tokens: 1,
      completion_tokens: 29,
      total_tokens: 30,
      prompt_tokens_details: { cached_tokens: 0, audio_tokens: 0 },
      completion_tokens_details: {
        reasoning_tokens: 0,
        audio_tokens: 0,
        accepted_prediction_tokens: 0,
        rejected_prediction_tokens: 0,
      },
    },
  })
})

test("a chat stream sends the role, then words, then the finish reason, then [DONE]", async () => {
  const sent = await events<CompletionChunk>(PATH, { ...hello, max_tokens: 2, stream: true })
  expect(sent.map(({ data }) => data?.choices[0])).toEqual([
    { index: 0, delta: { role: "assistant", content: "", refusal: null }, logprobs: null, finish_reason: null },
    { index: 0, delta: { content: "This" }, logprobs: null, finish_reason: null },
    { index: 0, delta: { content: " is" }, logprobs: null, finish_reason: null },
    { index: 0, delta: {}, logprobs: null, finish_reason: "length" },
    undefined,
  ] as unknown as CompletionChunk["choices"])
  expect(sent.every(({ event }) => event === undefined)).toBe(true)
  expect(sent.at(-1)?.data).toBeUndefined()
  expect(sent[0]?.data).not.toHaveProperty("usage")
  expect(new Set(sent.slice(0, -1).map(({ data }) => data?.id)).size).toBe(1)
})

test("requested stream usage is null at first, and then a chunk of its own", async () => {
  const sent = await events<CompletionChunk>(PATH, { ...hello, stream: true, stream_options: { include_usage: true } })
  const chunks = sent.slice(0, -1).map(({ data }) => data)
  expect(chunks.slice(0, -1).every((chunk) => chunk?.usage === null)).toBe(true)
  expect(chunks.at(-1)).toMatchObject({ choices: [], usage: { prompt_tokens: 1 } })
})

describe("a stream", () => {
  const requests: Record<string, JsonObject> = {
    "for text": hello,
    "for several choices": { ...hello, n: 3 },
    "for reasoning": { ...hello, reasoning_effort: "high" },
    "for a tool": { ...hello, tools, tool_choice: "required" },
    "for two tools": { ...hello, messages: [{ role: "user", content: "weather and clock" }], tools },
    "for a schema": { ...hello, response_format: { type: "json_schema", json_schema: { schema: weatherTool.schema } } },
    "for a stop sequence": { ...hello, stop: "simulator" },
    "for a limit that reasoning uses up": { ...hello, reasoning_effort: "low", max_completion_tokens: 4 },
  }
  test.each(Object.entries(requests))("a chat stream %s adds up to the whole completion", async (_, body) => {
    const whole = await json<ChatCompletion>(PATH, body)
    const sent = await events<CompletionChunk>(PATH, { ...body, stream: true, stream_options: { include_usage: true } })
    const folded = fold(sent.map(({ data }) => data))
    expect(whole).toMatchObject(folded as unknown as ChatCompletion)
    expect(whole.choices.map(({ message }) => message.tool_calls)).toEqual(
      folded.choices.map(({ message }) => message.tool_calls),
    )
    const { prompt_tokens, completion_tokens, total_tokens } = whole.usage
    expect(total_tokens).toBe(prompt_tokens + completion_tokens)
  })
})

test("several choices are streamed in parallel", async () => {
  const sent = await events<CompletionChunk>(PATH, { ...hello, n: 2, stream: true })
  expect(sent.slice(0, 4).map(({ data }) => data?.choices[0]?.index)).toEqual([0, 1, 0, 1])
})

describe("tools", () => {
  const choices: Record<string, JsonObject> = {
    "one that fits": { tools, messages: [{ role: "user", content: "How is the weather?" }] },
    "one that is named": { tools, tool_choice: { type: "function", function: { name: "get_weather" } } },
    "one of those allowed": {
      tools,
      tool_choice: {
        type: "allowed_tools",
        allowed_tools: { mode: "required", tools: [{ type: "function", function: { name: "get_weather" } }] },
      },
    },
  }
  test.each(Object.entries(choices))("%s is called", async (_, body) => {
    const { choices } = await json<ChatCompletion>(PATH, { ...hello, ...body })
    expect(choices[0]?.finish_reason).toBe("tool_calls")
    expect(choices[0]?.message.content).toBeNull()
    const [made] = choices[0]?.message.tool_calls ?? []
    expect(made).toMatchObject({ type: "function", function: { name: "get_weather" } })
    expect(made?.id).toMatch(/^call_\w+$/)
    expect(JSON.parse(made?.function.arguments ?? "")).toEqual(weatherInput)
  })

  test("tool results are quoted until the user's next message", async () => {
    const turns = [
      { role: "user", content: "weather?" },
      {
        role: "assistant",
        tool_calls: [{ id: "a", type: "function", function: { name: "get_weather", arguments: "{}" } }],
      },
      { role: "tool", tool_call_id: "a", content: "18 degrees" },
    ]
    const answered = await json<ChatCompletion>(PATH, { ...hello, tools, messages: turns })
    expect(answered.choices[0]?.message.content).toContain('"18 degrees"')
    const again = [...turns, { role: "user", content: "And the clock?" }]
    const answer = await json<ChatCompletion>(PATH, { ...hello, tools, messages: again })
    expect(answer.choices[0]?.message.tool_calls?.[0]?.function.name).toBe("read_clock")
  })

  test("a tool choice that names an undeclared tool is refused with status 400", async () => {
    const response = await call(PATH, { ...hello, tools, tool_choice: { type: "function", function: { name: "x" } } })
    expect(response.status).toBe(400)
  })
})

test("reasoning is separate from the answer and counted", async () => {
  const { choices, usage } = await json<ChatCompletion>(PATH, { ...hello, reasoning_effort: "medium" })
  expect(choices[0]?.message.reasoning_content).toContain("Hello")
  const { reasoning_tokens } = usage.completion_tokens_details
  expect(reasoning_tokens).toBeGreaterThan(0)
  expect(usage.completion_tokens).toBe(29 + reasoning_tokens)
})

test("JSON mode answers with a JSON object", async () => {
  const { choices } = await json<ChatCompletion>(PATH, { ...hello, response_format: { type: "json_object" } })
  expect(JSON.parse(choices[0]?.message.content ?? "")).toHaveProperty("message")
})

test("a long chat prompt that is sent again is cached, and still counts as input", async () => {
  const send = createSimulator()
  const long = { ...hello, messages: [{ role: "system", content: words(1500) }, ...hello.messages] }
  const first = await json<ChatCompletion>(PATH, long, send)
  const second = await json<ChatCompletion>(PATH, long, send)
  expect(first.usage).toMatchObject({ prompt_tokens: 1501, prompt_tokens_details: { cached_tokens: 0 } })
  expect(second.usage).toMatchObject({ prompt_tokens: 1501, prompt_tokens_details: { cached_tokens: 1408 } })
})

test("the user's last text is quoted, not the reminders before it, and images are mentioned", async () => {
  const content = [
    { type: "text", text: "Reminder: be kind." },
    { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } },
    { type: "text", text: "What is this?" },
  ]
  const { choices } = await json<ChatCompletion>(PATH, { ...hello, messages: [{ role: "user", content }] })
  expect(choices[0]?.message.content).toContain('You said: "What is this?". You showed an image.')
})

describe("a request that lacks something is refused in OpenAI's shape", () => {
  const lacking: Record<string, [JsonObject, string]> = {
    "the model": [{ messages: hello.messages }, "model"],
    "the messages": [{ model: "m" }, "messages"],
    "any message": [{ model: "m", messages: [] }, "messages"],
    "a positive number of choices": [{ ...hello, n: 0 }, "n"],
  }
  test.each(Object.entries(lacking))(
    "a chat request that lacks %s is refused in OpenAI's shape",
    async (_, [body, param]) => {
      const response = await call(PATH, body)
      expect(response.status).toBe(400)
      const { error } = (await response.json()) as { error: JsonObject }
      expect(error).toMatchObject({ type: "invalid_request_error", param })
    },
  )
})

describe("legacy functions", () => {
  const functions = tools.map(({ function: declared }) => declared)
  const request = { ...hello, functions, function_call: { name: weatherTool.name } }

  test("legacy functions are answered with a whole function call", async () => {
    const { choices } = await json<ChatCompletion>(PATH, request)
    const message = choices[0]?.message as unknown as { function_call: { name: string; arguments: string } }
    expect(message.function_call.name).toBe(weatherTool.name)
    expect(JSON.parse(message.function_call.arguments)).toEqual(weatherInput)
    expect(message).not.toHaveProperty("tool_calls")
    expect(choices[0]?.finish_reason).toBe("function_call")
  })

  test("legacy functions are answered with a streamed function call", async () => {
    const text = await (await call(PATH, { ...request, stream: true })).text()
    const chunks = text.split("\n\n").filter((frame) => frame.startsWith("data: {"))
    const choices = chunks.map((frame) => JSON.parse(frame.slice(6)).choices[0])
    const pieces = choices.flatMap(({ delta }) => delta.function_call ?? [])
    expect(pieces[0].name).toBe(weatherTool.name)
    expect(JSON.parse(pieces.map((piece) => piece.arguments).join(""))).toEqual(weatherInput)
    expect(choices.at(-1).finish_reason).toBe("function_call")
  })
})

describe("JSON requested in the prompt", () => {
  const schema = { type: "object", properties: { city: { type: "string" } }, required: ["city"] }
  const answerTo = async (content: string) => {
    const { choices } = await json<ChatCompletion>(PATH, { ...hello, messages: [{ role: "user", content }] })
    return choices[0]?.message.content ?? ""
  }

  test("JSON that the prompt requests is an object, of the prompt's schema if it has one", async () => {
    expect(JSON.parse(await answerTo("Name a city. Return only JSON."))).toEqual(expect.any(Object))
    const answer = JSON.parse(await answerTo(`Respond with valid JSON of this schema: ${JSON.stringify(schema)}`))
    expect(answer).toEqual({ city: expect.any(String) })
  })

  test("a prompt that only mentions JSON is answered with text", async () => {
    expect(await answerTo("What is JSON, and who invented it?")).toStartWith("This is")
  })
})
