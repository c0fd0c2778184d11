// OpenAI's own client library over responses against a gateway without any configuration, the same in each of its
// versions.
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import type OpenAI from "openai"
import { RunningGateway } from "../stage/gateway.ts"
import { VERSIONS } from "./client-versions.ts"
import { fits, TEXT_FORMAT } from "./parseable.ts"
import { PNG } from "./pictures.ts"

type DemoResponseParams = OpenAI.Responses.ResponseCreateParamsNonStreaming

const MODEL = "openai/gpt-5"

let gateway: RunningGateway

beforeAll(async () => {
  gateway = await RunningGateway.start()
})
afterAll(() => gateway.stop())

function hello(input: string, members: Partial<DemoResponseParams> = {}): DemoResponseParams {
  return { model: MODEL, input, ...members }
}

const WEATHER = {
  type: "function",
  name: "get_weather",
  description: "The weather at a place.",
  strict: false,
  parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
} satisfies OpenAI.Responses.FunctionTool
const CLOCK = {
  type: "function",
  name: "read_clock",
  description: "The time of day.",
  strict: false,
  parameters: { type: "object", properties: {} },
} satisfies OpenAI.Responses.FunctionTool
const tools = [CLOCK, WEATHER]

const ASK_WEATHER = hello("How is the weather in Oslo?")

/** The one function call of a response. */
function callIn({ output }: Pick<OpenAI.Responses.Response, "output">): OpenAI.Responses.ResponseFunctionToolCall {
  const [call, ...others] = output.filter((item) => item.type === "function_call")
  expect(others).toEqual([])
  if (!call) throw new Error("no function was called")
  return call
}

