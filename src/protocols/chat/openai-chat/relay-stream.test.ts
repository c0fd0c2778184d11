import { describe, expect, test } from "bun:test"
import { assembleResponse } from "../../../canonical/chat/assemble-response.ts"
import { isMeaningful, type StreamEvent } from "../../../canonical/chat/stream-event.ts"
import { encodeByteText } from "../../../transport/json/byte-text.ts"
import { decodeSse } from "../../../transport/streams/sse.ts"
import { streamReading } from "../../relay.fixture.ts"
import { decodeStream } from "./decode/decode-stream.ts"
import { relayStream } from "./relay-stream.ts"

function frames(text: string) {
  const step = decodeSse()
  return [...step.push(encodeByteText(text)), ...step.finish()]
}

function events(...chunks: (object | string)[]): StreamEvent[] {
  const decoder = decodeStream()
  const text = chunks.map((chunk) => `data: ${typeof chunk === "string" ? chunk : JSON.stringify(chunk)}\n\n`).join("")
  return [...frames(text).flatMap((frame) => decoder.push(frame)), ...decoder.finish()]
}

const choice = (delta: object, finish_reason: string | null = null, index = 0) => ({
  id: "c1",
  model: "m",
  choices: [{ index, delta, finish_reason }],
})

describe("the decoder", () => {
  test("the decoder reads text, finish and usage", () => {
    const read = events(
      choice({ role: "assistant", content: "" }),
      choice({ content: "Grüß " }),
      choice({ content: "dich" }),
      choice({}, "stop"),
      { choices: [], usage: { prompt_tokens: 3, completion_tokens: 2 } },
      "[DONE]",
    )
    expect(assembleResponse(read)).toEqual({
      id: "c1",
      model: "m",
      candidates: [
        { index: 0, parts: [{ kind: "text", text: "Grüß dich" }], finish: { reason: "stop", word: "stop" } },
      ],
      usage: { input: 3, output: 2 },
    })
    expect(read.at(-1)).toEqual({ type: "stream-end" })
  })

  test("the decoder reads tool calls in pieces, also interleaved and after text", () => {
    const call = (index: number, rest: object) => choice({ tool_calls: [{ index, ...rest }] })
    const read = events(
      choice({ role: "assistant", content: "Let me look." }),
      call(0, { id: "a", type: "function", function: { name: "f", arguments: "" } }),
      call(1, { id: "b", type: "function", function: { name: "g", arguments: '{"y"' } }),
      call(0, { function: { arguments: '{"x":1}' } }),
      call(1, { function: { arguments: ":2}" } }),
      choice({}, "tool_calls"),
      "[DONE]",
    )
    expect(assembleResponse(read).candidates[0]?.parts).toEqual([
      { kind: "text", text: "Let me look." },
      { kind: "tool-call", id: "a", name: "f", runsAt: "client", arguments: '{"x":1}' },
      { kind: "tool-call", id: "b", name: "g", runsAt: "client", arguments: '{"y":2}' },
    ])
  })

  test("the decoder distinguishes reasoning from text, and ends a part when the kind changes", () => {
    const read = events(choice({ reasoning_content: "hm" }), choice({ content: "yes" }), choice({ refusal: "no" }))
    expect(read.map((event) => event.type)).toEqual([
      "stream-start",
      "part-start",
      "part-delta",
      "part-end",
      "part-start",
      "part-delta",
      "part-end",
      "part-start",
      "part-delta",
    ])
  })

  test("the decoder keeps candidates apart", () => {
    const read = events(
      choice({ content: "a" }, null, 1),
      choice({ content: "b" }),
      choice({ content: "c" }, "length", 1),
    )
    const texts = assembleResponse(read).candidates.map(({ parts }) => parts)
    expect(texts).toEqual([[{ kind: "text", text: "b" }], [{ kind: "text", text: "ac" }]])
  })

  test("a role alone is not meaningful", () => {
    expect(events(choice({ role: "assistant", content: "" })).some(isMeaningful)).toBe(false)
  })

  test("an error in a stream is recognised in any of its forms", () => {
    const codeOf = (chunk: object | string) => {
      const [event] = events(chunk)
      return event?.type === "stream-error" ? event.error.code : undefined
    }
    expect(codeOf({ error: { message: "busy", code: 502 } })).toBe("upstream_unavailable")
    expect(codeOf({ error: { message: "slow down", code: 429 } })).toBe("upstream_rate_limited")
    expect(codeOf({ error: { message: "bad", type: "invalid_request_error" } })).toBe("invalid_parameter")
    expect(codeOf({ error: { message: "no", type: "invalid_request_error", code: "invalid_api_key" } })).toBe(
      "upstream_unavailable",
    )
    expect(codeOf({ error: "a sentence" })).toBe("upstream_unavailable")
    expect(codeOf("{oops")).toBe("upstream_unavailable")
    expect(codeOf("[1]")).toBe("upstream_unavailable")
  })

  test("a response is complete without its terminal event if all candidates have ended", () => {
    expect(events(choice({ content: "a" }, "stop")).at(-1)).toEqual({ type: "stream-end" })
    expect(events(choice({ content: "a" })).at(-1)?.type).toBe("part-delta")
    expect(events(choice({}, "stop", 0), choice({ content: "b" }, null, 1)).at(-1)?.type).toBe("part-delta")
  })

  test("events after the end are ignored", () => {
    expect(events("[DONE]", choice({ content: "late" }))).toEqual([{ type: "stream-end" }])
  })
})

