// OpenAI's own client library through the gateway, the same in each of its versions.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test"
import type OpenAI from "openai"
import { RunningGateway, upstreamConfig } from "../stage/gateway.ts"
import { chunk, completion, DONE, ScriptedUpstream, streamedWords, streams } from "../stage/upstream.ts"
import { HI, VERSIONS } from "./client-versions.ts"

let upstream: ScriptedUpstream
let gateway: RunningGateway

beforeAll(async () => {
  upstream = await ScriptedUpstream.start()
  gateway = await RunningGateway.start({ config: upstreamConfig(upstream.baseUrl) })
})
beforeEach(() => {
  upstream.script = (_, reply) => reply.json(completion("Hello."))
  upstream.requests.length = 0
})
afterAll(async () => {
  await gateway.stop()
  await upstream.stop()
})

const WEATHER = {
  type: "function",
  function: {
    name: "get_weather",
    description: "The weather at a place.",
    parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
  },
} satisfies OpenAI.Chat.Completions.ChatCompletionTool

const CALL = {
  id: "call_1",
  type: "function",
  function: { name: "get_weather", arguments: '{"city":"Oslo"}' },
} as const

const toolCallAnswer = completion("", {
  choices: [
    {
      index: 0,
      message: { role: "assistant", content: null, refusal: null, tool_calls: [CALL] },
      logprobs: null,
      finish_reason: "tool_calls",
    },
  ],
})

const ANSWER_SCHEMA = {
  type: "json_schema",
  json_schema: {
    name: "answer",
    strict: true,
    schema: {
      type: "object",
      properties: { city: { type: "string" }, celsius: { type: "number", minimum: -90.5 } },
      required: ["city", "celsius"],
      additionalProperties: false,
    },
  },
} as const

/** The upstream's last request body, parsed. */
function received(): Record<string, unknown> {
  return JSON.parse(upstream.lastRequest().body.toString())
}

