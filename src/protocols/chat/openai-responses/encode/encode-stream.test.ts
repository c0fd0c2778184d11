import { describe, expect, test } from "bun:test"
import fc from "fast-check"
import { assembleResponse } from "../../../../canonical/chat/assemble-response.ts"
import type { ContentPart } from "../../../../canonical/chat/content-part.ts"
import type { PartStart, StreamEvent } from "../../../../canonical/chat/stream-event.ts"
import { GatewayError } from "../../../../canonical/gateway-error.ts"
import {
  answering,
  call,
  delta,
  encodeContext,
  end,
  eventsIn,
  finish,
  ID,
  over,
  REQUEST_BODY,
  readStream,
  start,
  writeStream,
} from "../codec.fixture.ts"
import { openaiResponsesCodec } from "../codec.ts"
import { checkGrammar } from "./stream-grammar.fixture.ts"

const { ingress } = openaiResponsesCodec

/** The names of the events that each push emits. */
function letOut(events: readonly StreamEvent[]): string[] {
  const encoder = ingress.encodeStream(encodeContext())
  return events.map((event) =>
    eventsIn(encoder.push(event).join(""))
      .map(({ type }) => String(type).replace(/^response\./, ""))
      .join(" "),
  )
}

describe("the time at which an event is sent", () => {
  test("an event is sent as soon as it has content", () => {
    expect(
      letOut([
        { type: "stream-start", id: "x" },
        start(0, { kind: "reasoning", form: "summary" }),
        delta(0, "hm"),
        end(0),
        start(1, { kind: "text" }),
        delta(1, "a"),
        delta(1, "b"),
        end(1),
        start(2, call("1")),
        delta(2, "{}"),
        end(2),
        finish,
        { type: "usage", usage: { input: 1 } },
        over,
      ]),
    ).toEqual([
      "created in_progress",
      "",
      "output_item.added reasoning_summary_part.added reasoning_summary_text.delta",
      "reasoning_summary_text.done reasoning_summary_part.done output_item.done",
      "",
      "output_item.added content_part.added output_text.delta",
      "output_text.delta",
      "output_text.done content_part.done",
      "output_item.done output_item.added",
      "function_call_arguments.delta",
      "function_call_arguments.done output_item.done",
      "",
      "",
      "completed",
    ])
  })

  test("an event of an overlapping part is sent when the item before it is done", () => {
    const events = [
      start(0, call("1")),
      start(1, call("2")),
      delta(1, '{"b"'),
      delta(0, "{}"),
      delta(1, ":1}"),
      end(0),
      end(1),
      finish,
      over,
    ]
    expect(letOut(events).slice(1, 7)).toEqual([
      "",
      "",
      "function_call_arguments.delta",
      "",
      "function_call_arguments.done output_item.done output_item.added function_call_arguments.delta",
      "function_call_arguments.done output_item.done",
    ])
  })

  test("an empty part does not delay the next one", () => {
    const [, , out] = letOut([
      start(0, { kind: "reasoning", form: "hidden" }),
      start(1, { kind: "text" }),
      delta(1, "x"),
    ])
    expect(out).toBe("output_item.added content_part.added output_text.delta")
  })
})

test("a stream that is cut off is marked as incomplete", () => {
  const cut: StreamEvent = { type: "candidate-end", candidate: 0, finish: { reason: "length" } }
  const frames = writeStream([start(0, { kind: "text" }), delta(0, "a"), start(1, call("1")), delta(1, "{"), cut, over])
  checkGrammar(frames)
  expect(eventsIn(frames.join("")).at(-1)).toMatchObject({
    type: "response.incomplete",
    response: { status: "incomplete", output: [{ status: "completed" }, { status: "incomplete", arguments: "{" }] },
  })
})

test("a stream and a whole response have the same content", () => {
  const parts: ContentPart[] = [
    { kind: "reasoning", form: "full", text: "hm", sealed: { mintedBy: "m", data: "d" } },
    { kind: "text", text: "Zoë 👋", citations: [{ url: "https://a", title: "t" }] },
    { kind: "tool-call", id: "1", name: "agents__open", arguments: "{}", runsAt: "client" },
  ]
  const events = parts.flatMap((part, index): StreamEvent[] => {
    const content = part.kind === "tool-call" ? part.arguments : "text" in part ? part.text : ""
    const begin = part.kind === "tool-call" ? call("1", part.name) : ({ kind: part.kind, form: "full" } as PartStart)
    const cites = part.kind === "text" ? (part.citations ?? []) : []
    return [
      start(index, begin),
      delta(index, content.slice(0, 1)),
      delta(index, content.slice(1)),
      ...cites.map((citation): StreamEvent => ({ type: "part-cite", candidate: 0, part: index, citation })),
      { type: "part-end", candidate: 0, part: index, ...("sealed" in part && part.sealed && { sealed: part.sealed }) },
    ]
  })
  const counted = { input: 3, cacheRead: 1, output: 2 }
  const usage: StreamEvent = { type: "usage", usage: counted }
  const frames = writeStream([...events, finish, usage, over], answering(REQUEST_BODY))
  const candidates = [{ index: 0, parts, finish: { reason: "stop" } as const }]
  const whole = ingress.encodeResponse({ candidates, usage: counted }, answering(REQUEST_BODY))
  expect(eventsIn(frames.join("")).at(-1)?.response).toEqual(whole)
})

