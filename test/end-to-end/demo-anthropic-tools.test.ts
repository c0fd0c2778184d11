// Tools and structured output through Anthropic's own client library, from a gateway without any configuration.
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import type Anthropic from "@anthropic-ai/sdk"
import { RunningGateway } from "../stage/gateway.ts"
import { ANTHROPIC_VERSIONS, hello, textOf } from "./anthropic-versions.ts"

const MODEL = "anthropic/claude-haiku-4.5"

let gateway: RunningGateway

beforeAll(async () => {
  gateway = await RunningGateway.start()
})
afterAll(() => gateway.stop())

const WEATHER_INPUT = { type: "object", properties: { city: { type: "string" } }, required: ["city"] } as const

const WEATHER = {
  name: "get_weather",
  description: "The weather at a place.",
  input_schema: { ...WEATHER_INPUT, required: ["city"] },
} satisfies Anthropic.Tool

const CLOCK = {
  name: "read_clock",
  description: "The time of day.",
  input_schema: { type: "object", properties: {} },
} satisfies Anthropic.Tool

const ASK_WEATHER = hello(MODEL, "How is the weather in Oslo?")

for (const version of ANTHROPIC_VERSIONS) {
  describe(version.name, () => {
    let client: Anthropic

    beforeAll(() => {
      client = new version.Anthropic({ apiKey: gateway.key, baseURL: `${gateway.url}/anthropic`, maxRetries: 0 })
    })

    describe("tools", () => {
      const tools = [CLOCK, WEATHER]

      test("the simulator calls the tool that matches the prompt, with input valid by its schema", async () => {
        const message = await client.messages.create({ ...ASK_WEATHER, tools })
        expect(message.stop_reason).toBe("tool_use")
        expect(message.content).toMatchObject([
          { type: "tool_use", id: expect.any(String), name: "get_weather", input: { city: expect.any(String) } },
        ])
      })

      test("the simulator calls no tool if none matches or none is allowed", async () => {
        expect((await client.messages.create({ ...hello(MODEL), tools })).stop_reason).toBe("end_turn")
        const none = { ...ASK_WEATHER, tools, tool_choice: { type: "none" } as const }
        expect((await client.messages.create(none)).stop_reason).toBe("end_turn")
      })

      test("a forced tool is called for any prompt", async () => {
        const forced = { type: "tool", name: "read_clock" } as const
        const message = await client.messages.create({ ...ASK_WEATHER, tools, tool_choice: forced })
        expect(message.content).toMatchObject([{ type: "tool_use", name: "read_clock", input: {} }])
        const any = await client.messages.create({ ...hello(MODEL), tools, tool_choice: { type: "any" } })
        expect(any.stop_reason).toBe("tool_use")
      })

      test("streamed input is accumulated into the call", async () => {
        const stream = client.messages.stream({ ...ASK_WEATHER, tools })
        const pieces: string[] = []
        stream.on("inputJson", (piece) => pieces.push(piece))
        const message = await stream.finalMessage()
        expect(message.stop_reason).toBe("tool_use")
        const [call] = message.content
        if (call?.type !== "tool_use") throw new Error("no tool was called")
        expect(JSON.parse(pieces.join(""))).toEqual(call.input)
        expect(call).toMatchObject({ name: "get_weather", input: { city: expect.any(String) } })
      })

      test("a returned tool result is answered with text", async () => {
        const called = await client.messages.create({ ...ASK_WEATHER, tools })
        const [call] = called.content
        if (call?.type !== "tool_use") throw new Error("no tool was called")
        const answered = await client.messages.create({
          ...ASK_WEATHER,
          tools,
          messages: [
            ...ASK_WEATHER.messages,
            { role: "assistant", content: called.content },
            { role: "user", content: [{ type: "tool_result", tool_use_id: call.id, content: "Snow, -3 °C." }] },
          ],
        })
        expect(answered.stop_reason).toBe("end_turn")
        expect(textOf(answered)).toContain("Snow, -3 °C.")
      })

      for (const stream of [false, true]) {
        test(`the tool runner makes both calls and ends with the answer (stream: ${stream})`, async () => {
          const cities: unknown[] = []
          const tool = version.betaTool({
            name: "get_weather",
            description: "The weather at a place.",
            inputSchema: WEATHER_INPUT,
            run: (input) => {
              cities.push(input.city)
              return "Snow, -3 °C."
            },
          })
          const message = await client.beta.messages.toolRunner({ ...ASK_WEATHER, tools: [tool], stream } as never)
          expect(cities).toEqual([expect.any(String)])
          expect(textOf(message as Anthropic.Message)).toContain("Snow, -3 °C.")
        })
      }
    })

    describe("structured output", () => {
      const schema = {
        type: "object",
        properties: {
          city: { type: "string" },
          celsius: { type: "number" },
          sky: { type: "string", enum: ["clear", "grey"] },
        },
        required: ["city", "celsius", "sky"],
        additionalProperties: false,
      } as const
      const fitting = {
        city: expect.any(String),
        celsius: expect.any(Number),
        sky: expect.stringMatching(/^(clear|grey)$/),
      }

      test("the parse helper returns a value that is valid by the schema", async () => {
        const output_config = { format: version.jsonSchemaOutputFormat(schema, { transform: false }) }
        const message = await client.messages.parse({ ...hello(MODEL), output_config })
        expect(message.parsed_output).toEqual(fitting)
      })

      test("the stream helper returns the structured output", async () => {
        const output_config = { format: version.jsonSchemaOutputFormat(schema, { transform: false }) }
        const message = await client.messages.stream({ ...hello(MODEL), output_config }).finalMessage()
        expect(message.parsed_output).toEqual(fitting)
      })
    })
  })
}