for (const version of VERSIONS) {
  describe(version.name, () => {
    /** The bodies this client has sent, as they left it. */
    const sent: string[] = []
    let client: OpenAI
    let helpers: OpenAI["chat"]["completions"]

    /** The expected upstream body for the last body sent: the same bytes except for the model's name. */
    const expectedBody = () => sent.at(-1)?.replace("test/model", "upstream-model")

    beforeAll(() => {
      client = new version.OpenAI({
        apiKey: gateway.key,
        baseURL: `${gateway.url}/v1`,
        fetch: (url, init) => {
          if (typeof init?.body === "string") sent.push(init.body)
          return fetch(url, init as RequestInit)
        },
      })
      helpers = version.helpers(client)
    })
    beforeEach(() => {
      sent.length = 0
    })

    describe("chat", () => {
      test("an answer arrives whole, under the caller's name for the model", async () => {
        const answer = await client.chat.completions.create(HI)
        expect(answer).toMatchObject({ ...completion("Hello."), model: "test/model" })
        expect(upstream.lastRequest().body.toString()).toBe(expectedBody() ?? "")
      })

      test("the request id is in the client's own property", async () => {
        const { response } = await client.chat.completions.create(HI).withResponse()
        const answer = await client.chat.completions.create(HI)
        expect(response.headers.get("x-request-id")).toMatch(/\S/)
        expect(answer._request_id).toMatch(/\S/)
      })
    })

    describe("streams", () => {
      test("each event arrives, and the text is whole", async () => {
        upstream.script = streams(streamedWords("The quick brown fox"))
        const chunks = []
        for await (const each of await client.chat.completions.create({ ...HI, stream: true })) chunks.push(each)
        expect(chunks).toHaveLength(6)
        expect(chunks.map((each) => each.choices[0]?.delta.content ?? "").join("")).toBe("The quick brown fox")
        expect(new Set(chunks.map((each) => each.model))).toEqual(new Set(["test/model"]))
        expect(chunks.at(-1)?.choices[0]?.finish_reason).toBe("stop")
      })

      test("the stream helper's final message is the whole answer", async () => {
        upstream.script = streams(streamedWords("The quick brown fox"))
        const stream = helpers.stream({ ...HI, stream: true })
        expect(await stream.finalContent()).toBe("The quick brown fox")
        expect(await stream.finalChatCompletion()).toMatchObject({ model: "test/model", id: "chatcmpl-abc123" })
      })

      test("a client that leaves the stream early gets no error", async () => {
        upstream.script = streams(streamedWords("The quick brown fox"))
        for await (const _ of await client.chat.completions.create({ ...HI, stream: true })) break
        expect(upstream.requests).toHaveLength(1)
      })
    })

    describe("usage", () => {
      const usage = { prompt_tokens: 9, completion_tokens: 4, total_tokens: 13 }
      const events = [
        chunk({ role: "assistant", content: "Hello." }, null, { usage: null }),
        chunk({}, "stop", { usage: null }),
        chunk({}, null, { choices: [], usage }),
        DONE,
      ]

      test("usage is hidden from a stream that did not request it, though the upstream sends it", async () => {
        upstream.script = streams(events)
        const chunks = []
        for await (const each of await client.chat.completions.create({ ...HI, stream: true })) chunks.push(each)
        expect(chunks).toHaveLength(2)
        for (const each of chunks) expect(each).not.toHaveProperty("usage")
        expect(received().stream_options).toEqual({ include_usage: true })
      })

      test("usage is in the last event of a stream that requested it", async () => {
        upstream.script = streams(events)
        const asking = { ...HI, stream: true, stream_options: { include_usage: true } } as const
        const chunks = []
        for await (const each of await client.chat.completions.create(asking)) chunks.push(each)
        expect(chunks).toHaveLength(3)
        expect(chunks.at(-1)).toMatchObject({ choices: [], usage })
        expect(upstream.lastRequest().body.toString()).toBe(expectedBody() ?? "")
      })

      test("usage is in every unary answer", async () => {
        const answer = await client.chat.completions.create(HI)
        expect(answer.usage).toEqual({ prompt_tokens: 9, completion_tokens: 3, total_tokens: 12 })
      })
    })

    describe("tools", () => {
      test("a tool call in an answer is returned", async () => {
        upstream.script = (_, reply) => reply.json(toolCallAnswer)
        const answer = await client.chat.completions.create({ ...HI, tools: [WEATHER], tool_choice: "auto" })
        expect(answer.choices[0]?.finish_reason).toBe("tool_calls")
        expect(answer.choices[0]?.message.tool_calls).toEqual([CALL])
        expect(upstream.lastRequest().body.toString()).toBe(expectedBody() ?? "")
      })

      const opener = { index: 0, id: "call_1", type: "function", function: { name: "get_weather", arguments: "" } }
      const pieces = ['{"ci', 'ty":"', "Os", 'lo"}']
      const callEvents = [
        chunk({ role: "assistant", content: null, tool_calls: [opener] }),
        ...pieces.map((piece) => chunk({ tool_calls: [{ index: 0, function: { arguments: piece } }] })),
        chunk({}, "tool_calls"),
        DONE,
      ]

      test("streamed arguments arrive in the pieces in which they were sent", async () => {
        upstream.script = streams(callEvents)
        const deltas = []
        for await (const each of await client.chat.completions.create({ ...HI, tools: [WEATHER], stream: true })) {
          deltas.push(each.choices[0]?.delta.tool_calls?.[0]?.function?.arguments)
        }
        expect(deltas).toEqual(["", ...pieces, undefined])
      })

      test("the stream helper accumulates the pieces into the call", async () => {
        upstream.script = streams(callEvents)
        const message = await helpers.stream({ ...HI, tools: [WEATHER], stream: true }).finalMessage()
        expect(message.tool_calls).toMatchObject([CALL])
      })

      test("a returned tool result reaches the upstream unchanged", async () => {
        const messages = [
          ...HI.messages,
          { role: "assistant" as const, content: null, tool_calls: [CALL] },
          { role: "tool" as const, tool_call_id: "call_1", content: '{"celsius": -3.50, "note": "Snö ❄"}' },
        ]
        await client.chat.completions.create({ ...HI, messages, tools: [WEATHER] })
        expect(upstream.lastRequest().body.toString()).toBe(expectedBody() ?? "")
        expect(received().messages).toEqual(messages)
      })

      test("the tool runner makes both calls and ends with the answer", async () => {
        upstream.script = (_, reply) =>
          reply.json(upstream.requests.length === 1 ? toolCallAnswer : completion("Snow in Oslo."))
        const runner = helpers.runTools({
          ...HI,
          tools: [
            {
              type: "function",
              function: {
                ...WEATHER.function,
                parse: JSON.parse,
                function: ({ city }: { city: string }) => `Snow in ${city}.`,
              },
            },
          ],
        })
        expect(await runner.finalContent()).toBe("Snow in Oslo.")
        expect(received().messages).toContainEqual({ role: "tool", tool_call_id: "call_1", content: "Snow in Oslo." })
      })
    })

    describe("structured output", () => {
      test("a JSON schema reaches the upstream byte for byte", async () => {
        await client.chat.completions.create({ ...HI, response_format: ANSWER_SCHEMA })
        expect(received().response_format).toEqual(ANSWER_SCHEMA)
        expect(upstream.lastRequest().body.toString()).toBe(expectedBody() ?? "")
      })

      test("the parse helper returns the value", async () => {
        upstream.script = (_, reply) => reply.json(completion('{"city":"Oslo","celsius":-3.5}'))
        const format = {
          ...ANSWER_SCHEMA,
          __output: undefined as unknown,
          $brand: "auto-parseable-response-format",
          $parseRaw: (text: string) => JSON.parse(text),
        }
        const answer = await helpers.parse({ ...HI, response_format: format })
        expect(answer.choices[0]?.message.parsed).toEqual({ city: "Oslo", celsius: -3.5 })
      })
    })

    describe("models", () => {
      test("the list holds the models that can be called", async () => {
        const ids = []
        for await (const model of client.models.list()) ids.push(model.id)
        expect(ids).toEqual(["test/model"])
      })

      test("one model is found by its name with a slash", async () => {
        expect(await client.models.retrieve("test/model")).toMatchObject({ id: "test/model", object: "model" })
      })
    })
  })
}
