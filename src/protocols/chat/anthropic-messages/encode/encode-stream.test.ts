import { describe, expect, test } from "bun:test"
import Anthropic from "@anthropic-ai/sdk"
import Anthropic0 from "anthropic0"
import fc from "fast-check"
import { assembleResponse } from "../../../../canonical/chat/assemble-response.ts"
import type { PartStart, StreamEvent } from "../../../../canonical/chat/stream-event.ts"
import { fromByteText } from "../../../../transport/json/byte-text.ts"
import { encodeContext, readStream, writeStream } from "../codec.fixture.ts"
import { anthropicMessagesCodec } from "../codec.ts"
import { grammarFaults } from "./stream-grammar.fixture.ts"

const { ingress } = anthropicMessagesCodec

const start = (part: number, begin: PartStart): StreamEvent => ({
  type: "part-start",
  candidate: 0,
  part,
  start: begin,
})
const delta = (part: number, text: string): StreamEvent => ({ type: "part-delta", candidate: 0, part, text })
const end = (part: number): StreamEvent => ({ type: "part-end", candidate: 0, part })
const finish: StreamEvent = { type: "candidate-end", candidate: 0, finish: { reason: "stop" } }
const call = (id: string): PartStart => ({ kind: "tool-call", id, name: "f", runsAt: "client" })

/** The names of the events that each push emits. */
function letOut(events: readonly StreamEvent[]): string[] {
  const encoder = ingress.encodeStream(encodeContext())
  return events.map((event) =>
    encoder
      .push(event)
      .map((frame) => /^event: (\w+)/.exec(frame)?.[1])
      .join(" "),
  )
}

describe("the time at which a frame is sent", () => {
  test("a frame is sent as soon as it has content", () => {
    expect(
      letOut([
        { type: "stream-start", id: "msg_1" },
        { type: "usage", usage: { input: 3 } },
        start(0, { kind: "text" }),
        delta(0, "a"),
        delta(0, "b"),
        end(0),
        start(1, call("1")),
        delta(1, "{}"),
        end(1),
        finish,
        { type: "usage", usage: { input: 3, output: 2 } },
        { type: "stream-end" },
      ]),
    ).toEqual([
      "",
      "",
      "message_start",
      "content_block_start content_block_delta",
      "content_block_delta",
      "content_block_stop",
      "content_block_start",
      "content_block_delta",
      "content_block_stop",
      "",
      "",
      "message_delta message_stop",
    ])
  })

  test("a frame of an overlapping part is sent when the block before it has ended", () => {
    const events = [
      start(0, call("1")),
      start(1, call("2")),
      delta(1, '{"b"'),
      delta(0, "{}"),
      delta(1, ":1}"),
      end(0),
      end(1),
    ]
    expect(letOut(events)).toEqual([
      "message_start content_block_start",
      "",
      "",
      "content_block_delta",
      "",
      "content_block_stop content_block_start content_block_delta",
      "content_block_stop",
    ])
    const parts = assembleResponse(readStream([writeStream([...events, finish, { type: "stream-end" }]).join("")]))
      .candidates[0]?.parts
    expect(parts).toMatchObject([
      { id: "1", arguments: "{}" },
      { id: "2", arguments: '{"b":1}' },
    ])
  })

  test("an empty part does not delay the next one", () => {
    expect(
      letOut([start(0, { kind: "reasoning", form: "hidden" }), start(1, { kind: "text" }), delta(1, "x")])[2],
    ).toBe("content_block_start content_block_delta")
  })
})

test("the opening event has the input usage, the closing event the final usage", () => {
  const frames = writeStream([
    { type: "stream-start", id: "chatcmpl-1" },
    { type: "usage", usage: { input: 3, cacheRead: 1 } },
    finish,
    { type: "usage", usage: { input: 4, cacheRead: 1, output: 2 } },
    { type: "stream-end" },
  ])
  const usage = { cache_creation_input_tokens: 0, cache_read_input_tokens: 1 }
  expect(frames.map((frame) => JSON.parse(frame.split("data: ")[1] ?? ""))).toMatchObject([
    {
      type: "message_start",
      message: {
        id: "msg_0123456789abcdefghijklmn",
        type: "message",
        role: "assistant",
        model: "a/b",
        content: [],
        stop_reason: null,
        usage: { ...usage, input_tokens: 3, output_tokens: 0 },
      },
    },
    {
      type: "message_delta",
      delta: { stop_reason: "end_turn", stop_sequence: null },
      usage: { ...usage, input_tokens: 4, output_tokens: 2 },
    },
    { type: "message_stop" },
  ])
})

