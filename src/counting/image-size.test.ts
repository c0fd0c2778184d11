import { expect, test } from "bun:test"
import fc from "fast-check"
import { imageSize } from "./image-size.ts"

const base64 = (...bytes: (number | string)[]) =>
  Buffer.concat(
    bytes.map((each) => (typeof each === "string" ? Buffer.from(each, "latin1") : Buffer.from([each]))),
  ).toString("base64")
const rest = "\0".repeat(40)

test("the size of a PNG is read from its first chunk", () => {
  expect(imageSize(base64("\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "\0\0\x07\x80\0\0\x04\x38", rest))).toEqual({
    width: 1920,
    height: 1080,
  })
})

test("the size of a GIF is read from its header", () => {
  expect(imageSize(base64("GIF89a\x40\x01\xf0\0", rest))).toEqual({ width: 320, height: 240 })
})

test.each([
  ["VP8X", "\0\0\0\0\0\0\0\0\x1f\x03\0\x57\x02\0", { width: 800, height: 600 }],
  ["VP8 ", "\0\0\0\0\0\0\0\x9d\x01\x2a\x20\x03\x58\x02", { width: 800, height: 600 }],
  ["VP8L", "\0\0\0\0\x2f\x1f\xc3\x95\0", { width: 800, height: 600 }],
])("the size of a WebP with a %j chunk is read", (chunk, header, size) => {
  expect(imageSize(base64("RIFF\0\0\0\0WEBP", chunk, header, rest))).toEqual(size)
})

test("the size of a JPEG is read from its frame header, after other segments", () => {
  const thumbnail = `\xff\xe1\x04\x02${"\0".repeat(1024)}`
  const frame = "\xff\xff\xc2\0\x11\x08\x02\x58\x03\x20"
  expect(imageSize(base64("\xff\xd8", thumbnail, "\xff\xc4\0\x02", frame, rest))).toEqual({ width: 800, height: 600 })
})

test("a file that is not an image, is truncated or has no width has no size", () => {
  for (const file of [
    "",
    base64("%PDF-1.7", rest),
    base64("\x89PNG"),
    base64("\x89PNG", rest),
    base64("\xff\xd8", rest),
  ]) {
    expect(imageSize(file)).toBeUndefined()
  }
})

test("no bytes make the size reader throw or hang", () => {
  const marks = ["\x89PNG\r\n\x1a\n", "GIF89a", "RIFF\0\0\0\0WEBPVP8X", "RIFF\0\0\0\0WEBPVP8L", "\xff\xd8\xff"]
  fc.assert(
    fc.property(fc.constantFrom(...marks), fc.uint8Array({ maxLength: 200 }), (mark, bytes) => {
      const size = imageSize(Buffer.concat([Buffer.from(mark, "latin1"), bytes]).toString("base64"))
      expect(size === undefined || (size.width > 0 && size.height > 0)).toBe(true)
    }),
  )
})
