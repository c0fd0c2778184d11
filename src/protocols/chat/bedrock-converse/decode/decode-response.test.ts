import { describe, expect, test } from "bun:test"
import fc from "fast-check"
import { assembleResponse } from "../../../../canonical/chat/assemble-response.ts"
import type { ChatResponse } from "../../../../canonical/chat/chat-response.ts"
import type { JsonObject } from "../../../../canonical/json.ts"
import { ANSWER_TOOL } from "../answer-tool.ts"
import { decodedStream, decoding, streamText } from "../codec.fixture.ts"
import { bedrockConverseCodec } from "../codec.ts"

function answer(content: readonly object[], more: object = {}): JsonObject {
  return { output: { message: { role: "assistant", content } }, stopReason: "end_turn", ...more } as never
}

function decoded(content: readonly object[], more: object = {}): ChatResponse {
  const response = bedrockConverseCodec.decodeResponse(answer(content, more), decoding)
  if (!response) throw new Error("an answer is one")
  return response
}

const parts = (...content: readonly object[]) => decoded(content).candidates[0]?.parts
const finish = (more: object, content: readonly object[] = [{ text: "x" }]) =>
  decoded(content, more).candidates[0]?.finish

const streamed = (...events: readonly (readonly [string, object])[]) => decodedStream([streamText(events)])
const delta = (contentBlockIndex: number, delta: object) => ["contentBlockDelta", { contentBlockIndex, delta }] as const
const stop = (contentBlockIndex: number) => ["contentBlockStop", { contentBlockIndex }] as const
const start = (contentBlockIndex: number, start: object) => ["contentBlockStart", { contentBlockIndex, start }] as const
const ending = (stopReason = "end_turn") =>
  [
    ["messageStop", { stopReason }],
    ["metadata", { usage: { inputTokens: 1, outputTokens: 2 } }],
  ] as const

describe("decoding a block", () => {
  const call = { kind: "tool-call", id: "tooluse_1", name: "f", arguments: '{"a":1}', runsAt: "client" }
  const sealed = (data: string) => ({ mintedBy: "the-minter", data })
  test.each<[string, object, object | undefined]>([
    ["text", { text: "Grüße" }, { kind: "text", text: "Grüße" }],
    ["an empty text", { text: "" }, undefined],
    ["a call", { toolUse: { toolUseId: "tooluse_1", name: "f", input: { a: 1 } } }, call],
    [
      "a call that the provider ran",
      { toolUse: { toolUseId: "tooluse_1", name: "f", input: { a: 1 }, type: "server_tool_use" } },
      { ...call, runsAt: "provider" },
    ],
    ["a call without an id", { toolUse: { name: "f" } }, { ...call, id: `tooluse_${decoding.id}_0`, arguments: "{}" }],
    [
      "the result of the provider's own tool",
      {
        toolResult: {
          toolUseId: "t",
          type: "nova_code_interpreter_result",
          status: "error",
          content: [{ json: { a: 1 } }, { text: "x" }],
        },
      },
      {
        kind: "tool-result",
        callId: "t",
        name: "nova_code_interpreter",
        isError: true,
        parts: [
          { kind: "text", text: '{"a":1}' },
          { kind: "text", text: "x" },
        ],
      },
    ],
    [
      "signed reasoning",
      { reasoningContent: { reasoningText: { text: "hm", signature: "c2ln" } } },
      { kind: "reasoning", form: "full", text: "hm", sealed: sealed("c2ln") },
    ],
    [
      "unsigned reasoning",
      { reasoningContent: { reasoningText: { text: "hm" } } },
      { kind: "reasoning", form: "full", text: "hm" },
    ],
    [
      "redacted reasoning",
      { reasoningContent: { redactedContent: Buffer.from("cmVk").toString("base64") } },
      { kind: "reasoning", form: "hidden", text: "", sealed: sealed("redacted:cmVk") },
    ],
    [
      "redacted reasoning that is not text",
      { reasoningContent: { redactedContent: "/wA=" } },
      { kind: "reasoning", form: "hidden", text: "", sealed: sealed("redacted-bytes:/wA=") },
    ],
    [
      "text with citations",
      {
        citationsContent: {
          content: [{ text: "a" }, { text: "b" }],
          citations: [
            { title: "T", location: { web: { url: "https://a.b", domain: "a.b" } }, sourceContent: [{ text: "q" }] },
            { title: "D", location: { documentChar: { documentIndex: 0, start: 1, end: 2 } } },
          ],
        },
      },
      {
        kind: "text",
        text: "ab",
        citations: [
          { url: "https://a.b", title: "T", quote: "q" },
          {
            title: "D",
            extra: {
              protocol: "bedrock-converse",
              members: { location: { documentChar: { documentIndex: 0, start: 1, end: 2 } } },
            },
          },
        ],
      },
    ],
    [
      "an image",
      { image: { format: "png", source: { bytes: "iVBO" } } },
      { kind: "media", media: "image", source: { at: "inline", mediaType: "image/png", base64: "iVBO" } },
    ],
    [
      "an unknown block",
      { tomorrow: { x: [1, null] } },
      { kind: "foreign", protocol: "bedrock-converse", value: { tomorrow: { x: [1, null] } } },
    ],
  ])("a block is decoded: %s", (_, block, part) => {
    expect(parts(block) as object[]).toEqual(part ? [part] : [])
  })

  test("a call of the answer tool is decoded as text", () => {
    const block = { toolUse: { toolUseId: "t", name: ANSWER_TOOL, input: { city: "Köln" } } }
    expect(parts(block)).toEqual([{ kind: "text", text: '{"city":"Köln"}' }])
    expect(finish({ stopReason: "tool_use" }, [block])).toEqual({ reason: "stop" })
    const other = { toolUse: { toolUseId: "u", name: "f", input: {} } }
    expect(finish({ stopReason: "tool_use" }, [block, other])).toEqual({ reason: "tool-calls", word: "tool_use" })
  })
})

