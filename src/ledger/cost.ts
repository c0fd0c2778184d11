// What usage costs at given prices, in nano-USD: exact, rounded once, up. Pure.
import { createHash } from "node:crypto"
import { PRICE_NAMES, type PriceBucket, type Prices, type Pricing } from "../canonical/model.ts"
import type { Usage } from "../canonical/usage.ts"
import { nanoOfUsd } from "../canonical/usd.ts"

export interface Used {
  readonly usage: Usage
  readonly images?: number
}

/** One line of the sum: so many units at this price. */
interface CostLine {
  readonly bucket: PriceBucket
  readonly units: number
  /** USD per million tokens, of `perImage` and `perRequest` for each. */
  readonly price: string
  /** The size above which this tier's prices hold; absent for the plain prices. */
  readonly tier?: number
}

export interface Cost {
  readonly nanoUsd: bigint
  readonly lines: readonly CostLine[]
}

/** The most that can be used. */
export interface UseBound {
  readonly inputTokens: number
  readonly outputTokens: number
  readonly images?: number
}

type TokenBucket = keyof Usage

const INPUT_BUCKETS = [
  "input",
  "cacheRead",
  "cacheWrite",
  "cacheWrite1h",
  "audioInput",
  "imageInput",
] as const satisfies readonly TokenBucket[]
const OUTPUT_BUCKETS = ["output", "reasoning", "audioOutput", "imageOutput"] as const satisfies readonly TokenBucket[]

const BUCKETS = [...INPUT_BUCKETS, ...OUTPUT_BUCKETS, "perImage"] as const satisfies readonly PriceBucket[]

/** What a bucket without a price of its own is a part of. */
const PART_OF: Readonly<Partial<Record<PriceBucket, PriceBucket>>> = {
  cacheRead: "input",
  cacheWrite: "input",
  cacheWrite1h: "cacheWrite",
  audioInput: "input",
  imageInput: "input",
  reasoning: "output",
  audioOutput: "output",
  imageOutput: "output",
}

const TOKENS_PER_PRICE = 1_000_000n
/** The tokens of what is sold by the image, and the images of what is sold by the token. */
const INCLUDED = "0"

/** Undefined where something was used that has no price. Counts are whole and not negative. */
export function costOf({ usage, images = 0 }: Used, pricing: Pricing): Cost | undefined {
  const inputTokens = INPUT_BUCKETS.reduce((sum, bucket) => sum + (usage[bucket] ?? 0), 0)
  const sheet = sheetsOf(pricing).findLast(({ above }) => above === undefined || inputTokens > above)
  const lines: CostLine[] = []
  let sum = 0n
  for (const bucket of BUCKETS) {
    const units = bucket === "perImage" ? images : (usage[bucket] ?? 0)
    if (units === 0) continue
    const rate = sheet?.rates[bucket]
    if (!rate) return undefined
    sum += millionths(bucket, units) * rate.nano
    const line = { bucket, units, price: rate.price }
    lines.push(sheet.above === undefined ? line : { ...line, tier: sheet.above })
  }
  const fee = sheet?.rates.perRequest
  if (fee) {
    sum += millionths("perRequest", 1) * fee.nano
    lines.push({ bucket: "perRequest", units: 1, price: fee.price })
  }
  return { nanoUsd: roundedUp(sum), lines }
}

/** The dearest that can come of it: every token in its side's dearest bucket, at the dearest tier that may apply. */
export function boundOf({ inputTokens, outputTokens, images = 0 }: UseBound, pricing: Pricing): bigint | undefined {
  let dearest = 0n
  for (const { above, rates } of sheetsOf(pricing)) {
    if (above !== undefined && inputTokens <= above) continue
    const input = inputTokens > 0 ? dearestOf(INPUT_BUCKETS, rates) : 0n
    const output = outputTokens > 0 ? dearestOf(OUTPUT_BUCKETS, rates) : 0n
    const image = images > 0 ? rates.perImage?.nano : 0n
    if (input === undefined || output === undefined || image === undefined) return undefined
    const sum =
      millionths("input", inputTokens) * input +
      millionths("output", outputTokens) * output +
      millionths("perImage", images) * image +
      millionths("perRequest", 1) * (rates.perRequest?.nano ?? 0n)
    if (sum > dearest) dearest = sum
  }
  return roundedUp(dearest)
}

