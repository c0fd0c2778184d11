import { describe, expect, test } from "bun:test"
import { assembleResponse } from "../../../canonical/chat/assemble-response.ts"
import type { StreamEvent } from "../../../canonical/chat/stream-event.ts"
import { GatewayError } from "../../../canonical/gateway-error.ts"
import { decodeByteText } from "../../../transport/json/byte-text.ts"
import { decodeSse } from "../../../transport/streams/sse.ts"
import { relaying, streamReading } from "../../relay.fixture.ts"
import { decodeStream } from "./decode/decode-stream.ts"
import { relayStream } from "./relay-stream.ts"

const event = (data: { type: string; [member: string]: unknown }) =>
  `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`

const opening = event({
  type: "message_start",
  message: { id: "msg_1", model: "claude-x", usage: { input_tokens: 9, output_tokens: 1, cache_read_input_tokens: 4 } },
})
const textDelta = (text: string) =>
  event({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text } })
const closing =
  event({
    type: "message_delta",
    delta: { stop_reason: "end_turn", stop_sequence: null },
    usage: { output_tokens: 15 },
  }) + event({ type: "message_stop" })
const text =
  opening +
  event({ type: "content_block_start", index: 0, content_block: { type: "text", text: "" } }) +
  event({ type: "ping" }) +
  textDelta("Good ") +
  textDelta("day, ") +
  textDelta("Zo\xc3\xab") +
  textDelta("!") +
  event({ type: "content_block_stop", index: 0 }) +
  closing

const reading = streamReading("messages")

function decode(stream: string): StreamEvent[] {
  const sse = decodeSse()
  const decoder = decodeStream()
  return [...[...sse.push(stream), ...sse.finish()].flatMap((frame) => decoder.push(frame)), ...decoder.finish()]
}

function relayed(pieces: readonly string[]): string {
  const { push, finish } = relaying(relayStream({ model: "a/b", reading }))
  return pieces.map(push).join("") + finish()
}

describe("decoding a stream", () => {
  test("a text stream is read to its end, with growing usage", () => {
    const events = decode(text)
    expect(events.at(-1)).toEqual({ type: "stream-end" })
    const folded = assembleResponse(events)
    expect(folded.candidates[0]?.parts).toEqual([{ kind: "text", text: decodeByteText("Good day, Zo\xc3\xab!") }])
    expect(folded.candidates[0]?.finish).toEqual({ reason: "stop", word: "end_turn" })
    expect(folded.usage).toEqual({ input: 9, cacheRead: 4, output: 15 })
  })

  test("thinking with its signature and tool calls are read from a stream", () => {
    const events = decode(
      opening +
        event({ type: "content_block_start", index: 0, content_block: { type: "thinking", thinking: "" } }) +
        event({ type: "content_block_delta", index: 0, delta: { type: "thinking_delta", thinking: "hm" } }) +
        event({ type: "content_block_delta", index: 0, delta: { type: "signature_delta", signature: "sig" } }) +
        event({ type: "content_block_stop", index: 0 }) +
        event({ type: "content_block_start", index: 1, content_block: { type: "tool_use", id: "t1", name: "look" } }) +
        event({ type: "content_block_delta", index: 1, delta: { type: "input_json_delta", partial_json: '{"a":1}' } }) +
        event({ type: "content_block_stop", index: 1 }),
    )
    expect(events).toContainEqual({
      type: "part-end",
      candidate: 0,
      part: 0,
      sealed: { mintedBy: "anthropic", data: "sig" },
    })
    expect(events).toContainEqual({
      type: "part-start",
      candidate: 0,
      part: 1,
      start: { kind: "tool-call", id: "t1", name: "look", runsAt: "client" },
    })
  })

  test("a stream without its last event is complete after a stop reason, and broken before", () => {
    expect(decode(text.replace(event({ type: "message_stop" }), "")).at(-1)).toEqual({ type: "stream-end" })
    expect(decode(opening + textDelta("x")).at(-1)?.type).not.toBe("stream-end")
  })

  test("an error in a stream is the upstream's, whatever it contains", () => {
    const overloaded = event({ type: "error", error: { type: "overloaded_error", message: "Overloaded" } })
    expect(decode(opening + overloaded).at(-1)).toMatchObject({
      type: "stream-error",
      error: { code: "upstream_unavailable", owner: "upstream", upstreamStatus: 529 },
    })
    expect(decode("event: x\ndata: {oops\n\n").at(-1)).toMatchObject({ type: "stream-error" })
  })
})

describe("relaying a stream", () => {
  const expected = text.replace('"claude-x"', '"a/b"')

  test("the relay replaces the model's name and forwards every other byte, wherever the stream is cut", () => {
    for (let cut = 0; cut <= text.length; cut++) {
      expect(relayed([text.slice(0, cut), text.slice(cut)])).toBe(expected)
    }
    expect(relayed(text.split(/(?<=\n\n)/))).toBe(expected)
    expect(relayed([...text])).toBe(expected)
  })

  test("the relay forwards the opening event once, even if the host sends it twice", () => {
    expect(relayed([opening, opening, textDelta("x"), closing])).toBe(
      opening.replace('"claude-x"', '"a/b"') + textDelta("x") + closing,
    )
    const quoted = textDelta('"message_start"')
    expect(relayed([opening + quoted + closing])).toContain(quoted)
  })

  test("the relay forwards unknown events", () => {
    const odd = 'event: later\r\ndata: {"type":"later","n":12345678901234567890,"model":"m","x":"\\u00e9"}\r\n\r\n'
    expect(relayed([opening + odd + closing])).toBe(opening.replace('"claude-x"', '"a/b"') + odd + closing)
  })

  test("the relay reports a failure with the event on which clients raise", () => {
    const frame = relayStream({ model: "a/b", reading }).errorFrame(new GatewayError("upstream_unavailable", "Gone."), {
      requestId: "r1",
      unixTime: 0,
    })
    expect(frame).toBe(
      'event: error\ndata: {"type":"error","error":{"code":"upstream_unavailable","message":"Gone.",' +
        '"type":"overloaded_error"},"request_id":"r1"}\n\n',
    )
  })
})