/** Any events at all, in any order. */
const number = fc.nat({ max: 2 })
const sealed = fc.option(
  fc.record({ mintedBy: fc.constantFrom("google", "anthropic-messages"), data: fc.string({ minLength: 1 }) }),
  { nil: undefined },
)
const starts = fc.oneof(
  fc.constantFrom<PartStart>(
    { kind: "text" },
    { kind: "refusal" },
    { kind: "reasoning", form: "full" },
    { kind: "reasoning", form: "hidden" },
    { kind: "tool-call", id: "1", name: "f", runsAt: "client" },
    { kind: "tool-call", id: "", name: "f", input: "text", runsAt: "client" },
    { kind: "tool-call", id: "srvtoolu_1", name: "web_search", runsAt: "provider" },
    { kind: "tool-call", id: "x", name: "web_search", runsAt: "provider" },
    { kind: "whole", part: { kind: "foreign", protocol: "anthropic-messages", value: { type: "fallback" } } },
    { kind: "whole", part: { kind: "foreign", protocol: "x", value: {} } },
    { kind: "whole", part: { kind: "media", media: "image", source: { at: "url", url: "u" } } },
  ),
)
const event: fc.Arbitrary<StreamEvent> = fc.oneof(
  fc.record({ type: fc.constant("stream-start" as const), id: fc.string() }),
  fc.record({ type: fc.constant("part-start" as const), candidate: fc.nat({ max: 1 }), part: number, start: starts }),
  fc.record({
    type: fc.constant("part-delta" as const),
    candidate: fc.constant(0),
    part: number,
    text: fc.string({ unit: "binary" }),
  }),
  fc.record({
    type: fc.constant("part-cite" as const),
    candidate: fc.constant(0),
    part: number,
    citation: fc.record({ url: fc.string() }),
  }),
  fc
    .record({ type: fc.constant("part-end" as const), candidate: fc.constant(0), part: number, sealed })
    .map(({ sealed: seal, ...rest }) => ({ ...rest, ...(seal && { sealed: seal }) })),
  fc.record({ type: fc.constant("usage" as const), usage: fc.record({ input: fc.nat(), output: fc.nat() }) }),
  fc.constant<StreamEvent>({ type: "logprobs", candidate: 0, tokens: [] }),
  fc.constant<StreamEvent>(finish),
  fc.constant<StreamEvent>({ type: "foreign", protocol: "x", value: 1 }),
)

test("any order of events yields a valid stream that decodes to the same content", () => {
  fc.assert(
    fc.property(fc.array(event, { maxLength: 40 }), (events) => {
      const written = writeStream([...events, { type: "stream-end" }, ...events]).join("")
      expect(grammarFaults(written)).toEqual([])
      expect(readStream([written]).at(-1)).toEqual({ type: "stream-end" })
    }),
    { numRuns: 500 },
  )
})

test("ordered parts decode to the same text, wherever the stream is cut", () => {
  const partList = fc.array(
    fc.record({
      start: fc.constantFrom<PartStart>({ kind: "text" }, call("1"), { kind: "reasoning", form: "full" }),
      texts: fc.array(fc.string({ unit: "grapheme", minLength: 1 }), { minLength: 1 }),
    }),
  )
  fc.assert(
    fc.property(partList, fc.nat(), (parts, cut) => {
      const events = parts.flatMap((each, part) => [
        start(part, each.start),
        ...each.texts.map((text) => delta(part, text)),
        end(part),
      ])
      const written = writeStream([...events, finish, { type: "stream-end" }]).join("")
      const at = cut % (written.length + 1)
      const again = assembleResponse(readStream([written.slice(0, at), written.slice(at)])).candidates[0]?.parts
      expect(again).toEqual(assembleResponse([...events, finish]).candidates[0]?.parts as never)
    }),
  )
})

const story: StreamEvent[] = [
  { type: "stream-start", id: "x" },
  start(0, { kind: "reasoning", form: "full" }),
  delta(0, "hm"),
  { type: "part-end", candidate: 0, part: 0, sealed: { mintedBy: "google", data: "s" } },
  start(1, { kind: "text" }),
  delta(1, "Zoë "),
  delta(1, "👋"),
  { type: "part-cite", candidate: 0, part: 1, citation: { url: "https://a", title: "t" } },
  end(1),
  start(2, call("1")),
  start(3, { kind: "tool-call", id: "2", name: "sh", input: "text", runsAt: "client" }),
  delta(3, 'echo "'),
  delta(2, '{"a":'),
  delta(2, "1}"),
  end(2),
  delta(3, '\\n"'),
  end(3),
  finish,
  { type: "usage", usage: { input: 7, output: 9 } },
  { type: "stream-end" },
]

test("a stream decodes to the same events wherever its bytes are cut", () => {
  const written = writeStream(story).join("")
  const whole = readStream([written])
  for (let cut = 1; cut < written.length; cut++) {
    expect(readStream([written.slice(0, cut), written.slice(cut)])).toEqual(whole)
  }
})

const ENVELOPE = /^dHJ2LXNlYWw6djI7[A-Za-z0-9+/]+={0,2}$/

describe("the vendor's client library reads encoded streams", () => {
  const fetching = async () =>
    new Response(fromByteText(writeStream(story).join("")), { headers: { "content-type": "text/event-stream" } })
  const clients = {
    "of today": new Anthropic({ apiKey: "k", baseURL: "http://localhost", fetch: fetching }),
    "of yesterday": new Anthropic0({
      apiKey: "k",
      baseURL: "http://localhost",
      fetch: fetching,
    }) as unknown as Anthropic,
  }
  for (const [name, client] of Object.entries(clients)) {
    test(`the client library ${name} reads a stream`, async () => {
      const stream = client.messages.stream({ model: "m", max_tokens: 1, messages: [{ role: "user", content: "x" }] })
      const message = await stream.finalMessage()
      expect(JSON.parse(JSON.stringify(message))).toMatchObject({
        id: "msg_0123456789abcdefghijklmn",
        model: "a/b",
        stop_reason: "tool_use",
        content: [
          { type: "thinking", thinking: "hm", signature: expect.stringMatching(ENVELOPE) },
          { type: "text", text: "Zoë 👋", citations: [{ url: "https://a" }] },
          { type: "tool_use", id: "1", input: { a: 1 } },
          { type: "tool_use", id: "2", input: { input: 'echo "\\n"' } },
        ],
        usage: { input_tokens: 7, output_tokens: 9 },
      })
    })
  }
})
