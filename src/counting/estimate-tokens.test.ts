import { describe, expect, test } from "bun:test"
import fc from "fast-check"
import { estimateTokens, type RequestShape } from "./estimate-tokens.ts"
import { type MediaItem, mediaTokens } from "./media-tokens.ts"
import { type TokenFamily, WEIGHTS } from "./token-weights.ts"

/** A token is a word, so that what is counted can be seen. */
const words = (piece: string) => piece.split(" ").filter((word) => word !== "").length
const NOTHING: RequestShape = {
  ...{ borders: [], turns: 0, calls: 0, tools: 0, toolText: "", format: "", sealed: 0, media: [] },
}
const families = Object.keys(WEIGHTS) as TokenFamily[]
const estimate = (family: TokenFamily, text: string, shape: Partial<RequestShape> = {}) =>
  estimateTokens({ text, shape: { ...NOTHING, borders: [text.length], ...shape }, family }, words)

describe("a request's tokens", () => {
  test("a request's tokens are its words, and what its vendor puts around turns", () => {
    expect(estimate("openai", "one two three", { turns: 2 })).toBe(3 + 3 + 2 * 4)
    expect(estimate("google", "one two three", { turns: 2 })).toBe(3 + 1)
    expect(estimate("simulator", "one two three", { turns: 2 })).toBe(3)
  })

  test("a request's tokens are counted part by part: none reaches over a border", () => {
    expect(estimate("simulator", "onetwo", { borders: [3, 6] })).toBe(2)
    expect(estimate("simulator", "onetwo", { borders: [6] })).toBe(1)
  })

  test("a request's tokens are more for who may call tools, by how its vendor explains them", () => {
    const tools = { turns: 1, tools: 1, toolText: "weather city" }
    const added = (family: TokenFamily) => estimate(family, "hi", tools) - estimate(family, "hi", { turns: 1 })
    expect(added("anthropic")).toBeGreaterThan(500)
    expect(added("openai")).toBeLessThan(20)
    expect(added("simulator")).toBe(2)
  })

  test("a request's tokens are more for whose answer has a form, and for thoughts that are sealed", () => {
    expect(estimate("openai", "", { format: "a schema of words" })).toBeGreaterThan(estimate("openai", ""))
    expect(estimate("google", "", { sealed: 1000 }) - estimate("google", "")).toBe(150)
  })

  test("a request's tokens do not become fewer by anything that is added", () => {
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

describe("a medium's tokens", () => {
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
  ])("a medium's tokens of a picture are as %s counts its size", (family, medium, tokens) => {
    expect(mediaTokens(medium, family)).toBe(tokens)
  })

  test("a medium's tokens of a file grow with it, and are a guess where it is not there", () => {
    for (const family of families) {
      for (const media of ["document", "audio", "video"] as const) {
        const small = mediaTokens({ media, bytes: 100_000 }, family)
        expect(mediaTokens({ media, bytes: 10_000_000 }, family)).toBeCloseTo(100 * small, -3)
        expect(mediaTokens({ media }, family)).toBe(1000)
      }
    }
  })
})