for (const version of VERSIONS) {
  describe(version.name, () => {
    let client: OpenAI

    beforeAll(() => {
      client = new version.OpenAI({ apiKey: gateway.key, baseURL: `${gateway.url}/v1`, maxRetries: 0 })
    })

    const eventsOf = async (params: DemoResponseParams) => {
      const events: OpenAI.Responses.ResponseStreamEvent[] = []
      for await (const event of await client.responses.create({ ...params, stream: true })) events.push(event)
      return events
    }

    describe("responses", () => {
      test("an answer has the requested model and repeats the prompt", async () => {
        const response = await client.responses.create(hello("Good morning!"))
        expect(response).toMatchObject({ object: "response", status: "completed", model: MODEL, error: null })
        expect(response.id).toMatch(/^resp_/)
        expect(response.output_text).toContain("Good morning!")
      })

      test("items, instructions and earlier turns are processed and counted", async () => {
        const bare = await client.responses.create(hello("And now?"))
        const response = await client.responses.create({
          model: MODEL,
          instructions: "Answer in one sentence.",
          input: [
            { role: "user", content: "One?" },
            { role: "assistant", content: "Two." },
            { type: "message", role: "user", content: [{ type: "input_text", text: "And now?" }] },
          ],
        })
        expect(response.output_text).toContain("And now?")
        expect(response.usage?.input_tokens).toBeGreaterThan(bare.usage?.input_tokens ?? Number.POSITIVE_INFINITY)
      })

      test("usage counts input and output and adds up", async () => {
        const { usage } = await client.responses.create(hello("One two three four five."))
        if (!usage) throw new Error("no usage")
        expect(usage.input_tokens).toBeGreaterThanOrEqual(5)
        expect(usage.total_tokens).toBe(usage.input_tokens + usage.output_tokens)
        expect(usage.input_tokens_details.cached_tokens).toBe(0)
      })

      test("the token limit makes a response incomplete, with the reason", async () => {
        const response = await client.responses.create(hello("hi", { max_output_tokens: 16 }))
        expect(response).toMatchObject({
          status: "incomplete",
          incomplete_details: { reason: "max_output_tokens" },
          usage: { output_tokens: 16 },
        })
        expect(response.output_text).toMatch(/\S/)
      })

      test("an image in the request is processed", async () => {
        const content = [
          { type: "input_text" as const, text: "What is this?" },
          { type: "input_image" as const, detail: "low" as const, image_url: `data:image/png;base64,${PNG}` },
        ]
        const response = await client.responses.create({ model: MODEL, input: [{ role: "user", content }] })
        expect(response.output_text).toContain("You showed an image")
      })

      test("a response states whether it is stored", async () => {
        for (const store of [true, false]) {
          expect(await client.responses.create(hello("hi", { store }))).toMatchObject({ store })
        }
      })
    })

    describe("reasoning", () => {
      const reasoning = { effort: "low", summary: "auto" } as const

      test("reasoning is returned as an item before the message, and is counted", async () => {
        const response = await client.responses.create(hello("hi", { reasoning }))
        expect(response.output.map(({ type }) => type)).toEqual(["reasoning", "message"])
        expect(response.output[0]).toMatchObject({
          summary: [{ type: "summary_text", text: expect.stringMatching(/\S/) }],
        })
        expect(response.usage?.output_tokens_details.reasoning_tokens).toBeGreaterThan(0)
      })

      test("reasoning is returned encrypted if requested, and accepted back", async () => {
        const request = hello("hi", { reasoning, include: ["reasoning.encrypted_content"], store: false })
        const response = await client.responses.create(request)
        const [thought] = response.output
        if (thought?.type !== "reasoning") throw new Error("no reasoning")
        expect(thought.encrypted_content).toMatch(/\S/)
        const input = [...response.output, { role: "user" as const, content: "Go on." }]
        const next = await client.responses.create({ ...request, input } as DemoResponseParams)
        expect(next.output_text).toContain("Go on.")
      })

      test("reasoning is not encrypted if that is not requested", async () => {
        const response = await client.responses.create(hello("hi", { reasoning, store: false }))
        expect(response.output[0]).not.toHaveProperty("encrypted_content")
      })

      test("reasoning is streamed as a summary", async () => {
        const events = await eventsOf(hello("hi", { reasoning }))
        const summary = events
          .map((event) => (event.type === "response.reasoning_summary_text.delta" ? event.delta : ""))
          .join("")
        const whole = await client.responses.create(hello("hi", { reasoning }))
        expect(whole.output[0]).toMatchObject({ summary: [{ text: summary }] })
      })
    })

    describe("streams", () => {
      test("the events of one response are numbered and in the vendor's order", async () => {
        const events = await eventsOf(hello("hi"))
        expect(events.map(({ sequence_number }) => sequence_number)).toEqual(events.map((_, index) => index))
        const types = events.map(({ type }) => type).filter((type, index, all) => type !== all[index - 1])
        expect(types).toEqual([
          "response.created",
          "response.in_progress",
          "response.output_item.added",
          "response.content_part.added",
          "response.output_text.delta",
          "response.output_text.done",
          "response.content_part.done",
          "response.output_item.done",
          "response.completed",
        ])
        const ids = events.flatMap((event) => ("response" in event ? [event.response.id] : []))
        expect(new Set(ids).size).toBe(1)
      })

      test("the stream helper's final response is the one a unary call gets", async () => {
        const whole = await client.responses.create(hello("hi"))
        const pieces: string[] = []
        const stream = client.responses.stream(hello("hi") as never)
        stream.on("response.output_text.delta", ({ delta }) => void pieces.push(delta))
        const response = await stream.finalResponse()
        expect(response).toMatchObject({
          status: "completed",
          model: MODEL,
          usage: whole.usage as object,
        })
        expect(response.output).toMatchObject(whole.output)
        expect(pieces.length).toBeGreaterThan(5)
        expect(pieces.join("")).toBe(whole.output_text)
      })

      test("a limit ends a stream as incomplete", async () => {
        const last = (await eventsOf(hello("hi", { max_output_tokens: 16 }))).at(-1)
        expect(last).toMatchObject({
          type: "response.incomplete",
          response: { status: "incomplete", incomplete_details: { reason: "max_output_tokens" } },
        })
      })
    })

    describe("tools", () => {
      test("the simulator calls the tool that matches the prompt, with arguments valid by its schema", async () => {
        const response = await client.responses.create({ ...ASK_WEATHER, tools })
        const call = callIn(response)
        expect(call).toMatchObject({
          name: "get_weather",
          status: "completed",
          call_id: expect.stringMatching(/^call_/),
        })
        expect(JSON.parse(call.arguments)).toEqual({ city: expect.any(String) })
      })

      test("the simulator calls no tool if none matches or none is allowed", async () => {
        const idle = [
          { ...hello("hi"), tools },
          { ...ASK_WEATHER, tools, tool_choice: "none" as const },
        ]
        for (const params of idle) {
          const { output } = await client.responses.create(params)
          expect(output.map(({ type }) => type)).toEqual(["message"])
        }
      })

      test("a forced tool is called for any prompt", async () => {
        const forced = { type: "function", name: "read_clock" } as const
        const response = await client.responses.create({ ...ASK_WEATHER, tools, tool_choice: forced })
        expect(callIn(response)).toMatchObject({ name: "read_clock", arguments: "{}" })
      })

      test("streamed arguments are accumulated into the call", async () => {
        const response = await client.responses.stream({ ...ASK_WEATHER, tools } as never).finalResponse()
        const whole = callIn(await client.responses.create({ ...ASK_WEATHER, tools }))
        expect(callIn(response)).toMatchObject({ ...whole })
      })

      test("a returned tool result is answered with text", async () => {
        const called = await client.responses.create({ ...ASK_WEATHER, tools })
        const { call_id } = callIn(called)
        const answered = await client.responses.create({
          model: MODEL,
          tools,
          input: [
            { role: "user", content: "How is the weather in Oslo?" },
            ...(called.output as OpenAI.Responses.ResponseInput),
            { type: "function_call_output", call_id, output: "Snow, -3 °C." },
          ],
        })
        expect(answered.output_text).toContain("Snow, -3 °C.")
      })

      test("a coding agent's request with all of its members is answered", async () => {
        const request = {
          model: MODEL,
          instructions: "You are a coding agent.",
          input: [
            { type: "message", role: "developer", id: "msg_1", content: [{ type: "input_text", text: "Be brief." }] },
            {
              type: "message",
              role: "user",
              id: "msg_2",
              content: [{ type: "input_text", text: "How is the weather in Oslo?" }],
            },
          ],
          tools: [
            ...tools,
            { type: "namespace", name: "mcp__files", description: "Files.", tools: [CLOCK] },
            { type: "custom", name: "apply_patch", description: "Edits.", format: { type: "text" } },
            { type: "web_search", external_web_access: false },
          ],
          tool_choice: "auto",
          parallel_tool_calls: true,
          reasoning: { effort: "medium", summary: "auto" },
          store: false,
          include: ["reasoning.encrypted_content"],
          prompt_cache_key: "0199a213-81c0-7800-8aa1-bbab2a035a53",
          client_metadata: { "x-codex-installation-id": "1" },
        } as unknown as DemoResponseParams
        expect(callIn(await client.responses.create(request)).name).toBe("get_weather")
        const events = await eventsOf(request)
        expect(events.at(-1)?.type).toBe("response.completed")
      })
    })

    describe("structured output", () => {
      test("the parse helper returns a value that is valid by the schema", async () => {
        const response = await client.responses.parse({ ...hello("hi"), text: { format: TEXT_FORMAT } })
        expect(response.output_parsed).toSatisfy(fits)
      })

      test("the stream helper returns the structured output", async () => {
        const stream = client.responses.stream({ ...hello("hi"), text: { format: TEXT_FORMAT } } as never)
        expect((await stream.finalResponse()).output_parsed).toSatisfy(fits)
      })
    })
  })
}
