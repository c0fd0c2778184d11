// Encoding whole responses and streams, as strict clients and OpenAI's own library accept them.
import { describe, expect, test } from "bun:test"
import fc from "fast-check"
import OpenAI from "openai"
import { assembleResponse } from "../../../../canonical/chat/assemble-response.ts"
import type { CandidateFinish, ChatResponse } from "../../../../canonical/chat/chat-response.ts"
import type { Citation, ContentPart } from "../../../../canonical/chat/content-part.ts"
import type { PartStart, StreamEvent } from "../../../../canonical/chat/stream-event.ts"
import type { JsonObject } from "../../../../canonical/json.ts"
import { fromByteText } from "../../../../transport/json/byte-text.ts"
import { checkGrammar, encodeContext, read, written } from "../codec.fixture.ts"
import { openaiChatCodec } from "../codec.ts"

const { encodeResponse } = openaiChatCodec.ingress

const start = (part: number, kind: PartStart, candidate = 0): StreamEvent => ({
  type: "part-start",
  candidate,
  part,
  start: kind,
})
const delta = (part: number, text: string, candidate = 0): StreamEvent => ({
  type: "part-delta",
  candidate,
  part,
  text,
})
const end = (part: number): StreamEvent => ({ type: "part-end", candidate: 0, part })
const finished = (reason: CandidateFinish["reason"], candidate = 0): StreamEvent => ({
  type: "candidate-end",
  candidate,
  finish: { reason },
})
const called = (id: string): PartStart => ({ kind: "tool-call", id, name: "f", runsAt: "client" })

function answered(parts: readonly ContentPart[], more: Partial<ChatResponse["candidates"][number]> = {}) {
  const context = encodeContext()
  const body = encodeResponse(
    {
      id: "msg_1",
      candidates: [{ index: 0, parts, ...more }],
      usage: { input: 1, cacheRead: 2, output: 3, reasoning: 4 },
    },
    context,
  )
  return { body, choice: (body.choices as unknown as JsonObject[])[0], losses: context.losses.map(({ path }) => path) }
}

