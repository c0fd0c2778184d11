import { describe, expect, test } from "bun:test"
import fc from "fast-check"
import { PRICE_NAMES, type PriceBucket, type Pricing } from "../canonical/model.ts"
import type { Usage } from "../canonical/usage.ts"
import { boundOf, chargeOf, costOf, priceVersion } from "./cost.ts"

const INPUTS = ["input", "cacheRead", "cacheWrite", "cacheWrite1h", "audioInput", "imageInput"] as const
const OUTPUTS = ["output", "reasoning", "audioOutput", "imageOutput"] as const
const BUCKETS = [...INPUTS, ...OUTPUTS] as const
type SampleBucket = (typeof BUCKETS)[number]
const PARENTS: Record<SampleBucket, readonly PriceBucket[]> = {
  input: [],
  cacheRead: ["input"],
  cacheWrite: ["input"],
  cacheWrite1h: ["cacheWrite", "input"],
  audioInput: ["input"],
  imageInput: ["input"],
  output: [],
  reasoning: ["output"],
  audioOutput: ["output"],
  imageOutput: ["output"],
}

/** A price in nano-USD, so that the reference can calculate without decimals. */
const price = fc.bigInt({ min: 0n, max: 10n ** 12n })
const decimal = (nano: bigint) => `${nano / 10n ** 9n}.${String(nano % 10n ** 9n).padStart(9, "0")}`
const optionalPrices = fc.record(
  Object.fromEntries(Object.keys(PRICE_NAMES).map((bucket) => [bucket, price])) as Record<PriceBucket, typeof price>,
  { requiredKeys: [] },
)
type NanoPrices = { readonly [Bucket in PriceBucket]?: bigint }
const inOut = fc.record({ input: price, output: price, perImage: price })
const toPriceTexts = (prices: NanoPrices) =>
  Object.fromEntries(Object.entries(prices).map(([bucket, nano]) => [bucket, decimal(nano ?? 0n)]))

interface PricedSample {
  readonly plain: NanoPrices
  readonly tiers: readonly { readonly above: number; readonly prices: NanoPrices }[]
  readonly pricing: Pricing
}
const priced: fc.Arbitrary<PricedSample> = fc
  .record({
    plain: fc.tuple(optionalPrices, inOut).map(([some, must]): NanoPrices => ({ ...some, ...must })),
    tiers: fc.uniqueArray(fc.record({ above: fc.integer({ min: 1, max: 300_000 }), prices: optionalPrices }), {
      maxLength: 3,
      selector: ({ above }) => above,
    }),
  })
  .map(({ plain, tiers }) => {
    const sorted = tiers.toSorted((a, b) => a.above - b.above)
    const written = sorted.map(({ above, prices }) => ({ aboveInputTokens: above, ...toPriceTexts(prices) }))
    return { plain, tiers: sorted, pricing: { ...toPriceTexts(plain), ...(written.length > 0 && { tiers: written }) } }
  })

const count = fc.integer({ min: 0, max: 200_000 })
const usages: fc.Arbitrary<Usage> = fc.record(
  Object.fromEntries(BUCKETS.map((bucket) => [bucket, count])) as Record<SampleBucket, typeof count>,
  { requiredKeys: [] },
)
const images = fc.integer({ min: 0, max: 10 })

/** The cost in millionths of a nano-USD by an independent calculation: one bucket after the other. */
function computeExactCost({ usage, images }: { usage: Usage; images: number }, { plain, tiers }: PricedSample): bigint {
  const inputTokens = INPUTS.reduce((sum, bucket) => sum + (usage[bucket] ?? 0), 0)
  const tier = tiers.filter(({ above }) => inputTokens > above).at(-1)
  const prices = { ...plain, ...tier?.prices }
  const own = (bucket: SampleBucket) =>
    [bucket, ...PARENTS[bucket]].map((each) => prices[each]).find((each) => each !== undefined) ?? 0n
  const tokens = BUCKETS.reduce((sum, bucket) => sum + BigInt(usage[bucket] ?? 0) * own(bucket), 0n)
  return tokens + (BigInt(images) * (prices.perImage ?? 0n) + (prices.perRequest ?? 0n)) * 1_000_000n
}

const nanoOf = (used: { usage: Usage; images?: number }, pricing: Pricing) => {
  const cost = costOf(used, pricing)
  if (!cost) throw new Error("has no price")
  return cost.nanoUsd
}

