// OpenAI's own client library over chat completions against a gateway without any configuration, the same in each of
// its versions.
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import type OpenAI from "openai"
import { RunningGateway } from "../stage/gateway.ts"
import { type ChatParams, VERSIONS } from "./client-versions.ts"
import { CHAT_FORMAT, fits } from "./parseable.ts"
import { PNG } from "./pictures.ts"

const MODEL = "openai/gpt-4o-mini"

let gateway: RunningGateway

beforeAll(async () => {
  gateway = await RunningGateway.start()
})
afterAll(() => gateway.stop())

function hello(content: string, members: Partial<ChatParams> = {}): ChatParams {
  return { model: MODEL, messages: [{ role: "user", content }], ...members }
}

const PARAMETERS = { type: "object", properties: { city: { type: "string" } }, required: ["city"] }
const WEATHER = {
  type: "function",
  function: { name: "get_weather", description: "The weather at a place.", parameters: PARAMETERS },
} satisfies OpenAI.Chat.Completions.ChatCompletionTool
const CLOCK = {
  type: "function",
  function: { name: "read_clock", description: "The time of day.", parameters: { type: "object", properties: {} } },
} satisfies OpenAI.Chat.Completions.ChatCompletionTool
const tools = [CLOCK, WEATHER]

const ASK_WEATHER = hello("How is the weather in Oslo?")

