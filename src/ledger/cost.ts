// The cost of usage at given prices, in nano-USD: exact, rounded up once. Pure.
import { createHash } from "node:crypto"
import { type BucketPrices, PRICE_NAMES, type PriceBucket, type Pricing } from "../canonical/model.ts"
import type { Usage } from "../canonical/usage.ts"
import { nanoOfUsd } from "../canonical/usd.ts"

export interface BillableUsage {
  readonly usage: Usage
  readonly images?: number
}

/** One line of the sum: a number of units at a price. */
interface CostLine {
  readonly bucket: PriceBucket
  readonly units: number
  /** USD per million tokens; for `perImage` and `perRequest` per unit. */
  readonly price: string
  /** The size above which this tier's prices apply; absent for the base prices. */
  readonly tier?: number
}

export interface CostBreakdown {
  readonly nanoUsd: bigint
  readonly lines: readonly CostLine[]
}

/** The maximum possible usage. */
export interface UseBound {
  readonly inputTokens: number
  readonly outputTokens: number
  readonly images?: number
}

type UsageBucket = keyof Usage

const INPUT_BUCKETS = [
  "input",
  "cacheRead",
  "cacheWrite",
  "cacheWrite1h",
  "audioInput",
  "imageInput",
] as const satisfies readonly UsageBucket[]
const OUTPUT_BUCKETS = ["output", "reasoning", "audioOutput", "imageOutput"] as const satisfies readonly UsageBucket[]

const BUCKETS = [...INPUT_BUCKETS, ...OUTPUT_BUCKETS, "perImage"] as const satisfies readonly PriceBucket[]

/** The bucket that contains a bucket without a price of its own. */
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
const TOKENS = Number(TOKENS_PER_PRICE)
/** The price of tokens in image models sold by the image, and of images in those sold by the token. */
const INCLUDED = "0"

/** Undefined if a used bucket has no price. Counts are whole and not negative. */
export function costOf({ usage, images = 0 }: BillableUsage, pricing: Pricing): CostBreakdown | undefined {
  const sheet = sheetFor(usage, pricing)
  const lines: CostLine[] = []
  let sum = 0n
  for (const bucket of BUCKETS) {
    const units = bucket === "perImage" ? images : (usage[bucket] ?? 0)
    if (units === 0) continue
    const rate = sheet.rates[bucket]
    if (!rate) return undefined
    sum += millionths(bucket, units) * rate.nano
    const line = { bucket, units, price: rate.price }
    lines.push(sheet.above === undefined ? line : { ...line, tier: sheet.above })
  }
  const fee = sheet.rates.perRequest
  if (fee) {
    sum += millionths("perRequest", 1) * fee.nano
    lines.push({ bucket: "perRequest", units: 1, price: fee.price })
  }
  return { nanoUsd: roundUpNano(sum), lines }
}

/** The same sum without its lines, in numbers where they are exact, which takes a tenth of the time. */
export function chargeOf(used: BillableUsage, pricing: Pricing): bigint | undefined {
  const { usage, images = 0 } = used
  const { rates } = sheetFor(usage, pricing)
  let sum = images === 0 ? 0 : multiplyRate(images, rates.perImage) * TOKENS
  for (const bucket in usage) {
    const units = usage[bucket as UsageBucket]
    if (units !== undefined && units !== 0) sum += multiplyRate(units, rates[bucket as UsageBucket])
  }
  if (rates.perRequest) sum += rates.perRequest.number * TOKENS
  return Number.isSafeInteger(sum) ? roundUpToNano(sum) : costOf(used, pricing)?.nanoUsd
}

/** NaN if the result would not be exact; sums with NaN are NaN too. */
function multiplyRate(units: number, rate: NanoRate | undefined): number {
  return rate && units >= 0 && Number.isSafeInteger(units) ? units * rate.number : Number.NaN
}

/**
 * The upper bound of the cost: every token in the most expensive bucket of its side, at the most expensive tier that
 * may apply.
 */
export function boundOf(bound: UseBound, pricing: Pricing): bigint | undefined {
  let dearest = 0n
  for (const sheet of sheetsOf(pricing)) {
    if (sheet.above !== undefined && bound.inputTokens <= sheet.above) continue
    const nano = boundAt(bound, sheet)
    if (nano === undefined) return undefined
    if (nano > dearest) dearest = nano
  }
  return dearest
}

function boundAt({ inputTokens, outputTokens, images = 0 }: UseBound, sheet: RateSheet): bigint | undefined {
  const { rates, dearestInput, dearestOutput } = sheet
  const input = inputTokens > 0 ? dearestInput : FREE
  const output = outputTokens > 0 ? dearestOutput : FREE
  const image = images > 0 ? rates.perImage : FREE
  if (!input || !output || !image) return undefined
  const fee = rates.perRequest ?? FREE
  const each = (images === 0 ? 0 : multiplyRate(images, image)) + fee.number
  const sum = multiplyRate(inputTokens, input) + multiplyRate(outputTokens, output) + each * TOKENS
  if (Number.isSafeInteger(sum)) return roundUpToNano(sum)
  return roundUpNano(
    millionths("input", inputTokens) * input.nano +
      millionths("output", outputTokens) * output.nano +
      millionths("perImage", images) * image.nano +
      millionths("perRequest", 1) * fee.nano,
  )
}

