// Decoding hosts' responses, whole and streamed alike.
import { describe, expect, test } from "bun:test"
import fc from "fast-check"
import { recordings, sampleSize, streamText } from "../../../../../test/recordings/recorded.ts"
import { assembleResponse } from "../../../../canonical/chat/assemble-response.ts"
import type { ChatResponse } from "../../../../canonical/chat/chat-response.ts"
import { isObject, type Json, type JsonObject } from "../../../../canonical/json.ts"
import { encodeByteText } from "../../../../transport/json/byte-text.ts"
import { DECODING, read } from "../codec.fixture.ts"
import { openaiChatCodec } from "../codec.ts"
import { openReasoning } from "../seals.ts"

const { decodeResponse } = openaiChatCodec.upstream

function whole(message: JsonObject, more: JsonObject = {}): ChatResponse | undefined {
  return decodeResponse({ id: "c", model: "m", created: 1, choices: [{ index: 0, message, ...more }] }, DECODING)
}

const partsOf = (message: JsonObject) => whole(message)?.candidates[0]?.parts

function streamed(...deltas: JsonObject[]): ChatResponse {
  const chunks = deltas.map((delta) => ({ id: "c", model: "m", created: 1, choices: [{ index: 0, delta }] }))
  const text = [...chunks.map((chunk) => JSON.stringify(chunk)), "[DONE]"].map((data) => `data: ${data}\n\n`).join("")
  return assembleResponse(read([encodeByteText(text)]))
}

const sealed = (data: object) => ({ mintedBy: "host", data: JSON.stringify(data) })

describe("parts of a response", () => {
  const text = { kind: "text", text: "a" }
  const citation = { url: "https://x", title: "t", start: 0, end: 1 }
  const cases: [string, JsonObject, object[]][] = [
    ["text", { content: "a" }, [text]],
    ["nothing", { content: "", refusal: "", tool_calls: null, function_call: { name: "", arguments: "" } }, []],
    ["a refusal", { content: null, refusal: "no" }, [{ kind: "refusal", text: "no" }]],
    [
      "DeepSeek's reasoning",
      { reasoning_content: "hm", content: "a" },
      [{ kind: "reasoning", form: "full", text: "hm", sealed: sealed({ member: "reasoning_content" }) }, text],
    ],
    [
      "OpenRouter's signed reasoning",
      { reasoning: "hm", reasoning_details: [{ type: "reasoning.text", text: "hm", signature: "s" }], content: "a" },
      [
        {
          kind: "reasoning",
          form: "full",
          text: "hm",
          sealed: sealed({ member: "reasoning", details: [{ type: "reasoning.text", text: "hm", signature: "s" }] }),
        },
        text,
      ],
    ],
    [
      "OpenRouter's encrypted reasoning",
      { reasoning: null, reasoning_details: [{ type: "reasoning.encrypted", data: "x" }], content: "a" },
      [
        {
          kind: "reasoning",
          form: "hidden",
          text: "",
          sealed: sealed({ details: [{ type: "reasoning.encrypted", data: "x" }] }),
        },
        text,
      ],
    ],
    [
      "Mistral's list of content",
      {
        content: [
          { type: "thinking", thinking: [{ type: "text", text: "hm" }] },
          { type: "text", text: "a" },
          { type: "x" },
        ],
      },
      [
        { kind: "reasoning", form: "full", text: "hm", sealed: sealed({ member: "thinking" }) },
        text,
        { kind: "foreign", protocol: "openai-chat", value: { type: "x" } },
      ],
    ],
    [
      "signed calls, custom calls, and calls without ids",
      {
        tool_calls: [
          { id: "1", type: "function", function: { name: "f", arguments: "{}" }, extra_content: { google: {} } },
          { id: "2", type: "custom", custom: { name: "c", input: "x" } },
          { id: "", type: "function", custom: { name: "", input: "" }, function: { name: "g", arguments: { a: 1 } } },
        ],
      },
      [
        {
          kind: "tool-call",
          id: "1",
          name: "f",
          runsAt: "client",
          arguments: "{}",
          sealed: sealed({ extra_content: { google: {} } }),
        },
        { kind: "tool-call", id: "2", name: "c", input: "text", runsAt: "client", arguments: "x" },
        { kind: "tool-call", id: `call_${DECODING.id}_0_2`, name: "g", runsAt: "client", arguments: '{"a":1}' },
      ],
    ],
    [
      "a call in the older form",
      { function_call: { name: "f", arguments: "{}" } },
      [{ kind: "tool-call", id: `call_${DECODING.id}_0_0`, name: "f", runsAt: "client", arguments: "{}" }],
    ],
    [
      "tools that the host ran",
      { content: "a", executed_tools: [{ index: 0, type: "search", arguments: "{}", output: "found" }] },
      [
        { kind: "tool-call", id: `call_${DECODING.id}_0_0`, name: "search", runsAt: "provider", arguments: "{}" },
        {
          kind: "tool-result",
          callId: `call_${DECODING.id}_0_0`,
          parts: [{ kind: "text", text: "found" }],
          isError: false,
        },
        text,
      ],
    ],
    [
      "citations",
      {
        content: "a",
        annotations: [
          { type: "url_citation", url_citation: { url: "https://x", title: "t", start_index: 0, end_index: 1 } },
          { type: "file" },
        ],
      },
      [{ ...text, citations: [citation] }],
    ],
    [
      "images and audio",
      {
        content: null,
        images: [{ type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } }],
        audio: { id: "x", data: "AAAA", transcript: "a", expires_at: 1 },
      },
      [
        text,
        { kind: "media", media: "image", source: { at: "inline", mediaType: "image/png", base64: "AAAA" } },
        { kind: "media", media: "audio", source: { at: "inline", mediaType: "audio/L16;rate=24000", base64: "AAAA" } },
      ],
    ],
  ]

  test.each(cases)("parts are decoded: %s", (_, message, parts) => {
    expect(partsOf(message) ?? []).toEqual(parts as never)
    expect(streamed(message).candidates[0]?.parts ?? []).toEqual(parts as never)
  })
})

