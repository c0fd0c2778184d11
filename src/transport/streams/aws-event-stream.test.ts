import { describe, expect, test } from "bun:test"
import fc from "fast-check"
import { encodeEventMessage } from "./aws-event-stream.fixture.ts"
import { decodeEventStream, EventStreamError } from "./aws-event-stream.ts"

const CHUNK = { ":event-type": "chunk", ":content-type": "application/json", ":message-type": "event" }
const MESSAGES = [
  encodeEventMessage(CHUNK, '{"bytes":"e30="}'),
  encodeEventMessage({}, ""),
  encodeEventMessage({ ":message-type": "exception", ":exception-type": "throttlingException" }, '{"message":"Slow."}'),
]

/** Decodes these pieces in order; returns the messages and whether the end was clean. */
function decode(pieces: readonly Uint8Array[]) {
  const decoder = decodeEventStream()
  const messages = pieces.flatMap((piece) => decoder.push(piece))
  decoder.finish()
  return messages.map(({ headers, payload }) => ({ headers, payload: Buffer.from(payload).toString() }))
}

const EXPECTED = [
  { headers: CHUNK, payload: '{"bytes":"e30="}' },
  { headers: {}, payload: "" },
  {
    headers: { ":message-type": "exception", ":exception-type": "throttlingException" },
    payload: '{"message":"Slow."}',
  },
]

describe("an event stream", () => {
  const bytes = Buffer.concat(MESSAGES)

  test("an event stream is read the same at any cut of its bytes", () => {
    expect(decode([bytes])).toEqual(EXPECTED)
    for (let at = 0; at <= bytes.length; at++) {
      expect(decode([bytes.subarray(0, at), bytes.subarray(at)])).toEqual(EXPECTED)
    }
    expect(decode([...bytes].map((byte) => Buffer.from([byte])))).toEqual(EXPECTED)
  })

  test("an event stream with the example message of the format's documentation is read", () => {
    // A message without headers and payload: length 16, then the two checksums.
    const empty = Buffer.from("000000100000000005c248eb7d98c8ff", "hex")
    expect(decode([empty])).toEqual([{ headers: {}, payload: "" }])
    expect(encodeEventMessage({}, "")).toEqual(empty)
  })

  test("an event stream may have headers of every type, of which only text is kept", () => {
    const sized = (value: Uint8Array) => Buffer.concat([Buffer.from([0, value.length]), value])
    const others = [0, 0, 1, 2, 4, 8, -1, -1, 8, 16].map((length, type) => ({
      type,
      bytes: length < 0 ? sized(Buffer.from("ab")) : Buffer.alloc(length, 7),
    }))
    const headers = Object.fromEntries(others.map((value, index) => [`h${index}`, value]))
    expect(decode([encodeEventMessage({ ...headers, last: "seen" }, "x")])).toEqual([
      { headers: { h7: "ab", last: "seen" }, payload: "x" },
    ])
  })

  test("an event stream returns any text headers and payload, in any pieces", () => {
    const name = fc.string({ minLength: 1, maxLength: 20, unit: fc.constantFrom(..."abc-:") })
    const message = fc.record({ headers: fc.dictionary(name, fc.string({ unit: "binary" })), payload: fc.uint8Array() })
    fc.assert(
      fc.property(fc.array(message, { maxLength: 5 }), fc.integer({ min: 1, max: 40 }), (messages, size) => {
        const all = Buffer.concat(messages.map(({ headers, payload }) => encodeEventMessage(headers, payload)))
        const pieces = Array.from({ length: Math.ceil(all.length / size) }, (_, index) =>
          all.subarray(index * size, (index + 1) * size),
        )
        const decoder = decodeEventStream()
        const read = pieces.flatMap((piece) => decoder.push(piece))
        decoder.finish()
        expect(read.map(({ payload }) => Buffer.from(payload))).toEqual(
          messages.map(({ payload }) => Buffer.from(payload)),
        )
        expect(read.map(({ headers }) => headers)).toEqual(messages.map(({ headers }) => ({ ...headers })))
      }),
    )
  })

  test("an event stream with one changed byte, or truncated within a message, is rejected", () => {
    const [message = Buffer.alloc(0)] = MESSAGES
    for (let at = 0; at < message.length; at++) {
      const changed = Buffer.from(message)
      changed.writeUInt8(message.readUInt8(at) ^ 1, at)
      expect(() => decode([changed])).toThrow(EventStreamError)
      if (at > 0) expect(() => decode([message.subarray(0, at)])).toThrow(EventStreamError)
    }
  })

  test("an event stream is rejected before a message above the size limit arrives", () => {
    const message = encodeEventMessage(CHUNK, Buffer.alloc(100))
    const decoder = decodeEventStream(message.length - 1)
    expect(decoder.push(message.subarray(0, 12))).toEqual([])
    expect(decoder.fault?.message).toBe(`a message exceeds ${message.length - 1} bytes`)
    expect(decodeEventStream(message.length).push(message)).toHaveLength(1)
  })

  test("an event stream returns the messages before a broken one, and none after it", () => {
    const broken = encodeEventMessage(CHUNK, "broken")
    broken.writeUInt32BE(0, broken.length - 4)
    const decoder = decodeEventStream()
    expect(decoder.push(Buffer.concat([...MESSAGES, broken, ...MESSAGES]))).toHaveLength(3)
    expect(decoder.fault).toBeInstanceOf(EventStreamError)
    expect(decoder.push(bytes)).toEqual([])
  })

  test("an event stream whose headers exceed their length is rejected", () => {
    const liar = encodeEventMessage({ a: { type: 7, bytes: Buffer.from([0, 200, 1]) } }, "payload")
    expect(() => decode([liar])).toThrow("a header is malformed")
    const unknown = encodeEventMessage({ a: { type: 10, bytes: Buffer.alloc(0) } }, "payload")
    expect(() => decode([unknown])).toThrow("a header is malformed")
  })
})
