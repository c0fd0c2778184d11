import { expect, test } from "bun:test"
import fc from "fast-check"
import { decodeByteText, encodeByteText, fromByteText, isValidUtf8, toByteText } from "./byte-text.ts"

test("any bytes survive the way to byte text and back", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
      const text = toByteText(bytes)
      expect(text.length).toBe(bytes.length)
      expect(new Uint8Array(fromByteText(text))).toEqual(bytes)
    }),
  )
})

test("a view into a larger buffer is read from its own offset", () => {
  const whole = new TextEncoder().encode("abcdef")
  expect(toByteText(whole.subarray(2, 4))).toBe("cd")
})

test("ordinary text survives the way to byte text and back", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme" }), (text) => {
      expect(decodeByteText(encodeByteText(text))).toBe(text)
      expect(fromByteText(encodeByteText(text)).toString()).toBe(Buffer.from(text).toString())
    }),
  )
})

test("malformed UTF-8 is distinguished from well-formed UTF-8", () => {
  expect(isValidUtf8(new Uint8Array([0xc3, 0xa9]))).toBe(true)
  expect(isValidUtf8(new Uint8Array([0xc3]))).toBe(false)
  expect(isValidUtf8(new Uint8Array([0xed, 0xa0, 0x80]))).toBe(false)
})