test("finish reasons are decoded", () => {
  const finish = (finish_reason: Json, more: JsonObject = {}, message: JsonObject = { content: "a" }) =>
    whole(message, { finish_reason, ...more })?.candidates[0]?.finish
  const calls = { tool_calls: [{ id: "1", function: { name: "f", arguments: "" } }] }
  expect(finish("stop")).toEqual({ reason: "stop", word: "stop" })
  expect(finish("length")?.reason).toBe("length")
  expect(finish("model_length")?.reason).toBe("length")
  expect(finish("content_filter")?.reason).toBe("filtered")
  expect(finish("toString")).toEqual({ reason: "other", word: "toString" })
  expect(finish("stop", { stop_reason: "###" })).toEqual({ reason: "stop-sequence", word: "stop", stopSequence: "###" })
  expect(finish("tool_calls", {}, calls)?.reason).toBe("tool-calls")
  expect(finish("stop", {}, calls)).toEqual({ reason: "tool-calls", word: "stop" })
  expect(finish("stop", {}, { refusal: "no" })).toEqual({ reason: "refusal", word: "stop" })
  expect(finish("")).toBeUndefined()
  expect(finish(null)).toBeUndefined()
})

test("log probabilities, usage, id, model and time are decoded", () => {
  const token = { token: "a", logprob: -0.1, bytes: [97] }
  const logprobs = {
    content: [{ ...token, top_logprobs: [token, { token: "b", logprob: -3, bytes: null }] }],
    refusal: null,
  }
  const body = { id: "c", model: "m", created: 7, choices: [{ index: 0, message: { content: "a" }, logprobs }] }
  expect(decodeResponse({ ...body, usage: { prompt_tokens: 1, completion_tokens: 2 } }, DECODING)).toEqual({
    id: "c",
    model: "m",
    created: 7,
    candidates: [
      {
        index: 0,
        parts: [{ kind: "text", text: "a" }],
        logprobs: [{ ...token, others: [token, { token: "b", logprob: -3 }] }],
      },
    ],
    usage: { input: 1, output: 2 },
  })
})

test("a body that is not a response decodes to undefined, and nothing throws", () => {
  expect(decodeResponse({ error: { message: "no" }, choices: [] }, DECODING)).toBeUndefined()
  expect(decodeResponse({ object: "list" }, DECODING)).toBeUndefined()
  const member = fc.constantFrom(
    ...["content", "refusal", "reasoning", "reasoning_content", "reasoning_details", "tool_calls", "function_call"],
    ...["executed_tools", "annotations", "images", "audio"],
  )
  const shape = fc.oneof(
    fc.jsonValue(),
    fc.array(
      fc.dictionary(
        fc.constantFrom(
          "type",
          "index",
          "id",
          "function",
          "custom",
          "arguments",
          "output",
          "text",
          "data",
          "url_citation",
          "image_url",
        ),
        fc.jsonValue(),
      ),
    ),
  )
  fc.assert(
    fc.property(fc.array(fc.dictionary(member, shape)), (messages) => {
      for (const message of messages)
        whole(message as JsonObject, { finish_reason: "stop", logprobs: message as JsonObject })
      streamed(...(messages as JsonObject[]))
    }),
  )
})

