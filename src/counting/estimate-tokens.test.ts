import { describe, expect, test } from "bun:test"
import fc from "fast-check"
import { estimateTokens, type RequestShape } from "./estimate-tokens.ts"
import { type MediaItem, mediaTokens } from "./media-tokens.ts"
import { type TokenFamily, WEIGHTS } from "./token-weights.ts"

/** Each word is a token, so that the count is obvious. */
const words = (piece: string) => piece.split(" ").filter((word) => word !== "").length
const NOTHING: RequestShape = {
  ...{ borders: [], turns: 0, calls: 0, tools: 0, toolText: "", format: "", sealed: 0, media: [] },
}
const families = Object.keys(WEIGHTS) as TokenFamily[]
const estimate = (family: TokenFamily, text: string, shape: Partial<RequestShape> = {}) =>
  estimateTokens({ text, shape: { ...NOTHING, borders: [text.length], ...shape }, family }, words)

describe("estimating a request's tokens", () => {
  test("the estimate includes the text and the overhead of turns", () => {
    expect(estimate("openai", "one two three", { turns: 2 })).toBe(3 + 3 + 2 * 4)
    expect(estimate("google", "one two three", { turns: 2 })).toBe(3 + 1)
    expect(estimate("simulator", "one two three", { turns: 2 })).toBe(3)
  })

  test("the estimate counts each part separately, so that no token crosses a border", () => {
    expect(estimate("simulator", "onetwo", { borders: [3, 6] })).toBe(2)
    expect(estimate("simulator", "onetwo", { borders: [6] })).toBe(1)
  })

  test("the estimate includes tools, by their vendor's weights", () => {
    const tools = { turns: 1, tools: 1, toolText: "weather city" }
    const added = (family: TokenFamily) => estimate(family, "hi", tools) - estimate(family, "hi", { turns: 1 })
    expect(added("anthropic")).toBeGreaterThan(500)
    expect(added("openai")).toBeLessThan(20)
    expect(added("simulator")).toBe(2)
  })

  test("the estimate includes an output format and sealed reasoning", () => {
    expect(estimate("openai", "", { format: "a schema of words" })).toBeGreaterThan(estimate("openai", ""))
    expect(estimate("google", "", { sealed: 1000 }) - estimate("google", "")).toBe(150)
  })

  test("the estimate never decreases when something is added", () => {
    const shapes = fc.record({
      ...{ turns: fc.nat(50), calls: fc.nat(50), tools: fc.nat(9), sealed: fc.nat(5000) },
      ...{ toolText: fc.constantFrom("", "a b c"), format: fc.constantFrom("", "x y") },
      borders: fc.constant([5]),
      media: fc.constantFrom<readonly MediaItem[]>([], [{ media: "image" }]),
    })
    fc.assert(
      fc.property(fc.constantFrom(...families), shapes, fc.nat(5), (family, shape, more) => {
        const before = estimate(family, "a b c", shape)
        expect(before).toBeGreaterThanOrEqual(0)
        expect(Number.isSafeInteger(before)).toBe(true)
        for (const name of ["turns", "calls", "tools", "sealed"] as const) {
          expect(estimate(family, "a b c", { ...shape, [name]: shape[name] + more })).toBeGreaterThanOrEqual(before)
        }
      }),
    )
  })
})

describe("estimating the tokens of media", () => {
  const image = (width: number, height: number): MediaItem => ({ media: "image", size: { width, height } })

  test.each<[TokenFamily, MediaItem, number]>([
    ["openai", image(1024, 1024), 765],
    ["openai", image(2048, 4096), 1105],
    ["openai", { ...image(4096, 4096), isRough: true }, 85],
    ["anthropic", image(750, 1000), 1000],
    ["anthropic", image(8000, 8000), 1600],
    ["google", image(300, 200), 258],
    ["google", image(1536, 768), 516],
    ["meta", image(560, 560), 400],
  ])("the tokens of an image follow the size rules of %s", (family, medium, tokens) => {
    expect(mediaTokens(medium, family)).toBe(tokens)
  })

  test("the tokens of a file grow with its size, and are estimated if it is not inline", () => {
    for (const family of families) {
      for (const media of ["document", "audio", "video"] as const) {
        const small = mediaTokens({ media, bytes: 100_000 }, family)
        expect(mediaTokens({ media, bytes: 10_000_000 }, family)).toBeCloseTo(100 * small, -3)
        expect(mediaTokens({ media }, family)).toBe(1000)
      }
    }
  })
})