/** A hash of the prices, independent of the order of their members. */
export function priceVersion(pricing: Pricing): string {
  return createHash("sha256").update(pricingText(pricing)).digest("hex").slice(0, 16)
}

/** Pricing as JSON with sorted members. */
export function pricingText(pricing: Pricing): string {
  return JSON.stringify({
    ...sortPrices(pricing),
    tiers: pricing.tiers?.map((tier) => ({ ...tierSize(tier), ...sortPrices(tier) })),
  })
}

function tierSize({ aboveInputTokens }: { readonly aboveInputTokens: number }) {
  return { aboveInputTokens }
}

function sortPrices(prices: BucketPrices): BucketPrices {
  const buckets = Object.keys(PRICE_NAMES) as PriceBucket[]
  return Object.fromEntries(
    buckets.flatMap((bucket) => (prices[bucket] === undefined ? [] : [[bucket, prices[bucket]]])),
  )
}

interface NanoRate {
  readonly price: string
  readonly nano: bigint
  /** The same rate; rounded if it is not a safe integer, and then products with it are not safe either. */
  readonly number: number
}

type BucketRates = Readonly<Partial<Record<PriceBucket, NanoRate>>>

/** The rates of every bucket, above a size or from the first token on. */
interface RateSheet {
  readonly above?: number
  readonly rates: BucketRates
  /** Undefined if a bucket of that side has no price. */
  readonly dearestInput: NanoRate | undefined
  readonly dearestOutput: NanoRate | undefined
}

/** A pricing is a catalogue object that many requests share. */
const sheets = new WeakMap<Pricing, readonly RateSheet[]>()

/** The base prices, then those of the tiers, smallest first. */
function sheetsOf(pricing: Pricing): readonly RateSheet[] {
  const known = sheets.get(pricing)
  if (known) return known
  const tiers = (pricing.tiers ?? []).map((tier) => ({
    above: tier.aboveInputTokens,
    ...sheetOf({ ...pricing, ...tier }),
  }))
  const all = [sheetOf(pricing), ...tiers]
  sheets.set(pricing, all)
  return all
}

/** The rates for an exchange of this size. */
function sheetFor(usage: Usage, pricing: Pricing): RateSheet {
  const all = sheetsOf(pricing)
  let sheet = all[0] as RateSheet
  if (all.length === 1) return sheet
  let inputTokens = 0
  for (const bucket of INPUT_BUCKETS) inputTokens += usage[bucket] ?? 0
  for (const each of all) if (each.above !== undefined && inputTokens > each.above) sheet = each
  return sheet
}

function sheetOf(prices: BucketPrices): RateSheet {
  const rates = ratesOf(prices)
  return {
    rates,
    dearestInput: dearestOf(INPUT_BUCKETS, rates),
    dearestOutput: dearestOf(OUTPUT_BUCKETS, rates),
  }
}

function ratesOf(prices: BucketPrices): BucketRates {
  return Object.fromEntries(
    [...BUCKETS, "perRequest" as const].flatMap((bucket) => {
      const price = priceOf(bucket, prices)
      return price === undefined ? [] : [[bucket, rateOf(price)]]
    }),
  )
}

function rateOf(price: string): NanoRate {
  const nano = nanoPrice(price)
  return { price, nano, number: Number(nano) }
}

const FREE = rateOf("0")

function priceOf(bucket: PriceBucket, prices: BucketPrices): string | undefined {
  for (let each: PriceBucket | undefined = bucket; each; each = PART_OF[each]) {
    if (prices[each] !== undefined) return prices[each]
  }
  if (bucket === "perRequest") return undefined
  const soldOtherwise = bucket === "perImage" ? (prices.imageOutput ?? prices.output) : prices.perImage
  return soldOtherwise === undefined ? undefined : INCLUDED
}

/** Undefined if one of these buckets has no price. */
function dearestOf(buckets: readonly UsageBucket[], rates: BucketRates): NanoRate | undefined {
  let dearest = FREE
  for (const bucket of buckets) {
    const rate = rates[bucket]
    if (!rate) return undefined
    if (rate.nano > dearest.nano) dearest = rate
  }
  return dearest
}

/** Scales units so that prices per million tokens and prices per unit can be summed. */
function millionths(bucket: PriceBucket, units: number): bigint {
  if (!Number.isSafeInteger(units) || units < 0) throw new RangeError(`${bucket}: ${units} is not a count`)
  return bucket === "perImage" || bucket === "perRequest" ? BigInt(units) * TOKENS_PER_PRICE : BigInt(units)
}

function nanoPrice(price: string): bigint {
  const nano = nanoOfUsd(price)
  if (nano === undefined) throw new RangeError(`"${price}" is not a price: use a decimal such as "0.075"`)
  return nano
}

function roundUpNano(sum: bigint): bigint {
  return (sum + TOKENS_PER_PRICE - 1n) / TOKENS_PER_PRICE
}

/** Rounds up a sum that is a safe integer. A remainder is exact; a quotient is not. */
function roundUpToNano(sum: number): bigint {
  const rest = sum % TOKENS
  return BigInt((sum - rest) / TOKENS + (rest > 0 ? 1 : 0))
}