describe("decoding a whole response", () => {
  test.each([
    ["end_turn", "stop"],
    ["tool_use", "tool-calls"],
    ["max_tokens", "length"],
    ["model_context_window_exceeded", "length"],
    ["stop_sequence", "stop-sequence"],
    ["guardrail_intervened", "filtered"],
    ["content_filtered", "filtered"],
    ["malformed_tool_use", "other"],
    ["toString", "other"],
  ] as const)("a response with stop reason %s has finish reason %s", (word, reason) => {
    expect(finish({ stopReason: word })).toEqual({ reason, word })
  })

  test("the stop sequence is decoded, from a whole response and from a stream", () => {
    const expected = { reason: "stop-sequence", word: "stop_sequence", stopSequence: "###" } as const
    const fields = { stop_sequence: "###" }
    expect(finish({ stopReason: "stop_sequence", additionalModelResponseFields: fields })).toEqual(expected)
    const events = streamed([
      "messageStop",
      { stopReason: "stop_sequence", additionalModelResponseFields: { delta: fields } },
    ])
    expect(events).toContainEqual({ type: "candidate-end", candidate: 0, finish: expected })
  })

  test.each<[string, object, object | undefined]>([
    ["without a cache", { inputTokens: 5, outputTokens: 7, totalTokens: 12 }, { input: 5, output: 7 }],
    [
      "with cache reads and writes",
      { inputTokens: 3, outputTokens: 1, cacheReadInputTokens: 1712, cacheWriteInputTokens: 0, totalTokens: 1716 },
      { input: 3, output: 1, cacheRead: 1712, cacheWrite: 0 },
    ],
    [
      "with cache writes for an hour",
      {
        inputTokens: 3,
        outputTokens: 1,
        cacheWriteInputTokens: 10,
        cacheDetails: [
          { ttl: "1h", inputTokens: 4 },
          { ttl: "5m", inputTokens: 6 },
        ],
      },
      { input: 3, output: 1, cacheWrite: 6, cacheWrite1h: 4 },
    ],
    ["without valid numbers", { inputTokens: "5", outputTokens: -1 }, {}],
  ])("the usage is decoded %s", (_, usage, expected) => {
    expect(decoded([{ text: "x" }], { usage }).usage).toEqual(expected as never)
  })

  test("a body that is not a response decodes to undefined", () => {
    for (const body of [{}, { message: "no" }, { output: {} }, { output: { message: { content: "x" } } }]) {
      expect(bedrockConverseCodec.decodeResponse(body as JsonObject, decoding)).toBeUndefined()
    }
  })

  test("fields that no decoder claims are kept", () => {
    expect(decoded([{ text: "x" }], { trace: { a: 1 } }).extra?.members).toEqual({ trace: { a: 1 } })
  })
})