describe("relaying a stream", () => {
  const reading = streamReading("chat")
  const pass = (text: string, usageRequested: boolean) => {
    const relay = relayStream({ model: "a/b", reading: { ...reading, usageRequested } })
    return frames(text)
      .map((frame) => relay.edit(frame))
      .join("")
  }

  test("the relay replaces the model's name and leaves the rest", () => {
    const chunk =
      'data: {"id":"x", "model" : "up-1","n":1.0,"choices":[{"delta":{"role":"assistant","model":"m"}}]}\r\n\r\n'
    expect(pass(chunk, true)).toBe(chunk.replace('"up-1"', '"a/b"'))
  })

  test("the relay replaces the model's name in every event, whatever their shape", () => {
    const texts = [
      '{"id":"1","model":"up","choices":[1]}',
      '{"id":"1","model":"up","choices":[2]}',
      '{"id":"1","model":"up2","choices":[]}',
      '{"choices":[],"id":"1","model":"up"}',
    ]
    const passed = pass(texts.map((text) => `data: ${text}\n\n`).join(""), true)
    expect(passed).toBe(texts.map((text) => `data: ${text.replace(/"up2?"/, '"a/b"')}\n\n`).join(""))
    const numbers = ['{"model":1}', '{"model":12}', '{"model":1,"model":"up"}'].map((text) =>
      text.replace("{", '{"choices":[],'),
    )
    expect(pass(numbers.map((text) => `data: ${text}\n\n`).join(""), true)).toBe(
      `${'data: {"choices":[],"model":"a/b"}\n\n'.repeat(2)}data: {"choices":[],"model":"a/b","model":"a/b"}\n\n`,
    )
  })

  test("usage that the client did not request is removed, together with a chunk that holds nothing else", () => {
    expect(pass('data: {"model":"m","choices":[{"delta":{"role":"assistant"}}],"usage":null}\n\n', false)).toBe(
      'data: {"model":"a/b","choices":[{"delta":{"role":"assistant"}}]}\n\n',
    )
    expect(pass('data: {"choices":[{"delta":{"role":"assistant"}}],"usage":{"prompt_tokens":1}}\n\n', false)).toBe(
      'data: {"choices":[{"delta":{"role":"assistant"}}]}\n\n',
    )
    expect(pass('data: {"model":"m","choices":[ ],"usage":{"prompt_tokens":1}}\n\n', false)).toBe("")
    expect(pass('data: {"model":"m","choices":[],"usage":null}\n\n', false)).toBe(
      'data: {"model":"a/b","choices":[]}\n\n',
    )
  })

  test("the relay forwards requested usage", () => {
    const chunk = 'data: {"choices":[],"usage":{"prompt_tokens":1}}\n\n'
    expect(pass(chunk, true)).toBe(chunk)
  })

  test("the relay forwards comments, blank lines and the end unchanged", () => {
    const text = ": ping\n\n\n\ndata: [DONE]\n\n"
    expect(pass(text, false)).toBe(text)
  })
})
