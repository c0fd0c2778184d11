import { describe, expect, test } from "bun:test"
import { assembleResponse } from "../../../canonical/chat/assemble-response.ts"
import type { StreamEvent } from "../../../canonical/chat/stream-event.ts"
import { GatewayError } from "../../../canonical/gateway-error.ts"
import type { JsonObject } from "../../../canonical/json.ts"
import { decodeSse } from "../../../transport/streams/sse.ts"
import { relaying, streamReading } from "../../relay.fixture.ts"
import { decodeStream } from "./decode/decode-stream.ts"
import { relayStream } from "./relay-stream.ts"

const reading = streamReading("responses")

/** Numbers the events as they come. */
function streamOf(...events: { type: string; [member: string]: unknown }[]): string {
  return events
    .map((event, index) => `event: ${event.type}\ndata: ${JSON.stringify({ ...event, sequence_number: index })}\n\n`)
    .join("")
}

const usage = {
  input_tokens: 20,
  input_tokens_details: { cached_tokens: 5 },
  output_tokens: 8,
  output_tokens_details: { reasoning_tokens: 3 },
  total_tokens: 28,
}
const response = (more: object = {}) => ({ id: "resp_1", object: "response", created_at: 7, model: "gpt-x", ...more })
const created = { type: "response.created", response: response({ status: "in_progress", output: [] }) }
const word = (delta: string) => ({
  type: "response.output_text.delta",
  item_id: "m",
  output_index: 0,
  content_index: 0,
  delta,
})
const completed = { type: "response.completed", response: response({ status: "completed", output: [], usage }) }
const text = streamOf(
  created,
  { type: "response.in_progress", response: response({ status: "in_progress" }) },
  { type: "response.output_item.added", output_index: 0, item: { type: "message", id: "m" } },
  { type: "response.content_part.added", output_index: 0, content_index: 0, part: { type: "output_text" } },
  ...["Good ", "day", ", ", 'said "she"', "."].map(word),
  { type: "response.output_item.done", output_index: 0, item: { type: "message", id: "m" } },
  completed,
)

function decode(stream: string): StreamEvent[] {
  const sse = decodeSse()
  const decoder = decodeStream()
  return [...[...sse.push(stream), ...sse.finish()].flatMap((frame) => decoder.push(frame)), ...decoder.finish()]
}

function relayed() {
  const relay = relayStream({ model: "a/b", reading })
  return { relay, ...relaying(relay) }
}

describe("decoding a stream", () => {
  test("a text stream is read to its end, with its usage in buckets", () => {
    const events = decode(text)
    expect(events[0]).toEqual({ type: "stream-start", id: "resp_1", model: "gpt-x", created: 7 })
    expect(events.at(-1)).toEqual({ type: "stream-end" })
    const folded = assembleResponse(events)
    expect(folded.candidates[0]?.parts).toEqual([{ kind: "text", text: 'Good day, said "she".' }])
    expect(folded.candidates[0]?.finish).toEqual({ reason: "stop" })
    expect(folded.usage).toEqual({ input: 15, cacheRead: 5, output: 5, reasoning: 3 })
  })

  test("reasoning with its seal and tool calls are read from a stream", () => {
    const events = decode(
      streamOf(
        created,
        { type: "response.output_item.added", output_index: 0, item: { type: "reasoning", id: "rs" } },
        { type: "response.reasoning_summary_text.delta", output_index: 0, summary_index: 0, delta: "hm" },
        { type: "response.output_item.done", output_index: 0, item: { type: "reasoning", encrypted_content: "enc" } },
        {
          type: "response.output_item.added",
          output_index: 1,
          item: { type: "function_call", id: "fc", call_id: "c1", name: "look" },
        },
        { type: "response.function_call_arguments.delta", output_index: 1, delta: '{"a":1}' },
        { type: "response.output_item.done", output_index: 1, item: { type: "function_call" } },
        completed,
      ),
    )
    expect(events).toContainEqual({
      type: "part-end",
      candidate: 0,
      part: 0,
      sealed: { mintedBy: "openai", data: "enc" },
    })
    expect(events).toContainEqual({
      type: "part-start",
      candidate: 0,
      part: 1,
      start: { kind: "tool-call", id: "c1", name: "look", runsAt: "client" },
    })
    expect(assembleResponse(events).candidates[0]?.finish?.reason).toBe("tool-calls")
  })

  test("an incomplete response has its reason", () => {
    const cut = { status: "incomplete", incomplete_details: { reason: "max_output_tokens" } }
    const events = decode(streamOf(created, word("x"), { type: "response.incomplete", response: response(cut) }))
    expect(events).toContainEqual({
      type: "candidate-end",
      candidate: 0,
      finish: { reason: "length", word: "max_output_tokens" },
    })
  })

  test("a failure, an error and a missing terminal event do not complete a response", () => {
    const failed = { type: "response.failed", response: response({ error: { code: "server_error", message: "x" } }) }
    expect(decode(streamOf(created, failed)).at(-1)).toMatchObject({ type: "stream-error" })
    const limited = { type: "error", code: "rate_limit_exceeded", message: "slow down" }
    expect(decode(streamOf(created, limited)).at(-1)).toMatchObject({ error: { code: "upstream_rate_limited" } })
    expect(decode(streamOf(created, word("x"))).some(({ type }) => type === "stream-end")).toBe(false)
  })
})

