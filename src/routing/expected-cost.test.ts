import { describe, expect, test } from "bun:test"
import fc from "fast-check"
import type { MaxPrice } from "../canonical/chat/chat-request.ts"
import type { Pricing } from "../canonical/model.ts"
import { costOf } from "../ledger/cost.ts"
import { discountsCache, exceedsMaxPrice, expectedCost } from "./expected-cost.ts"

const price = fc.integer({ min: 0, max: 99_999 }).map((cents) => `${(cents / 1000).toFixed(3)}`)
const prices = fc.record(
  { input: price, output: price, cacheRead: price, perImage: price, imageOutput: price, perRequest: price },
  { requiredKeys: [] },
)
const tier = fc.tuple(prices, fc.integer({ min: 1, max: 200_000 }))
const pricing: fc.Arbitrary<Pricing> = fc.tuple(prices, fc.array(tier, { maxLength: 2 })).map(([plain, tiers]) => ({
  ...plain,
  tiers: tiers
    .map(([tiered, aboveInputTokens]) => ({ ...tiered, aboveInputTokens }))
    .sort((one, other) => one.aboveInputTokens - other.aboveInputTokens),
}))

describe("the expected cost", () => {
  test("the expected cost equals the ledger's charge, to a nano-USD", () => {
    const tokens = fc.nat(300_000)
    fc.assert(
      fc.property(pricing, tokens, tokens, tokens, (pricing, input, cacheRead, output) => {
        const booked = costOf({ usage: { input, cacheRead, output } }, pricing)
        const use = { inputTokens: input + cacheRead, cachedTokens: cacheRead, outputTokens: output, images: 0 }
        const expected = expectedCost(use, pricing)
        if (booked === undefined) expect(expected).toBeUndefined()
        else expect(Math.abs((expected ?? Number.NaN) - Number(booked.nanoUsd))).toBeLessThanOrEqual(1.001)
      }),
      { numRuns: 500 },
    )
  })

  test("the expected cost of images is per image, or that of their tokens", () => {
    const drawn = { inputTokens: 10, cachedTokens: 0, outputTokens: 0, images: 3 }
    expect(expectedCost(drawn, { perImage: "0.04" })).toBe(120_000_000)
    expect(expectedCost({ ...drawn, outputTokens: 2000 }, { input: "5", output: "40" })).toBe(80_050_000)
    expect(expectedCost(drawn, { input: "5" })).toBeUndefined()
  })
})

test("a price is compared at the request's size; a missing price always exceeds the maximum", () => {
  const pricing = { input: "1", output: "2", tiers: [{ aboveInputTokens: 1000, input: "3" }] }
  const at = (inputTokens: number, most: MaxPrice) => exceedsMaxPrice(most, { pricing, inputTokens })
  expect([at(1000, { prompt: 1 }), at(1001, { prompt: 1 }), at(1001, { prompt: 3 })]).toEqual([false, true, false])
  expect([at(9, { completion: 2 }), at(9, { completion: 1.999 }), at(9, {})]).toEqual([false, true, false])
  expect(exceedsMaxPrice({ completion: 99 }, { pricing: { input: "1" }, inputTokens: 1 })).toBe(true)
  expect(exceedsMaxPrice({ prompt: 0.15 }, { pricing: { input: "0.15" }, inputTokens: 1 })).toBe(false)
})

test("a cache counts only if reading from it costs less than input", () => {
  expect(discountsCache({ input: "1", cacheRead: "0.1" })).toBe(true)
  expect(discountsCache({ input: "1", cacheRead: "1" })).toBe(false)
  expect(discountsCache({ input: "1" })).toBe(false)
  expect(discountsCache({})).toBe(false)
})