describe("decoding a stream", () => {
  test("a text's first word is decoded as soon as it arrives", () => {
    const decoder = bedrockConverseCodec.decodeStream(decoding)
    const text = streamText([delta(0, { text: "Grüße" })])
    expect(
      decoder.push({ raw: text, event: "contentBlockDelta", data: text.split("data: ")[1], dataStart: 0 }),
    ).toEqual([
      { type: "stream-start" },
      { type: "part-start", candidate: 0, part: 0, start: { kind: "text" } },
      { type: "part-delta", candidate: 0, part: 0, text: "Grüße" },
    ])
  })

  test("a stream ends after its stop reason and usage, in either order, or at its end", () => {
    const [stopped, counted] = ending()
    const types = (events: readonly { type: string }[]) => events.map(({ type }) => type)
    const usual = ["stream-start", "candidate-end", "usage", "stream-end"]
    expect(types(streamed(stopped, counted, delta(0, { text: "late" })))).toEqual(usual)
    expect(types(streamed(counted, stopped))).toEqual(["stream-start", "usage", "candidate-end", "stream-end"])
    expect(types(streamed(stopped))).toEqual(["stream-start", "candidate-end", "stream-end"])
    expect(types(streamed(["messageStart", { role: "assistant" }], delta(0, { text: "x" })))).not.toContain(
      "stream-end",
    )
  })

  test("a part ends when the kind under its index changes, even without an end event", () => {
    const events = streamed(delta(0, { reasoningContent: { text: "hm" } }), delta(0, { text: "x" }), ...ending())
    expect(assembleResponse(events).candidates[0]?.parts).toEqual([
      { kind: "reasoning", form: "full", text: "hm" },
      { kind: "text", text: "x" },
    ])
  })

  test("parts of a stream may overlap", () => {
    const call = (toolUseId: string) => ({ toolUse: { toolUseId, name: "f" } })
    const events = streamed(
      start(0, call("a")),
      start(1, call("b")),
      delta(1, { toolUse: { input: '{"b":1}' } }),
      delta(0, { toolUse: { input: '{"a":1}' } }),
      ...ending("tool_use"),
    )
    expect(assembleResponse(events).candidates[0]?.parts).toMatchObject([
      { id: "a", arguments: '{"a":1}' },
      { id: "b", arguments: '{"b":1}' },
    ])
  })

  test("input of the answer tool is decoded as growing text", () => {
    const toolUse = { toolUseId: "t", name: ANSWER_TOOL }
    const events = streamed(start(0, { toolUse }), delta(0, { toolUse: { input: '{"a"' } }), ...ending("tool_use"))
    expect(events[1]).toMatchObject({ type: "part-start", start: { kind: "text" } })
    expect(events[2]).toMatchObject({ type: "part-delta", text: '{"a"' })
    expect(assembleResponse(events).candidates[0]?.finish).toEqual({ reason: "stop" })
  })

  test.each([
    ["throttlingException", "upstream_rate_limited"],
    ["modelStreamErrorException", "upstream_unavailable"],
    ["internalServerException", "upstream_unavailable"],
    ["validationException", "invalid_parameter"],
    ["somethingNewException", "upstream_unavailable"],
  ])("a stream error %s is decoded as %s", (__type, code) => {
    const events = streamed(delta(0, { text: "Half" }), ["error", { __type, message: "No." }])
    expect(events.at(-1)).toMatchObject({ type: "stream-error", error: { code } })
  })

  test("stream data that is not JSON is reported", () => {
    expect(decodedStream(["event: contentBlockDelta\ndata: {\n\n"])[0]).toMatchObject({ type: "stream-error" })
  })
})

const words = fc.string({ unit: "grapheme", minLength: 1, maxLength: 12 })
const json = fc.dictionary(fc.string({ maxLength: 5 }), fc.oneof(fc.integer(), words, fc.constant(null)), {
  maxKeys: 3,
})
const id = fc.string({ minLength: 1, maxLength: 8, unit: fc.constantFrom(..."abcXYZ09_-") })