describe("relaying a stream", () => {
  const expected = text.replaceAll('"gpt-x"', '"a/b"')

  test("the relay replaces the model's name and forwards every other byte, wherever the stream is cut", () => {
    for (let cut = 0; cut <= text.length; cut++) {
      const { push } = relayed()
      expect(push(text.slice(0, cut)) + push(text.slice(cut))).toBe(expected)
    }
    const { push } = relayed()
    expect(
      text
        .split(/(?<=\n\n)/)
        .map(push)
        .join(""),
    ).toBe(expected)
  })

  test("the relay sets its own response id in every event, even if a host changes it", () => {
    const kept = { id: "resp_ours", store: true, maxLength: 1000, previous: "resp_before" }
    const { push } = relaying(relayStream({ model: "a/b", reading: { ...reading, storage: kept } }))
    const again = { type: "response.completed", response: response({ id: "resp_2", status: "completed" }) }
    const responses = data(push(streamOf(created, again))).map((event) => event.response)
    const stored = { id: "resp_ours", store: true, previous_response_id: "resp_before" }
    expect(responses).toEqual([expect.objectContaining(stored), expect.objectContaining(stored)])
  })

  test("the relay marks a response that became too long as not stored", () => {
    const kept = { id: "resp_ours", store: true, maxLength: 1000 }
    const { push } = relaying(relayStream({ model: "a/b", reading: { ...reading, storage: kept } }))
    const long = { type: "response.completed", response: response({ status: "completed", output: ["x".repeat(1000)] }) }
    const responses = data(push(streamOf(created, long))).map((event) => event.response)
    expect(responses).toEqual([expect.objectContaining({ store: true }), expect.objectContaining({ store: false })])
  })

  const data = (frames: string): JsonObject[] =>
    [...frames.matchAll(/^data: (.*)$/gm)].map(([, json = ""]) => JSON.parse(json) as JsonObject)
  const error = new GatewayError("upstream_unavailable", "Gone.")
  const context = { requestId: "11-22", unixTime: 5 }

  test("a relay that fails before the first event opens a response, fails it, and then fails the stream", () => {
    const events = data(relayed().relay.errorFrame(error, context))
    expect(events.map(({ type }) => type)).toEqual(["response.created", "response.failed", "error"])
    expect(events.map(({ sequence_number }) => sequence_number)).toEqual([0, 1, 2])
    expect(events[1]?.response).toMatchObject({ id: "resp_1122", status: "failed", model: "a/b", created_at: 5 })
    expect(events[2]).toMatchObject({ code: "upstream_unavailable", message: "Gone.", error: { message: "Gone." } })
  })

  test("a relay that fails later continues the numbering and the opened response", () => {
    const { relay, push } = relayed()
    const begun = streamOf(created, ...["a", "b", "c", "d"].map(word))
    for (const frame of begun.split(/(?<=\n\n)/)) push(frame)
    const events = data(relay.errorFrame(error, context))
    expect(events.map(({ type }) => type)).toEqual(["response.failed", "error"])
    expect(events.map(({ sequence_number }) => sequence_number)).toEqual([5, 6])
    expect(events[0]?.response).toMatchObject({ id: "resp_1", model: "a/b", status: "failed" })
  })
})