describe("errors in a stream", () => {
  const error = new GatewayError("upstream_unavailable", "Gone.")
  const context = { requestId: "11-22", unixTime: 5 }

  test("an error before any event opens a response, fails it, and then fails the stream", () => {
    const encoder = ingress.encodeStream(answering(REQUEST_BODY))
    const events = eventsIn(encoder.errorFrame(error, context))
    expect(events.map(({ type, sequence_number }) => [type, sequence_number])).toEqual([
      ["response.created", 0],
      ["response.failed", 1],
      ["error", 2],
    ])
    expect(events[1]?.response).toMatchObject({ id: `resp_${ID}`, status: "failed", created_at: 5, temperature: 0.5 })
  })

  test("an error in a running stream continues the numbering and the opened response", () => {
    const encoder = ingress.encodeStream(encodeContext())
    const frames = [{ type: "stream-start", created: 9 } as const, start(0, { kind: "text" }), delta(0, "a")].flatMap(
      (event) => encoder.push(event),
    )
    const events = eventsIn(encoder.errorFrame(error, context))
    expect(events.map(({ type, sequence_number }) => [type, sequence_number])).toEqual([
      ["response.failed", frames.length],
      ["error", frames.length + 1],
    ])
    expect(events[0]?.response).toMatchObject({
      id: `resp_${ID}`,
      created_at: 9,
      error: { code: "upstream_unavailable" },
    })
  })
})

/** Any events at all, in any order. */
const number = fc.nat({ max: 2 })
const sealed = fc.option(
  fc.record({ mintedBy: fc.constantFrom("google", "openai"), data: fc.string({ minLength: 1 }) }),
  { nil: undefined },
)
const starts = fc.constantFrom<PartStart>(
  { kind: "text" },
  { kind: "refusal" },
  { kind: "reasoning", form: "full" },
  { kind: "reasoning", form: "summary" },
  { kind: "reasoning", form: "hidden" },
  call("1"),
  { kind: "tool-call", id: "", name: "f", input: "text", runsAt: "client" },
  call("2", "agents__open"),
  call("3", "local_shell"),
  { kind: "tool-call", id: "srvtoolu_1", name: "web_search", runsAt: "provider" },
  { kind: "tool-call", id: "x", name: "other", runsAt: "provider" },
  { kind: "whole", part: { kind: "foreign", protocol: "openai-responses", value: { type: "x" } } },
  {
    kind: "whole",
    part: { kind: "media", media: "image", source: { at: "inline", mediaType: "image/png", base64: "A" } },
  },
  { kind: "whole", part: { kind: "media", media: "image", source: { at: "url", url: "u" } } },
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
    citation: fc.record({ url: fc.string(), end: fc.nat() }),
  }),
  fc
    .record({ type: fc.constant("part-end" as const), candidate: fc.constant(0), part: number, sealed })
    .map(({ sealed: seal, ...rest }) => ({ ...rest, ...(seal && { sealed: seal }) })),
  fc.record({ type: fc.constant("usage" as const), usage: fc.record({ input: fc.nat(), output: fc.nat() }) }),
  fc.constant<StreamEvent>({ type: "logprobs", candidate: 0, tokens: [{ token: "a", logprob: -1, others: [] }] }),
  fc.constant<StreamEvent>(finish),
  fc.constant<StreamEvent>({ type: "foreign", protocol: "x", value: 1 }),
)

test("any order of events yields a valid stream that decodes to the same content", () => {
  fc.assert(
    fc.property(fc.array(event, { maxLength: 40 }), (events) => {
      const frames = writeStream([...events, over, ...events], answering(REQUEST_BODY))
      checkGrammar(frames)
      expect(readStream([frames.join("")]).at(-1)).toEqual(over)
    }),
    { numRuns: 500 },
  )
})

test("ordered parts decode to the same text, wherever the stream is cut", () => {
  const partList = fc.array(
    fc.record({
      begin: fc.constantFrom<PartStart>(
        { kind: "text" },
        call("1"),
        { kind: "reasoning", form: "full" },
        { kind: "refusal" },
      ),
      texts: fc.array(fc.string({ unit: "grapheme", minLength: 1 }), { minLength: 1 }),
    }),
  )
  fc.assert(
    fc.property(partList, fc.nat(), (parts, cut) => {
      const events = parts.flatMap((each, part) => [
        start(part, each.begin),
        ...each.texts.map((piece) => delta(part, piece)),
        end(part),
      ])
      const written = writeStream([...events, finish, over]).join("")
      const at = cut % (written.length + 1)
      const again = assembleResponse(readStream([written.slice(0, at), written.slice(at)])).candidates[0]?.parts ?? []
      const bare = again.map((part) =>
        part.kind === "reasoning" ? { kind: part.kind, form: part.form, text: part.text } : part,
      )
      expect(bare).toEqual(assembleResponse([...events, finish]).candidates[0]?.parts as never)
    }),
  )
})

test("a stream decodes to the same events wherever its bytes are cut", () => {
  const story = [
    start(0, { kind: "text" }),
    delta(0, "Zoë "),
    delta(0, "👋"),
    end(0),
    start(1, call("1")),
    delta(1, "{}"),
    end(1),
    finish,
    over,
  ]
  const written = writeStream(story).join("")
  const whole = readStream([written])
  for (let cut = 1; cut < written.length; cut++)
    expect(readStream([written.slice(0, cut), written.slice(cut)])).toEqual(whole)
})