describe("whole responses", () => {
  test("a whole response has every member that clients read", () => {
    const { body } = answered([{ kind: "text", text: "a" }], { finish: { reason: "stop" } })
    expect(body).toEqual({
      id: "chatcmpl-abcdefghijklmnopqrstuvwx",
      object: "chat.completion",
      created: 1_700_000_000,
      model: "a/b",
      choices: [
        {
          index: 0,
          message: { role: "assistant", content: "a", refusal: null },
          logprobs: null,
          finish_reason: "stop",
        },
      ],
      usage: {
        prompt_tokens: 3,
        completion_tokens: 7,
        total_tokens: 10,
        prompt_tokens_details: { cached_tokens: 2, audio_tokens: 0 },
        completion_tokens_details: {
          reasoning_tokens: 4,
          audio_tokens: 0,
          accepted_prediction_tokens: 0,
          rejected_prediction_tokens: 0,
        },
      },
    })
  })

  test("a whole response has reasoning, text, citations and calls", () => {
    const thought = (text: string): ContentPart => ({ kind: "reasoning", form: "full", text })
    const { choice, losses } = answered([
      thought("x"),
      thought("y"),
      { kind: "text", text: "ab" },
      {
        kind: "text",
        text: "cd",
        citations: [{ url: "https://x", quote: "q" }, { quote: "q" }, { url: "https://y", start: 1, end: 2 }],
      },
      { kind: "tool-call", id: "", name: "f", arguments: "{}", runsAt: "client" },
      { kind: "tool-call", id: "2", name: "c", arguments: "x", input: "text", runsAt: "client" },
      { kind: "tool-call", id: "3", name: "web_search", arguments: "{}", runsAt: "provider" },
      { kind: "foreign", protocol: "x", value: {} },
    ])
    expect(choice).toEqual({
      index: 0,
      message: {
        role: "assistant",
        content: "abcd",
        refusal: null,
        reasoning_content: "x\n\ny",
        annotations: [
          {
            type: "url_citation",
            url_citation: { start_index: 2, end_index: 4, url: "https://x", title: "", content: "q" },
          },
          { type: "url_citation", url_citation: { start_index: 3, end_index: 4, url: "https://y", title: "" } },
        ],
        tool_calls: [
          { id: "call_abcdefghijklmnopqrstuvwx0", type: "function", function: { name: "f", arguments: "{}" } },
          { id: "2", type: "custom", custom: { name: "c", input: "x" } },
        ],
      },
      logprobs: null,
      finish_reason: "tool_calls",
    })
    expect(losses).toEqual(["candidates[0].parts[3].citations[1]", "candidates[0].parts[6]", "candidates[0].parts[7]"])
  })

  const endings: [CandidateFinish["reason"], ContentPart[], string][] = [
    ["stop", [], "stop"],
    ["stop-sequence", [], "stop"],
    ["length", [{ kind: "tool-call", id: "1", name: "f", arguments: "{", runsAt: "client" }], "length"],
    ["tool-calls", [], "stop"],
    ["stop", [{ kind: "tool-call", id: "1", name: "f", arguments: "{}", runsAt: "client" }], "tool_calls"],
    ["filtered", [], "content_filter"],
    ["refusal", [], "content_filter"],
    ["refusal", [{ kind: "refusal", text: "no" }], "stop"],
    ["paused", [], "stop"],
    ["other", [], "stop"],
  ]

  test.each(endings)("the finish %s of %j is %s, also in a stream", (reason, parts, word) => {
    expect(answered(parts, { finish: { reason } }).choice?.finish_reason).toBe(word)
    const grown = parts.flatMap((part): StreamEvent[] =>
      part.kind === "tool-call"
        ? [start(0, called("1")), delta(0, part.arguments)]
        : [start(0, { kind: "refusal" }), delta(0, "no")],
    )
    const frames = written([...grown, finished(reason), { type: "stream-end" }])
    expect(frames.join("")).toContain(`"finish_reason":"${word}"`)
  })

  test("a response without a finish reason gets one, and a reason without a counterpart is reported as lost", () => {
    expect(answered([]).choice?.finish_reason).toBe("stop")
    expect(answered([], { finish: { reason: "paused" } }).losses).toEqual(["candidates[0].finish"])
  })
})