/** The same for the same prices, however their members are ordered; another for any other. */
export function priceVersion(pricing: Pricing): string {
  return createHash("sha256").update(pricingText(pricing)).digest("hex").slice(0, 16)
}

/** Pricing as JSON with its members in order. */
export function pricingText(pricing: Pricing): string {
  return JSON.stringify({
    ...inOrder(pricing),
    tiers: pricing.tiers?.map((tier) => ({ ...tierSize(tier), ...inOrder(tier) })),
  })
}

function tierSize({ aboveInputTokens }: { readonly aboveInputTokens: number }) {
  return { aboveInputTokens }
}

function inOrder(prices: Prices): Prices {
  const buckets = Object.keys(PRICE_NAMES) as PriceBucket[]
  return Object.fromEntries(
    buckets.flatMap((bucket) => (prices[bucket] === undefined ? [] : [[bucket, prices[bucket]]])),
  )
}

interface Rate {
  readonly price: string
  readonly nano: bigint
}

type Rates = Readonly<Partial<Record<PriceBucket, Rate>>>

/** The prices of every bucket, above a size or from the first token on. */
interface Sheet {
  readonly above?: number
  readonly rates: Rates
}

/** A pricing is an object of the catalogue's that many requests share. */
const sheets = new WeakMap<Pricing, readonly Sheet[]>()

/** The plain prices, then those of the tiers, smallest first. */
function sheetsOf(pricing: Pricing): readonly Sheet[] {
  const known = sheets.get(pricing)
  if (known) return known
  const tiers = (pricing.tiers ?? []).map((tier) => ({
    above: tier.aboveInputTokens,
    rates: ratesOf({ ...pricing, ...tier }),
  }))
  const all = [{ rates: ratesOf(pricing) }, ...tiers]
  sheets.set(pricing, all)
  return all
}

function ratesOf(prices: Prices): Rates {
  return Object.fromEntries(
    [...BUCKETS, "perRequest" as const].flatMap((bucket) => {
      const price = priceOf(bucket, prices)
      return price === undefined ? [] : [[bucket, { price, nano: nanoPrice(price) }]]
    }),
  )
}

function priceOf(bucket: PriceBucket, prices: Prices): string | undefined {
  for (let each: PriceBucket | undefined = bucket; each; each = PART_OF[each]) {
    if (prices[each] !== undefined) return prices[each]
  }
  if (bucket === "perRequest") return undefined
  const soldOtherwise = bucket === "perImage" ? (prices.imageOutput ?? prices.output) : prices.perImage
  return soldOtherwise === undefined ? undefined : INCLUDED
}

/** Undefined where a bucket of them has no price. */
function dearestOf(buckets: readonly TokenBucket[], rates: Rates): bigint | undefined {
  let dearest = 0n
  for (const bucket of buckets) {
    const rate = rates[bucket]
    if (!rate) return undefined
    if (rate.nano > dearest) dearest = rate.nano
  }
  return dearest
}

/** So that a price per million tokens and one for each make the same sum. */
function millionths(bucket: PriceBucket, units: number): bigint {
  if (!Number.isSafeInteger(units) || units < 0) throw new RangeError(`${bucket}: ${units} is not a count`)
  return bucket === "perImage" || bucket === "perRequest" ? BigInt(units) * TOKENS_PER_PRICE : BigInt(units)
}

function nanoPrice(price: string): bigint {
  const nano = nanoOfUsd(price)
  if (nano === undefined) throw new RangeError(`"${price}" is not a price: use a decimal such as "0.075"`)
  return nano
}

function roundedUp(sum: bigint): bigint {
  return (sum + TOKENS_PER_PRICE - 1n) / TOKENS_PER_PRICE
}