/** A whole block and its streamed pieces. */
const block = fc.oneof(
  fc.array(words, { minLength: 1, maxLength: 4 }).map((pieces) => ({
    whole: { text: pieces.join("") } as object,
    events: (at: number) => pieces.map((text) => delta(at, { text })),
  })),
  fc.tuple(fc.array(words, { maxLength: 3 }), id).map(([pieces, signature]) => ({
    whole: { reasoningContent: { reasoningText: { text: pieces.join(""), signature } } },
    events: (at: number) => [
      ...pieces.map((text) => delta(at, { reasoningContent: { text } })),
      delta(at, { reasoningContent: { signature } }),
    ],
  })),
  fc.uint8Array({ minLength: 1, maxLength: 9 }).map((bytes) => {
    const reasoningContent = { redactedContent: Buffer.from(bytes).toString("base64") }
    return { whole: { reasoningContent }, events: (at: number) => [delta(at, { reasoningContent })] }
  }),
  fc.tuple(id, fc.constantFrom("f", "g", ANSWER_TOOL), json, fc.nat(9)).map(([toolUseId, name, input, cut]) => {
    const text = JSON.stringify(input)
    const pieces = text === "{}" ? [""] : [text.slice(0, cut), text.slice(cut)]
    return {
      whole: { toolUse: { toolUseId, name, input } },
      events: (at: number) => [
        start(at, { toolUse: { toolUseId, name } }),
        ...pieces.map((piece) => delta(at, { toolUse: { input: piece } })),
      ],
    }
  }),
  fc.tuple(id, json).map(([toolUseId, found]) => {
    const toolResult = { toolUseId, status: "success", type: "nova_code_interpreter_result" }
    return {
      whole: { toolResult: { ...toolResult, content: [{ json: found }] } },
      events: (at: number) => [start(at, { toolResult }), delta(at, { toolResult: [{ json: found }] })],
    }
  }),
  id.map((bytes) => ({
    whole: { image: { format: "png", source: { bytes } } },
    events: (at: number) => [start(at, { image: { format: "png" } }), delta(at, { image: { source: { bytes } } })],
  })),
)

describe("decoding any response", () => {
  const usage = { inputTokens: 3, outputTokens: 4, cacheReadInputTokens: 5 }

  test("any response decodes to the same streamed as whole, in any pieces", () => {
    const stopReason = fc.constantFrom("end_turn", "tool_use", "max_tokens")
    fc.assert(
      fc.property(fc.array(block, { maxLength: 5 }), stopReason, fc.nat(60), (blocks, word, size) => {
        const text = streamText([
          ["messageStart", { role: "assistant" }],
          ...blocks.flatMap(({ events }, at) => [...events(at), stop(at)]),
          ["messageStop", { stopReason: word }],
          ["metadata", { usage, metrics: { latencyMs: 1 } }],
        ])
        const pieces = text.match(new RegExp(`[^]{1,${size + 1}}`, "g")) ?? []
        const whole = decoded(
          blocks.map(({ whole }) => whole),
          { stopReason: word, usage },
        )
        expect(assembleResponse(decodedStream(pieces))).toEqual(whole)
      }),
    )
  })

  test("any JSON instead of a response is decoded without an exception", () => {
    const anything = fc.jsonValue() as fc.Arbitrary<JsonObject>
    const type = fc.constantFrom(
      ...["messageStart", "contentBlockStart", "contentBlockDelta", "contentBlockStop", "messageStop", "metadata", "x"],
    )
    const key = fc.constantFrom(
      "start",
      "delta",
      "toolUse",
      "reasoningContent",
      "text",
      "toolResult",
      "usage",
      "citation",
    )
    const event = fc.dictionary(key, fc.oneof(anything, fc.dictionary(key, anything)), { maxKeys: 4 })
    fc.assert(
      fc.property(fc.array(fc.tuple(type, event), { maxLength: 8 }), (events) => {
        assembleResponse(decodedStream([streamText(events as never)]))
        bedrockConverseCodec.decodeResponse(answer(events as never), decoding)
      }),
    )
    fc.assert(fc.property(anything, (body) => void bedrockConverseCodec.decodeResponse({ output: body }, decoding)))
  })
})