describe("a cost", () => {
  test("a cost is the exact sum, rounded up once", () => {
    fc.assert(
      fc.property(usages, images, priced, (usage, images, prices) => {
        const sum = computeExactCost({ usage, images }, prices)
        const nano = nanoOf({ usage, images }, prices.pricing)
        const above = nano * 1_000_000n - sum
        expect(above >= 0n && above < 1_000_000n).toBe(true)
      }),
      { numRuns: 500 },
    )
  })

  test("a cost without lines is the same, however large it is", () => {
    const dear = priced.map(({ pricing }) => ({ ...pricing, input: "999999999.999999999" }))
    const any = fc.oneof(
      priced.map(({ pricing }) => pricing),
      dear,
      fc.constant<Pricing>({ output: "1" }),
    )
    const counts = fc.oneof(usages, fc.record({ input: fc.maxSafeInteger().map(Math.abs), output: count }))
    fc.assert(
      fc.property(counts, images, any, (usage, images, pricing) => {
        expect(chargeOf({ usage, images }, pricing)).toEqual(costOf({ usage, images }, pricing)?.nanoUsd)
      }),
      { numRuns: 1000 },
    )
  })

  test.each([-1, 0.5, Number.NaN, 2 ** 53])("%p tokens are refused as a count, with lines and without", (input) => {
    const used = { usage: { input } }
    expect(() => costOf(used, { input: "2", output: "1" })).toThrow(RangeError)
    expect(() => chargeOf(used, { input: "2", output: "1" })).toThrow(RangeError)
  })

  test("a cost is the sum of its lines", () => {
    fc.assert(
      fc.property(usages, images, priced, (usage, images, { pricing }) => {
        const { nanoUsd, lines } = costOf({ usage, images }, pricing) ?? { nanoUsd: -1n, lines: [] }
        const sum = lines.reduce((sum, { bucket, units, price }) => {
          const nano = BigInt(price.replace(".", "")) * (price.includes(".") ? 1n : 10n ** 9n)
          return sum + BigInt(units) * nano * (bucket.startsWith("per") ? 1_000_000n : 1n)
        }, 0n)
        expect((sum + 999_999n) / 1_000_000n).toBe(nanoUsd)
      }),
    )
  })

  test("a cost does not fall when more tokens are used, if no tier is cheaper than the one below (I11)", () => {
    fc.assert(
      fc.property(usages, fc.constantFrom(...BUCKETS), count, priced, (usage, bucket, more, { plain, pricing }) => {
        const dearer = (pricing.tiers ?? []).map(({ aboveInputTokens }, at) => {
          const raised = Object.entries(plain).map(([name, nano]) => [name, decimal(nano + BigInt(at + 1))])
          return { aboveInputTokens, ...Object.fromEntries(raised) }
        })
        const rising = { ...toPriceTexts(plain), tiers: dearer }
        const grown = { ...usage, [bucket]: (usage[bucket] ?? 0) + more }
        expect(nanoOf({ usage: grown }, rising) >= nanoOf({ usage }, rising)).toBe(true)
      }),
    )
  })

  test("a cost does not fall when a price rises (I11)", () => {
    const names = fc.constantFrom(...(Object.keys(PRICE_NAMES) as PriceBucket[]))
    fc.assert(
      fc.property(usages, images, priced, names, price, (usage, images, { plain, pricing }, name, more) => {
        const before = plain[name]
        if (before === undefined) return
        const raised = { ...pricing, [name]: decimal(before + more) }
        expect(nanoOf({ usage, images }, raised) >= nanoOf({ usage, images }, pricing)).toBe(true)
      }),
    )
  })

  test("a cost does not depend on the distribution of tokens over buckets of one price", () => {
    fc.assert(
      fc.property(usages, price, price, (usage, input, output) => {
        const sum = (buckets: readonly SampleBucket[]) => buckets.reduce((all, each) => all + (usage[each] ?? 0), 0)
        const pricing = { input: decimal(input), output: decimal(output) }
        const together = { input: sum(INPUTS), output: sum(OUTPUTS) }
        expect(nanoOf({ usage }, pricing)).toBe(nanoOf({ usage: together }, pricing))
      }),
    )
  })

  test("a tier applies to the whole request above its size, and omitted prices stay", () => {
    const pricing = { input: "1", output: "2", tiers: [{ aboveInputTokens: 100, input: "3" }] }
    expect(costOf({ usage: { input: 60, cacheRead: 40, output: 10 } }, pricing)?.nanoUsd).toBe(120_000n)
    const above = costOf({ usage: { input: 61, cacheRead: 40, output: 10 } }, pricing)
    expect(above?.nanoUsd).toBe(323_000n)
    expect(above?.lines.at(-1)).toEqual({ bucket: "output", units: 10, price: "2", tier: 100 })
  })

  test("an hour of cache writes costs like cache writes, else like input", () => {
    const usage = { cacheWrite1h: 1_000_000 }
    expect(costOf({ usage }, { input: "1", cacheWrite: "1.25" })?.nanoUsd).toBe(1_250_000_000n)
    expect(costOf({ usage }, { input: "1" })?.nanoUsd).toBe(1_000_000_000n)
  })

  test("a cost is unknown if a used bucket has no price", () => {
    expect(costOf({ usage: { input: 1, output: 1 } }, { input: "1" })).toBeUndefined()
    expect(costOf({ usage: {}, images: 1 }, { input: "1" })).toBeUndefined()
    expect(costOf({ usage: { input: 1, output: 0 } }, { input: "1" })?.nanoUsd).toBe(1_000n)
  })

  test("a price per image includes the tokens, and a price per token includes the images", () => {
    const used = { usage: { input: 20, imageOutput: 1000 }, images: 2 }
    expect(costOf(used, { perImage: "0.04" })?.nanoUsd).toBe(80_000_000n)
    expect(costOf(used, { input: "5", imageOutput: "40", output: "10" })?.nanoUsd).toBe(40_100_000n)
  })

  test.each([-1, 0.5, Number.NaN, 2 ** 53])("%d is refused as a count: it never becomes a credit", (input) => {
    expect(() => costOf({ usage: { input } }, { input: "1" })).toThrow("is not a count")
  })
})

