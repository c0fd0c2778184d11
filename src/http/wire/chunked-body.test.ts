import { describe, expect, test } from "bun:test"
import fc from "fast-check"
import { ChunkedBody, ChunkFault } from "./chunked-body.ts"

/** Reads text in pieces that end at these offsets; returns the data and the rest after it. */
function read(text: string, cuts: readonly number[] = []): { data: string; rest: string; isComplete: boolean } {
  const body = new ChunkedBody()
  const bytes = Buffer.from(text, "latin1")
  const ends = [...new Set(cuts.filter((cut) => cut < bytes.length))].sort((a, b) => a - b)
  let data = ""
  let used = 0
  let start = 0
  for (const end of [...ends, bytes.length]) {
    used += body.read(bytes.subarray(start, end), (piece) => {
      data += piece.toString("latin1")
    })
    start = end
    if (body.isComplete) break
  }
  return { data, rest: text.slice(used), isComplete: body.isComplete }
}

const chunk = (data: string, extension = "") => `${data.length.toString(16)}${extension}\r\n${data}\r\n`
const HIDDEN = "GET / HTTP/1.1\r\n\r\n"

const trailer = fc
  .tuple(fc.stringMatching(/^[A-Za-z-]{1,12}$/), fc.stringMatching(/^[ -~]{0,20}$/))
  .map(([name, value]) => `${name}: ${value}\r\n`)

test("data, extensions and trailers are separated at any cut of the bytes", () => {
  const extension = fc.constantFrom("", ";a", ';a="b c"', " ; a=1;b")
  const chunks = fc.array(fc.tuple(fc.stringMatching(/^[\r\n -~]{1,40}$/), extension), { maxLength: 6 })
  fc.assert(
    fc.property(chunks, fc.array(trailer, { maxLength: 3 }), fc.array(fc.nat(400)), (given, trailers, cuts) => {
      const text = `${given.map(([data, more]) => chunk(data, more)).join("")}0\r\n${trailers.join("")}\r\n`
      const whole = given.map(([data]) => data).join("")
      expect(read(text + HIDDEN, [...cuts, text.length])).toEqual({ data: whole, rest: HIDDEN, isComplete: true })
      expect(read(text.slice(0, -1), cuts).isComplete).toBe(false)
    }),
  )
})

describe("ambiguous framing", () => {
  test.each([
    ["a size in 0x", "0x2\r\nhi\r\n0\r\n\r\n"],
    ["a negative size", "-2\r\nhi\r\n0\r\n\r\n"],
    ["a size with a space before", " 2\r\nhi\r\n0\r\n\r\n"],
    ["an empty size", "\r\nhi\r\n0\r\n\r\n"],
    ["a size of nine digits", "000000002\r\nhi\r\n0\r\n\r\n"],
    ["a line that ends in a bare line feed", "2\nhi\r\n0\r\n\r\n"],
    ["data longer than its size", "2\r\nhid\r\n0\r\n\r\n"],
    ["no line end after the data", "2\r\nhi0\r\n\r\n"],
    ["a control character in an extension", "2;a\u0001\r\nhi\r\n0\r\n\r\n"],
    ["a carriage return in an extension", "2;a\rb\r\nhi\r\n0\r\n\r\n"],
    ["an extension without end", `2;${"a".repeat(300)}`],
    ["a request in the trailers", "2\r\nhi\r\n0\r\nGET / HTTP/1.1\r\n\r\n"],
    ["a folded trailer", "2\r\nhi\r\n0\r\nX: a\r\n b\r\n\r\n"],
    ["a trailer with a space before its colon", "2\r\nhi\r\n0\r\nX : a\r\n\r\n"],
    ["trailers without end", `0\r\n${`X: ${"a".repeat(1000)}\r\n`.repeat(10)}`],
    ["a trailer without end", `0\r\nX: ${"a".repeat(10_000)}`],
  ])("ambiguous framing is rejected: %s", (_, text) => {
    for (let cut = 0; cut < Math.min(text.length, 40); cut++) expect(() => read(text, [cut])).toThrow(ChunkFault)
  })
})
