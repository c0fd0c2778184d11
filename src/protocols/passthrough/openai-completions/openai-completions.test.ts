import { describe, expect, test } from "bun:test"
import { isMeaningful } from "../../../canonical/chat/stream-event.ts"
import { relaying, streamReading } from "../../relay.fixture.ts"
import { readRequest } from "./read-request.ts"
import { relayStream } from "./relay-stream.ts"
import { decodeUsage } from "./usage.ts"

test("the paid candidates include those generated to choose from, for each prompt", () => {
  const candidatesOf = (more: object) => readRequest({ model: "a/b", prompt: "x", ...more }).outputLimits.candidates
  expect(candidatesOf({})).toBe(1)
  expect(candidatesOf({ n: 3 })).toBe(3)
  expect(candidatesOf({ n: 2, best_of: 5 })).toBe(5)
  expect(candidatesOf({ prompt: ["x", "y"], n: 2, best_of: 5 })).toBe(10)
  expect(candidatesOf({ prompt: [1, 2, 3] })).toBe(1)
  expect(candidatesOf({ prompt: [[1, 2], [3]] })).toBe(2)
})

describe("usage", () => {
  test("cached and reasoning tokens are separate buckets", () => {
    const wire = { prompt_tokens: 9, completion_tokens: 5, prompt_tokens_details: { cached_tokens: 4 } }
    expect(decodeUsage(wire)).toEqual({ input: 5, cacheRead: 4, output: 5 })
    const reasoned = { ...wire, completion_tokens_details: { reasoning_tokens: 2 } }
    expect(decodeUsage(reasoned)).toEqual({ input: 5, cacheRead: 4, output: 3, reasoning: 2 })
  })

  test("usage of a prompt alone has no output", () => {
    expect(decodeUsage({ prompt_tokens: 9, total_tokens: 9 })).toEqual({ input: 9, output: 0 })
  })

  test("usage without counts is undefined, and implausible counts are dropped", () => {
    expect(decodeUsage({})).toBeUndefined()
    expect(decodeUsage(null)).toBeUndefined()
    expect(decodeUsage({ prompt_tokens: -1 })).toEqual({})
  })
})

describe("a stream", () => {
  const chunk = (choices: object[], more = {}) =>
    `data: ${JSON.stringify({ id: "c", model: "up", choices, ...more })}\n\n`
  const textChunk = (text: string, finish_reason: string | null = null, index = 0) =>
    chunk([{ text, index, finish_reason }])
  const DONE = "data: [DONE]\n\n"
  const through = (pieces: readonly string[]) => {
    const relay = relaying(
      relayStream({ model: "a/b", reading: { ...streamReading("completions"), usageRequested: false } }),
    )
    const passed = pieces.map((piece) => relay.push(piece)).join("") + relay.finish()
    return { passed, events: relay.events }
  }

  test("a stream is relayed the same wherever its bytes are cut", () => {
    const whole = [
      textChunk("Gr\\u00fc\\u00df"),
      textChunk(" dich"),
      textChunk("", "stop"),
      chunk([], { usage: { prompt_tokens: 1 } }),
      DONE,
    ].join("")
    const expected = through([whole]).passed
    expect(expected).not.toContain("usage")
    for (let at = 0; at <= whole.length; at++)
      expect(through([whole.slice(0, at), whole.slice(at)]).passed).toBe(expected)
  })

  test("the stream decoder keeps candidates apart, and its first letter is meaningful", () => {
    const { events } = through([
      textChunk(""),
      textChunk("a"),
      textChunk("b", null, 1),
      textChunk("", "length"),
      textChunk("", "stop", 1),
      DONE,
    ])
    expect(events.find(isMeaningful)).toEqual({ type: "part-delta", candidate: 0, part: 0, text: "a" })
    const ends = events.filter(({ type }) => type === "candidate-end")
    expect(ends).toMatchObject([
      { candidate: 0, finish: { reason: "length" } },
      { candidate: 1, finish: { reason: "stop" } },
    ])
    expect(events.at(-1)).toEqual({ type: "stream-end" })
  })

  test("a stream is incomplete while a candidate continues, and its errors are reported", () => {
    expect(through([textChunk("a"), textChunk("", "stop", 1)]).events.at(-1)?.type).not.toBe("stream-end")
    const { events } = through([textChunk("a"), 'data: {"error":{"message":"No more."}}\n\n'])
    expect(events.at(-1)).toMatchObject({ type: "stream-error" })
    expect(through(["data: {oops\n\n"]).events).toMatchObject([{ type: "stream-error" }])
  })
})