for (const version of VERSIONS) {
  describe(version.name, () => {
    let client: OpenAI
    let helpers: OpenAI["chat"]["completions"]

    beforeAll(() => {
      client = new version.OpenAI({ apiKey: gateway.key, baseURL: `${gateway.url}/v1`, maxRetries: 0 })
      helpers = version.helpers(client)
    })

    const ask = async (params: ChatParams) => {
      const answer = await client.chat.completions.create(params)
      const [choice] = answer.choices
      if (!choice) throw new Error("no choice")
      return { answer, choice, text: choice.message.content ?? "" }
    }

    describe("chat", () => {
      test("an answer has the requested model and repeats the prompt", async () => {
        const { answer, choice, text } = await ask(hello("Good morning!"))
        expect(answer).toMatchObject({ object: "chat.completion", model: MODEL })
        expect(choice).toMatchObject({ index: 0, finish_reason: "stop", message: { role: "assistant" } })
        expect(text).toContain("Good morning!")
      })

      test("models of other authors are called in the same way", async () => {
        for (const model of ["anthropic/claude-haiku-4.5", "google/gemini-2.5-flash"]) {
          expect((await ask(hello("hi", { model }))).answer.model).toBe(model)
        }
      })

      test("a bare name resolves to the author's model", async () => {
        expect((await ask(hello("hi", { model: "gpt-4o-mini" }))).answer.model).toBe(MODEL)
      })

      test("the headers name the simulator as the only provider, and the request id", async () => {
        const { response, request_id } = await client.chat.completions.create(hello("hi")).withResponse()
        expect(response.headers.get("x-gateway-provider")).toBe("simulator")
        expect(request_id).toMatch(/\S/)
      })

      test("usage counts input and output and adds up", async () => {
        const { usage } = (await ask(hello("One two three four five."))).answer
        if (!usage) throw new Error("no usage")
        expect(usage.prompt_tokens).toBeGreaterThanOrEqual(5)
        expect(usage.completion_tokens).toBeGreaterThan(0)
        expect(usage.total_tokens).toBe(usage.prompt_tokens + usage.completion_tokens)
      })

      test("the token limit ends an answer with the reason length", async () => {
        for (const limit of [{ max_tokens: 3 }, { max_completion_tokens: 3 }]) {
          const { answer, choice } = await ask(hello("hi", limit))
          expect(choice.finish_reason).toBe("length")
          expect(answer.usage?.completion_tokens).toBe(3)
        }
      })

      test("a stop sequence ends an answer before it", async () => {
        for (const stop of ["simulator", ["nowhere", "simulator"]]) {
          const { choice, text } = await ask(hello("hi", { stop }))
          expect(choice.finish_reason).toBe("stop")
          expect(text).not.toContain("simulator")
          expect(text).toMatch(/\S/)
        }
      })

      test("several choices are numbered and differ", async () => {
        const { answer } = await ask(hello("hi", { n: 3 }))
        expect(answer.choices.map(({ index }) => index)).toEqual([0, 1, 2])
        expect(new Set(answer.choices.map(({ message }) => message.content)).size).toBe(3)
      })

      test("an image in the request is processed", async () => {
        const url = `data:image/png;base64,${PNG}`
        const content = [
          { type: "text" as const, text: "What is this?" },
          { type: "image_url" as const, image_url: { url, detail: "low" as const } },
        ]
        const { text } = await ask({ model: MODEL, messages: [{ role: "user", content }] })
        expect(text).toContain("You showed an image")
        expect(text).toContain("What is this?")
      })

      test("requested reasoning is counted", async () => {
        const { answer } = await ask(hello("hi", { model: "openai/gpt-5", reasoning_effort: "low" }))
        expect(answer.usage?.completion_tokens_details?.reasoning_tokens).toBeGreaterThan(0)
      })
    })

    describe("streams", () => {
      test("the chunks add up to the whole answer, and the last has the finish reason", async () => {
        const chunks = []
        for await (const each of await client.chat.completions.create({ ...hello("hi"), stream: true })) {
          chunks.push(each)
        }
        expect(chunks[0]?.choices[0]?.delta.role).toBe("assistant")
        expect(chunks.map((each) => each.choices[0]?.delta.content ?? "").join("")).toBe((await ask(hello("hi"))).text)
        expect(chunks.at(-1)?.choices[0]?.finish_reason).toBe("stop")
        expect(new Set(chunks.map(({ model }) => model))).toEqual(new Set([MODEL]))
        expect(new Set(chunks.map(({ id }) => id)).size).toBe(1)
      })

      test("the stream helper's final completion is the one a unary call gets, usage included", async () => {
        const { answer } = await ask(hello("hi"))
        const stream = helpers.stream({ ...hello("hi"), stream: true, stream_options: { include_usage: true } })
        const completion = await stream.finalChatCompletion()
        expect(completion).toMatchObject({ id: answer.id, model: MODEL })
        expect(completion.choices[0]?.message.content).toBe(answer.choices[0]?.message.content ?? "")
        expect(completion.usage).toEqual(answer.usage)
      })

      test("several streamed choices are distinguished by index", async () => {
        const completion = await helpers.stream({ ...hello("hi", { n: 2 }), stream: true }).finalChatCompletion()
        const whole = (await ask(hello("hi", { n: 2 }))).answer
        expect(completion.choices.map(({ message }) => message.content)).toEqual(
          whole.choices.map(({ message }) => message.content),
        )
      })

      test("a limit ends a stream with its reason", async () => {
        const reasons = []
        const cut = { ...hello("hi", { max_tokens: 3 }), stream: true } as const
        for await (const each of await client.chat.completions.create(cut)) {
          reasons.push(each.choices[0]?.finish_reason)
        }
        expect(reasons.at(-1)).toBe("length")
      })
    })

    describe("tools", () => {
      test("the simulator calls the tool that matches the prompt, with arguments valid by its schema", async () => {
        const { choice } = await ask({ ...ASK_WEATHER, tools })
        expect(choice.finish_reason).toBe("tool_calls")
        const [call, ...others] = choice.message.tool_calls ?? []
        expect(others).toEqual([])
        if (call?.type !== "function") throw new Error("no function was called")
        expect(call.function.name).toBe("get_weather")
        expect(JSON.parse(call.function.arguments)).toEqual({ city: expect.any(String) })
      })

      test("the simulator calls no tool if none matches or none is allowed", async () => {
        expect((await ask({ ...hello("hi"), tools })).choice.finish_reason).toBe("stop")
        expect((await ask({ ...ASK_WEATHER, tools, tool_choice: "none" })).choice.finish_reason).toBe("stop")
      })

      test("a forced tool is called for any prompt", async () => {
        const forced = { type: "function", function: { name: "read_clock" } } as const
        const { choice } = await ask({ ...ASK_WEATHER, tools, tool_choice: forced })
        expect(choice.message.tool_calls).toMatchObject([{ function: { name: "read_clock", arguments: "{}" } }])
        const any = await ask({ ...hello("hi"), tools, tool_choice: "required" })
        expect(any.choice.finish_reason).toBe("tool_calls")
      })

      test("streamed arguments are accumulated into the call", async () => {
        const message = await helpers.stream({ ...ASK_WEATHER, tools, stream: true }).finalMessage()
        const whole = (await ask({ ...ASK_WEATHER, tools })).choice.message
        expect(message.tool_calls).toMatchObject(whole.tool_calls ?? [])
      })

      for (const stream of [false, true]) {
        test(`the tool runner makes both calls and ends with the answer (stream: ${stream})`, async () => {
          const cities: unknown[] = []
          const get_weather = {
            ...WEATHER.function,
            parse: JSON.parse,
            function: ({ city }: { city: string }) => {
              cities.push(city)
              return "Snow, -3 °C."
            },
          }
          const runnable = [{ type: "function" as const, function: get_weather }]
          const runner = stream
            ? helpers.runTools({ ...ASK_WEATHER, tools: runnable, stream })
            : helpers.runTools({ ...ASK_WEATHER, tools: runnable })
          expect(await runner.finalContent()).toContain("Snow, -3 °C.")
          expect(cities).toEqual([expect.any(String)])
        })
      }
    })

    describe("structured output", () => {
      test("the parse helper returns a value that is valid by the schema", async () => {
        const answer = await helpers.parse({ ...hello("hi"), response_format: CHAT_FORMAT })
        expect(answer.choices[0]?.message.parsed).toSatisfy(fits)
      })

      test("the stream helper returns the structured output", async () => {
        const stream = helpers.stream({ ...hello("hi"), response_format: CHAT_FORMAT, stream: true })
        const { parsed } = (await stream.finalMessage()) as { parsed?: unknown }
        expect(parsed).toSatisfy(fits)
      })

      test("a JSON object without a schema is still an object", async () => {
        const { text } = await ask(hello("hi", { response_format: { type: "json_object" } }))
        expect(JSON.parse(text)).toBeObject()
      })
    })
  })
}