describe("streams", () => {
  test("each event is sent as it arrives, and parallel parts are interleaved", () => {
    const encoder = openaiChatCodec.ingress.encodeStream(encodeContext({ usageRequested: false }))
    const left = (event: StreamEvent) => encoder.push(event).map((frame) => frame.replace(/^.*?"choices":/, ""))
    const tail = ',"logprobs":null,"finish_reason":null}]}\n\n'
    const opener = '[{"index":0,"delta":{"role":"assistant","content":"","refusal":null}'
    expect(left({ type: "stream-start", id: "x" })).toEqual([`${opener}${tail}`])
    expect(left(start(0, { kind: "reasoning", form: "full" }))).toEqual([])
    expect(left(delta(0, "hm"))).toEqual([`[{"index":0,"delta":{"reasoning_content":"hm"}${tail}`])
    expect(left(start(1, called("c1")))).toEqual([
      `[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"f","arguments":""}}]}${tail}`,
    ])
    expect(left(start(2, called("c2")))).toHaveLength(1)
    expect(left(delta(2, "{"))).toEqual([
      `[{"index":0,"delta":{"tool_calls":[{"index":1,"function":{"arguments":"{"}}]}${tail}`,
    ])
    expect(left(delta(1, "{"))).toEqual([
      `[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{"}}]}${tail}`,
    ])
    expect(left(end(1))).toEqual([])
    expect(left({ type: "usage", usage: { input: 1 } })).toEqual([])
    expect(left(finished("tool-calls"))).toEqual([
      '[{"index":0,"delta":{},"logprobs":null,"finish_reason":"tool_calls"}]}\n\n',
    ])
    expect(left({ type: "stream-end" })).toEqual(["data: [DONE]\n\n"])
    expect(left(delta(2, "late"))).toEqual([])
  })

  test("usage is sent if it was requested and is known", () => {
    const events: StreamEvent[] = [
      finished("stop"),
      { type: "usage", usage: { input: 1, output: 2 } },
      { type: "stream-end" },
    ]
    expect(written(events).at(-2)).toContain(
      '"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3',
    )
    expect(written(events, encodeContext({ usageRequested: false })).join("")).not.toContain("usage")
    expect(written([finished("stop"), { type: "stream-end" }]).join("")).not.toContain("prompt_tokens")
  })

  test("citations for a whole text wait until it is complete", () => {
    const cite = (citation: Citation): StreamEvent => ({ type: "part-cite", candidate: 0, part: 0, citation })
    const events = [
      start(0, { kind: "text" }),
      cite({ url: "https://x" }),
      delta(0, "abc"),
      cite({ url: "https://y", start: 1, end: 2 }),
    ]
    const annotationsIn = (frames: string[]) =>
      frames.flatMap((frame) => /"start_index":\d+,"end_index":\d+,"url":"[^"]*"/.exec(frame)?.[0] ?? [])
    expect(annotationsIn(written(events))).toEqual(['"start_index":1,"end_index":2,"url":"https://y"'])
    expect(annotationsIn(written([...events, end(0)]))[1]).toBe('"start_index":0,"end_index":3,"url":"https://x"')
    expect(annotationsIn(written([...events, finished("stop")]))).toHaveLength(2)
  })

  test("a stream that stops early has no end marker", () => {
    const frames = written([{ type: "stream-start" }, start(0, { kind: "text" }), delta(0, "a")])
    expect(frames.join("")).not.toContain("[DONE]")
  })

  const kinds: PartStart[] = [
    { kind: "text" },
    { kind: "refusal" },
    { kind: "reasoning", form: "full" },
    { kind: "tool-call", id: "c", name: "f", runsAt: "client" },
    { kind: "tool-call", id: "", name: "c", input: "text", runsAt: "client" },
    { kind: "tool-call", id: "p", name: "s", runsAt: "provider" },
    { kind: "whole", part: { kind: "media", media: "image", source: { at: "url", url: "https://x" } } },
    { kind: "whole", part: { kind: "foreign", protocol: "x", value: 1 } },
  ]
  const number = fc.integer({ min: 0, max: 3 })
  const event: fc.Arbitrary<StreamEvent> = fc.oneof(
    fc.record({
      type: fc.constant("part-start" as const),
      candidate: number,
      part: number,
      start: fc.constantFrom(...kinds),
    }),
    fc.record({
      type: fc.constant("part-delta" as const),
      candidate: number,
      part: number,
      text: fc.string({ unit: "grapheme" }),
    }),
    fc.record({ type: fc.constant("part-end" as const), candidate: number, part: number }),
    fc.record({
      type: fc.constant("part-cite" as const),
      candidate: number,
      part: number,
      citation: fc.constantFrom({ url: "https://x" }, {}),
    }),
    fc.record({
      type: fc.constant("logprobs" as const),
      candidate: number,
      tokens: fc.constant([{ token: "a", logprob: 0, others: [] }]),
    }),
    fc.constantFrom<StreamEvent>(finished("stop"), finished("tool-calls", 1), finished("refusal", 2)),
    fc.constantFrom<StreamEvent>(
      { type: "stream-start", id: "x", created: 5 },
      { type: "usage", usage: { input: 1 } },
      { type: "stream-end" },
    ),
    fc.constant<StreamEvent>({ type: "foreign", protocol: "x", value: 1 }),
  )

  test("any order of events yields a valid stream", () => {
    fc.assert(
      fc.property(fc.array(event, { maxLength: 40 }), fc.boolean(), (events, usageRequested) => {
        checkGrammar(written([...events, { type: "stream-end" }], encodeContext({ usageRequested })))
      }),
      { numRuns: 1000 },
    )
  })

  test("the grammar checker finds violations", () => {
    const [opener = "", ...others] = written([
      start(0, { kind: "text" }),
      delta(0, "a"),
      finished("stop"),
      { type: "stream-end" },
    ])
    for (const broken of [
      others,
      [opener, opener, ...others],
      [opener],
      [opener, ...others.slice(2)],
      [...others, opener],
    ]) {
      expect(() => checkGrammar(broken)).toThrow()
    }
  })

  const piece = fc.string({ unit: "grapheme", minLength: 1 })
  const grown = fc.tuple(fc.constantFrom<PartStart>(...kinds.slice(0, 5)), fc.array(piece))

  test("an encoded stream decodes to the same, wherever its bytes are cut", () => {
    fc.assert(
      fc.property(fc.array(grown, { maxLength: 4 }), fc.nat(), (parts, cut) => {
        const named = parts.map(
          ([kind, pieces], index) => [kind.kind === "tool-call" ? { ...kind, id: `c${index}` } : kind, pieces] as const,
        )
        const events = [
          ...named.flatMap(([kind, pieces], part) => [
            start(part, kind),
            ...pieces.map((text) => delta(part, text)),
            end(part),
          ]),
          finished("stop"),
          { type: "stream-end" } as const,
        ]
        const bytes = written([{ type: "stream-start" }, ...events]).join("")
        const place = cut % bytes.length
        const back = assembleResponse(read([bytes.slice(0, place), bytes.slice(place)]))
        expect(textsOf(back)).toEqual(textsOf(assembleResponse(events)))
      }),
    )
  })

  /** The joined text of each kind, and the calls. */
  function textsOf({ candidates: [candidate] }: ChatResponse) {
    const texts = { text: "", refusal: "", reasoning: "" }
    const calls: string[] = []
    for (const part of candidate?.parts ?? []) {
      if (part.kind === "tool-call") calls.push(`${part.id} ${part.name} ${part.input} ${part.arguments}`)
      else if (part.kind === "reasoning") texts.reasoning += part.text.replaceAll("\n", "")
      else if (part.kind === "text" || part.kind === "refusal") texts[part.kind] += part.text
    }
    return { ...texts, calls }
  }

  test("OpenAI's client library assembles the stream", async () => {
    const token = { token: "a", logprob: -1, others: [] }
    const events: StreamEvent[] = [
      { type: "stream-start" },
      start(0, { kind: "reasoning", form: "full" }),
      delta(0, "hm"),
      start(1, { kind: "text" }),
      delta(1, "Grüß "),
      delta(1, "dich"),
      { type: "logprobs", candidate: 0, tokens: [token] },
      start(2, called("c1")),
      start(3, called("c2")),
      delta(3, "{}"),
      delta(2, '{"a":1}'),
      finished("tool-calls"),
      start(0, { kind: "text" }, 1),
      delta(0, "other", 1),
      finished("length", 1),
      { type: "usage", usage: { input: 1, output: 2 } },
      { type: "stream-end" },
    ]
    const bytes = fromByteText(written(events).join(""))
    const fetch = async () => new Response(bytes, { headers: { "content-type": "text/event-stream" } })
    const client = new OpenAI({ apiKey: "k", baseURL: "http://127.0.0.1:1/v1", fetch })
    const completion = await client.chat.completions
      .stream({
        model: "a/b",
        messages: [{ role: "user", content: "hi" }],
        n: 2,
        stream_options: { include_usage: true },
      })
      .finalChatCompletion()
    const [first, second] = completion.choices
    expect(first?.message.content).toBe("Grüß dich")
    expect(first?.message.tool_calls).toMatchObject([
      { id: "c1", function: { name: "f", arguments: '{"a":1}' } },
      { id: "c2", function: { name: "f", arguments: "{}" } },
    ])
    expect(first?.logprobs?.content).toMatchObject([{ token: "a", logprob: -1 }])
    expect([first?.finish_reason, second?.finish_reason, second?.message.content]).toEqual([
      "tool_calls",
      "length",
      "other",
    ])
    expect(completion.usage?.total_tokens).toBe(3)
  })
})