describe("a bound", () => {
  test("a cost bound is never below the cost of any use within it", () => {
    fc.assert(
      fc.property(usages, images, priced, fc.nat(1000), (usage, images, { pricing }, slack) => {
        const sum = (buckets: readonly SampleBucket[]) => buckets.reduce((all, each) => all + (usage[each] ?? 0), slack)
        const bound = boundOf({ inputTokens: sum(INPUTS), outputTokens: sum(OUTPUTS), images }, pricing)
        expect(nanoOf({ usage, images }, pricing) <= (bound ?? -1n)).toBe(true)
      }),
      { numRuns: 500 },
    )
  })

  test("a cost bound is reached by the most expensive bucket in the most expensive tier", () => {
    const pricing = { input: "1", cacheWrite: "4", output: "2", tiers: [{ aboveInputTokens: 10, output: "9" }] }
    const bound = boundOf({ inputTokens: 11, outputTokens: 5 }, pricing)
    expect(bound).toBe(nanoOf({ usage: { cacheWrite: 11, output: 5 } }, pricing))
    expect(boundOf({ inputTokens: 10, outputTokens: 5 }, pricing)).toBe(50_000n)
  })

  test("a cost bound is unknown if a use within it could have no price", () => {
    expect(boundOf({ inputTokens: 1, outputTokens: 1 }, { input: "1" })).toBeUndefined()
    expect(boundOf({ inputTokens: 1, outputTokens: 0 }, { cacheRead: "1" })).toBeUndefined()
    expect(boundOf({ inputTokens: 1, outputTokens: 0 }, { input: "1" })).toBe(1_000n)
  })
})

test("equal prices have one version in any order, different prices another", () => {
  const pricing: Pricing = { input: "1", output: "2", tiers: [{ aboveInputTokens: 9, input: "2" }] }
  const turned: Pricing = { tiers: [{ input: "2", aboveInputTokens: 9 }], output: "2", input: "1" }
  expect(priceVersion(turned)).toBe(priceVersion(pricing))
  const others: Pricing[] = [
    { ...pricing, input: "1.0" },
    { input: "1", output: "2" },
    { ...pricing, cacheRead: "1" },
  ]
  expect(new Set([pricing, ...others].map(priceVersion)).size).toBe(4)
})
