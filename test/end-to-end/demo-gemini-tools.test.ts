// Tools and structured output through Google's own client library, from a gateway without any configuration.
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { FunctionCallingConfigMode, type GenerateContentConfig, type GoogleGenAI, Type } from "@google/genai"
import { RunningGateway } from "../stage/gateway.ts"
import { asking, GENAI_VERSIONS } from "./genai-versions.ts"
import { fits, SCHEMA } from "./parseable.ts"

const MODEL = "google/gemini-2.5-flash"

let gateway: RunningGateway

beforeAll(async () => {
  gateway = await RunningGateway.start()
})
afterAll(() => gateway.stop())

const WEATHER = {
  name: "get_weather",
  description: "The weather at a place.",
  parameters: { type: Type.OBJECT, properties: { city: { type: Type.STRING } }, required: ["city"] },
}
const CLOCK = {
  name: "read_clock",
  description: "The time of day.",
  parametersJsonSchema: { type: "object", properties: {} },
}
const tools = [{ functionDeclarations: [CLOCK, WEATHER] }]
const ASK_WEATHER = "How is the weather in Oslo?"

for (const version of GENAI_VERSIONS) {
  describe(version.name, () => {
    let client: GoogleGenAI

    beforeAll(() => {
      const httpOptions = { baseUrl: `${gateway.url}/gemini` }
      client = new version.GoogleGenAI({ apiKey: gateway.key, httpOptions })
    })

    const { ask, streamed } = asking(() => client, MODEL)

    describe("tools", () => {
      test("the simulator calls the tool that matches the prompt, with arguments valid by its schema", async () => {
        const answer = await ask(ASK_WEATHER, { tools })
        expect(answer.functionCalls).toMatchObject([{ name: "get_weather", args: { city: expect.any(String) } }])
      })

      test("the simulator calls no tool if none matches or none is allowed", async () => {
        expect((await ask("hi", { tools })).functionCalls).toBeUndefined()
        const toolConfig = { functionCallingConfig: { mode: FunctionCallingConfigMode.NONE } }
        expect((await ask(ASK_WEATHER, { tools, toolConfig })).functionCalls).toBeUndefined()
      })

      test("a forced tool is called for any prompt", async () => {
        const only = { mode: FunctionCallingConfigMode.ANY, allowedFunctionNames: ["read_clock"] }
        const answer = await ask(ASK_WEATHER, { tools, toolConfig: { functionCallingConfig: only } })
        expect(answer.functionCalls).toMatchObject([{ name: "read_clock", args: {} }])
      })

      test("a call is streamed as a whole", async () => {
        const calls = (await streamed(ASK_WEATHER, { tools })).flatMap(({ functionCalls = [] }) => functionCalls)
        expect(calls).toEqual((await ask(ASK_WEATHER, { tools })).functionCalls ?? [])
      })

      test("a returned tool result is answered with text", async () => {
        const called = await ask(ASK_WEATHER, { tools })
        const [call] = called.functionCalls ?? []
        const functionResponse = { id: call?.id ?? "", name: "get_weather", response: { output: "Snow, -3 °C." } }
        const answer = await ask(
          [
            { role: "user", parts: [{ text: ASK_WEATHER }] },
            called.candidates?.[0]?.content ?? {},
            { role: "user", parts: [{ functionResponse }] },
          ],
          { tools },
        )
        expect(answer.functionCalls).toBeUndefined()
        expect(answer.text).toContain("Snow, -3 °C.")
      })

      const callable = (cities: unknown[]) => ({
        tool: async () => ({ functionDeclarations: [WEATHER] }),
        callTool: async (calls: { id?: string; name?: string; args?: Record<string, unknown> }[]) =>
          calls.map(({ id = "", name = "", args }) => {
            cities.push(args?.city)
            return { functionResponse: { id, name, response: { output: "Snow, -3 °C." } } }
          }),
      })

      test("automatic function calling makes both calls and ends with the answer", async () => {
        const cities: unknown[] = []
        const answer = await ask(ASK_WEATHER, { tools: [callable(cities)] })
        expect(cities).toEqual([expect.any(String)])
        expect(answer.text).toContain("Snow, -3 °C.")
      })

      test("automatic function calling works in a stream", async () => {
        const cities: unknown[] = []
        const chunks = await streamed(ASK_WEATHER, { tools: [callable(cities)] })
        expect(cities).toEqual([expect.any(String)])
        expect(chunks.map(({ text }) => text ?? "").join("")).toContain("Snow, -3 °C.")
      })
    })

    describe("structured output", () => {
      const json = (members: GenerateContentConfig) => ask("hi", { responseMimeType: "application/json", ...members })

      test("structured output is valid by a JSON schema", async () => {
        expect(JSON.parse((await json({ responseJsonSchema: SCHEMA })).text ?? "")).toSatisfy(fits)
      })

      test("structured output is valid by a schema in the vendor's own dialect", async () => {
        const responseSchema = {
          type: Type.OBJECT,
          properties: {
            city: { type: Type.STRING },
            celsius: { type: Type.NUMBER, minimum: -90.5 },
            sky: { type: Type.STRING, enum: ["clear", "grey"] },
            days: { type: Type.ARRAY, items: { type: Type.INTEGER }, minItems: "1", maxItems: "3" },
          },
          required: ["city", "celsius", "sky", "days"],
        }
        expect(JSON.parse((await json({ responseSchema })).text ?? "")).toSatisfy(fits)
      })

      test("structured output is JSON if no schema is given", async () => {
        expect(JSON.parse((await json({})).text ?? "")).toBeObject()
      })
    })
  })
}