describe("streams", () => {
  test("calls without an index, or with the same index, are kept apart", () => {
    const call = (id: string, more: object = {}) => ({
      tool_calls: [{ id, function: { name: "f", arguments: id }, ...more }],
    })
    for (const more of [{}, { index: 0 }]) {
      const parts = streamed(call("a", more), call("b", more)).candidates[0]?.parts
      expect(parts).toMatchObject([
        { id: "a", arguments: "a" },
        { id: "b", arguments: "b" },
      ])
    }
    const again = streamed(call("a", { index: 0 }), call("a", { index: 0 })).candidates[0]?.parts
    expect(again).toMatchObject([{ id: "a", arguments: "aa" }])
  })

  test("pieces of signed reasoning are joined", () => {
    const piece = (more: object) => ({
      reasoning_details: [{ type: "reasoning.text", index: 0, format: null, ...more }],
    })
    const [part] =
      streamed(piece({ text: "a" }), piece({ text: "b" }), piece({ signature: "s" }), { content: "c" }).candidates[0]
        ?.parts ?? []
    expect(part).toMatchObject({ kind: "reasoning", form: "full", text: "ab" })
    expect(part?.kind === "reasoning" && part.sealed && openReasoning(part.sealed)).toEqual({
      details: [{ type: "reasoning.text", index: 0, format: null, text: "ab", signature: "s" }],
    })
  })

  test("pieces of audio are joined", () => {
    const { parts = [] } =
      streamed({ audio: { data: "AA==", transcript: "a" } }, { audio: { data: "AQ==" } }).candidates[0] ?? {}
    expect(parts[1]).toMatchObject({ source: { base64: "AAE=" } })
  })

  test("a response cut into deltas decodes to the same response", () => {
    const piece = fc.string({ unit: "grapheme", minLength: 1, maxLength: 5 })
    const pieces = fc.array(piece, { maxLength: 4 })
    fc.assert(
      fc.property(pieces, pieces, fc.array(pieces, { maxLength: 3 }), (thought, texts, calls) => {
        const named = (index: number) => ({ index, id: `id${index}`, type: "function" })
        const deltas: JsonObject[] = [
          { role: "assistant", content: "" },
          ...thought.map((reasoning_content) => ({ reasoning_content })),
          ...texts.map((content) => ({ content })),
          ...calls.flatMap((args, index) => [
            { tool_calls: [{ ...named(index), function: { name: "f", arguments: "" } }] },
            ...args.map((part) => ({ tool_calls: [{ index, function: { arguments: part } }] })),
          ]),
        ]
        const message: JsonObject = {
          reasoning_content: thought.join(""),
          content: texts.join(""),
          tool_calls: calls.map((args, index) => ({
            ...named(index),
            function: { name: "f", arguments: args.join("") },
          })),
        }
        expect(streamed(...deltas).candidates[0]?.parts ?? []).toEqual(partsOf(message) ?? [])
      }),
    )
  })
})

describe("recorded exchanges", () => {
  test("every recorded whole response is decoded with all its text and calls", () => {
    const bodies = recordings("chat").flatMap(({ source, response: { body } }) =>
      isObject(body) && Array.isArray(body.choices) ? [{ source, body }] : [],
    )
    expect(bodies.length).toBeGreaterThanOrEqual(sampleSize(100))
    for (const { source, body } of bodies) {
      const [choice] = body.choices as JsonObject[]
      // Azure omits it if it filtered the response.
      const message = isObject(choice?.message) ? choice.message : {}
      const { parts = [] } = decodeResponse(body, DECODING)?.candidates[0] ?? {}
      const text = parts.map((part) => (part.kind === "text" ? part.text : "")).join("")
      if (typeof message.content === "string") expect([source, text]).toEqual([source, message.content])
      const calls = parts.filter((part) => part.kind === "tool-call" && part.runsAt === "client")
      expect([source, calls.length]).toEqual([
        source,
        Array.isArray(message.tool_calls) ? message.tool_calls.length : 0,
      ])
    }
  })

  test("every recorded stream decodes to the same when cut at another byte", () => {
    const texts = recordings("chat").flatMap((recording) => streamText(recording) ?? [])
    expect(texts.length).toBeGreaterThanOrEqual(sampleSize(10))
    for (const text of texts) {
      const whole = read([text])
      for (const size of [1, 13]) expect(read(text.match(new RegExp(`[^]{1,${size}}`, "g")) ?? [])).toEqual(whole)
    }
  })
})
