import { describe, expect, test } from "bun:test"
import { isUtf8 } from "node:buffer"
import fc from "fast-check"
import { Utf8Repair } from "./utf8-repair.ts"

function repairChunks(chunks: readonly Uint8Array[]): { chunks: Uint8Array[]; all: Buffer } {
  const repair = new Utf8Repair()
  const out = chunks.map((chunk) => repair.push(chunk))
  const last = repair.finish()
  if (last) out.push(last)
  return { chunks: out, all: Buffer.concat(out) }
}

/** The bytes in chunks that begin at these offsets. */
function cutChunks(bytes: Uint8Array, places: readonly number[]): Uint8Array[] {
  const borders = [...new Set([0, ...places.map((place) => place % (bytes.length + 1))])].sort((a, b) => a - b)
  return borders.map((from, index) => bytes.subarray(from, borders[index + 1]))
}

const places = fc.array(fc.nat(), { maxLength: 6 })

describe("bytes of a stream that must be UTF-8", () => {
  test("valid UTF-8 passes byte by byte at any cut", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 40 }), places, (text, at) => {
        const bytes = Buffer.from(text, "utf8")
        expect(repairChunks(cutChunks(bytes, at)).all.equals(bytes)).toBe(true)
      }),
    )
  })

  test("any bytes become valid UTF-8 in every chunk, the same at any cut", () => {
    const odd = fc.oneof(
      fc.uint8Array({ maxLength: 30 }),
      fc.array(fc.constantFrom(0x41, 0x80, 0xbf, 0xc3, 0xe2, 0xed, 0xf0, 0x9f, 0xff), { maxLength: 20 }),
    )
    fc.assert(
      fc.property(odd, places, (values, at) => {
        const bytes = Uint8Array.from(values)
        const { chunks, all } = repairChunks(cutChunks(bytes, at))
        for (const chunk of chunks) expect(isUtf8(chunk)).toBe(true)
        expect(all.toString()).toBe(Buffer.from(bytes).toString())
      }),
      { numRuns: 500 },
    )
  })

  test("a whole valid chunk is passed without a copy", () => {
    const chunk = Buffer.from("data: é\n\n")
    expect(new Utf8Repair().push(chunk)).toBe(chunk)
  })

  test("bytes after a truncated character are not held back", () => {
    const repair = new Utf8Repair()
    expect(repair.push(Uint8Array.of(0x61, 0xf0, 0x9f))).toEqual(Buffer.from("a"))
    expect(repair.push(Uint8Array.of(0xa6))).toHaveLength(0)
    expect(Buffer.from(repair.push(Uint8Array.of(0x8a, 0x62))).toString()).toBe("🦊b")
    expect(repair.finish()).toBeUndefined()
  })
})
