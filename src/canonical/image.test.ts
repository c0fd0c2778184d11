import { describe, expect, test } from "bun:test"
import fc from "fast-check"
import { addressOf, imageAt, inlineImage } from "./image.ts"

describe("an image", () => {
  test("inline bytes convert to a data URL and back", () => {
    const bytes = fc.uint8Array({ minLength: 1 }).map((each) => Buffer.from(each).toString("base64"))
    fc.assert(
      fc.property(bytes, fc.constantFrom("image/png", "image/webp", "image/svg+xml"), (base64, mediaType) => {
        const source = inlineImage(base64, mediaType)
        expect(imageAt(addressOf(source))).toEqual(source)
      }),
    )
  })

  test("a remote image keeps its URL, whatever it looks like", () => {
    for (const url of ["https://a.example/x.png?data:image/png;base64,AA", "data:image/png,AA", "data:", ""]) {
      expect([imageAt(url), addressOf(imageAt(url))]).toEqual([{ at: "url", url }, url])
    }
  })

  test.each([
    ["89504e470d0a1a0a", "image/png"],
    ["ffd8ffe000104a46", "image/jpeg"],
    ["524946462400000057454250", "image/webp"],
    ["474946383961", "image/gif"],
    ["00", "image/png"],
  ])("an image that begins with %s is detected as %s", (hex, mediaType) => {
    const base64 = Buffer.from(hex, "hex").toString("base64")
    expect(inlineImage(base64)).toEqual({ at: "inline", mediaType, base64 })
    expect(imageAt(`data:;base64,${base64}`)).toMatchObject({ mediaType })
  })
})
