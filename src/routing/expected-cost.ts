// The expected cost of a request at a target, for comparisons and explanations only: the ledger decides holds and
// charges.

import type { MaxPrice } from "../canonical/chat/chat-request.ts"
import type { BucketPrices, Pricing } from "../canonical/model.ts"

/** The expected use. */
export interface ExpectedUse {
  readonly inputTokens: number
  /** The part of the input that is read from a cache. */
  readonly cachedTokens: number
  readonly outputTokens: number
  readonly images: number
}

/** Nano-USD per unit; undefined without a price. */
interface TokenRates {
  /** The input size from which these rates apply. */
  readonly above: number
  readonly input: number | undefined
  readonly cacheRead: number | undefined
  readonly output: number | undefined
  readonly image: number | undefined
  readonly request: number
}

const NANO_PER_TOKEN = 1000
const NANO_PER_USD = 1_000_000_000

/** In nano-USD; undefined if a part of the use has no price. */
export function expectedCost(use: ExpectedUse, pricing: Pricing): number | undefined {
  const { input, cacheRead, output, image, request } = ratesFor(use.inputTokens, pricing)
  const read = partialCost(use.inputTokens - use.cachedTokens, input) + partialCost(use.cachedTokens, cacheRead)
  const cost = read + partialCost(use.outputTokens, output) + partialCost(use.images, image) + request
  return Number.isNaN(cost) ? undefined : cost
}

function partialCost(count: number, rate: number | undefined): number {
  return count === 0 ? 0 : count * (rate ?? Number.NaN)
}

/** True if a request of this size costs more per token. A use without a price always exceeds. */
export function exceedsMaxPrice(
  than: MaxPrice,
  { pricing, inputTokens }: { pricing: Pricing; inputTokens: number },
): boolean {
  const { input, output } = ratesFor(inputTokens, pricing)
  return isAbove(than.prompt, input) || isAbove(than.completion, output)
}

function isAbove(most: number | undefined, rate: number | undefined): boolean {
  return most !== undefined && (rate === undefined || rate > most * NANO_PER_TOKEN)
}

/** True if cache reads cost less than input. */
export function discountsCache(pricing: Pricing): boolean {
  const { input, cacheRead } = ratesFor(0, pricing)
  return input !== undefined && cacheRead !== undefined && cacheRead < input
}

/** A pricing is a catalogue object that many requests share. */
const ratesByPricing = new WeakMap<Pricing, readonly TokenRates[]>()

function ratesFor(inputTokens: number, pricing: Pricing): TokenRates {
  let rates = ratesByPricing.get(pricing)
  if (!rates) {
    const tiers = pricing.tiers ?? []
    const sheets = tiers.map((tier) => ratesOf({ ...pricing, ...tier }, tier.aboveInputTokens))
    rates = [ratesOf(pricing, Number.NEGATIVE_INFINITY), ...sheets]
    ratesByPricing.set(pricing, rates)
  }
  for (let index = rates.length - 1; index > 0; index--) {
    const tier = rates[index]
    if (tier && inputTokens > tier.above) return tier
  }
  return rates[0] ?? NONE
}

const NONE: TokenRates = {
  above: 0,
  input: undefined,
  cacheRead: undefined,
  output: undefined,
  image: undefined,
  request: 0,
}

function ratesOf(prices: BucketPrices, above: number): TokenRates {
  const { perImage, imageOutput, output, input } = prices
  // Image models sold by the image charge no tokens, and those sold by the token charge no images.
  const tokens = perImage === undefined ? undefined : "0"
  const images = (imageOutput ?? output) === undefined ? undefined : "0"
  return {
    above,
    input: nano(input ?? tokens, NANO_PER_TOKEN),
    cacheRead: nano(prices.cacheRead ?? input ?? tokens, NANO_PER_TOKEN),
    output: nano(output ?? tokens, NANO_PER_TOKEN),
    image: nano(perImage ?? images, NANO_PER_USD),
    request: nano(prices.perRequest ?? "0", NANO_PER_USD) ?? 0,
  }
}

function nano(price: string | undefined, each: number): number | undefined {
  return price === undefined ? undefined : Number(price) * each
}
