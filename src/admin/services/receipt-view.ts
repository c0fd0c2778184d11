// The receipt view: the booked cost, the prices and usage behind it, and the recomputed cost.
import { isObject, type Json, type JsonObject } from "../../canonical/json.ts"
import { type BucketPrices, PRICE_NAMES, type PriceBucket, type Pricing } from "../../canonical/model.ts"
import type { Usage } from "../../canonical/usage.ts"
import { nanoOfUsd, usdOfNano } from "../../canonical/usd.ts"
import { type CostBreakdown, costOf } from "../../ledger/cost.ts"
import type { Receipt } from "../../ledger/ledger.ts"
import { sumOfFees, type ToolFee } from "../../ledger/tool-fees.ts"

/** One exact line of the calculation; only the sum is rounded, up to a nano-USD. */
interface ReceiptLineView {
  readonly bucket: string
  readonly units: number
  /** USD per million tokens, of `per_image` per image, of a provider's tool per call. */
  readonly price: string
  /** Input tokens above which this price applies; null for the base price. */
  readonly tier: number | null
  readonly amount: string
}

/** Amounts are decimal USD. Null means unknown or no longer stored. */
export interface ReceiptView {
  readonly id: string
  readonly time: string
  readonly tenant: string
  readonly key: string
  readonly outcome: Receipt["outcome"]
  readonly cost: string
  readonly paid: string
  readonly written_off: string
  readonly in_suspense: string
  /** Debt of the account for the uncovered cost. */
  readonly owed?: string
  /** Amount returned from suspense. */
  readonly returned?: string
  readonly model: string | null
  readonly provider: string | null
  readonly usage: Readonly<Record<string, number>> | null
  readonly price_version: string | null
  readonly prices: JsonObject | null
  readonly formula: readonly ReceiptLineView[]
  readonly recomputed_cost: string | null
  /** True if the recomputed cost equals the booked cost. */
  readonly as_booked: boolean | null
  /** Further facts about the exchange. */
  readonly facts: JsonObject | null
}

export function toReceiptView(receipt: Receipt, pricingOf: (version: string) => Pricing | undefined): ReceiptView {
  const { model, provider, usage, images, price_version, ...facts } = receipt.facts ?? {}
  const version = asText(price_version)
  const pricing = version === null ? undefined : pricingOf(version)
  const used = isObject(usage) ? { usage: usage as Usage, images: Number(images ?? 0) } : undefined
  const fees = feesIn(facts.tool_fees)
  const tokens = pricing && used && costOf(used, pricing)
  const cost = tokens && { ...tokens, nanoUsd: tokens.nanoUsd + sumOfFees(fees) }
  return {
    id: receipt.requestId,
    time: new Date(receipt.at).toISOString(),
    tenant: receipt.tenant,
    key: receipt.keyId,
    outcome: receipt.outcome,
    cost: usdOfNano(receipt.chargeNano),
    paid: usdOfNano(receipt.paidNano),
    written_off: usdOfNano(receipt.writtenOffNano),
    in_suspense: usdOfNano(receipt.suspendedNano),
    ...(receipt.owedNano > 0n && { owed: usdOfNano(receipt.owedNano) }),
    ...(receipt.returnedNano > 0n && { returned: usdOfNano(receipt.returnedNano) }),
    model: asText(model),
    provider: asText(provider),
    usage: used ? toUsageView(used) : null,
    price_version: version,
    prices: pricing ? toPricingView(pricing) : null,
    formula: cost ? [...cost.lines.map(toLineView), ...fees.map(toFeeLine)] : [],
    recomputed_cost: cost ? usdOfNano(cost.nanoUsd) : null,
    as_booked: cost ? cost.nanoUsd === receipt.chargeNano : null,
    facts: receipt.facts ? { ...(used && usualFacts(model, provider)), ...facts } : null,
  }
}

/** The fees of tools that the provider ran, as they were booked. */
function feesIn(booked: Json | undefined): ToolFee[] {
  return Array.isArray(booked) ? (booked.filter(isObject) as unknown as ToolFee[]) : []
}

function toFeeLine({ tool, calls, price }: ToolFee): ReceiptLineView {
  return { bucket: tool, units: calls, price, tier: null, amount: usdOfNano(sumOfFees([{ tool, calls, price }])) }
}

/** Default values of the facts that a stored receipt omits. */
function usualFacts(model: Json = null, provider: Json = null): JsonObject {
  const attempts = [{ provider, model }]
  return { requested_model: model, stream: false, basis: "reported", attempts, losses: [], policy: {} }
}

function asText(value: Json | undefined): string | null {
  return typeof value === "string" ? value : null
}

function toUsageView({ usage, images }: { usage: Usage; images: number }): Record<string, number> {
  const counts = Object.entries(usage).map(([bucket, count]) => [PRICE_NAMES[bucket as PriceBucket], count])
  return { ...Object.fromEntries(counts), ...(images > 0 && { images }) }
}

function toPricingView({ tiers, ...prices }: Pricing): JsonObject {
  const shownTiers = tiers?.map(({ aboveInputTokens, ...tier }) => ({
    above_input_tokens: aboveInputTokens,
    ...toPricesView(tier),
  }))
  return { ...toPricesView(prices), ...(shownTiers && { tiers: shownTiers }) }
}

function toPricesView(prices: BucketPrices): JsonObject {
  return Object.fromEntries(
    Object.entries(prices).map(([bucket, price]) => [PRICE_NAMES[bucket as PriceBucket], price]),
  )
}

const TOKENS_PER_PRICE = 1_000_000n
/** A price has 9 decimals and is for 10⁶ tokens. */
const DECIMALS = 15

function toLineView({ bucket, units, price, tier }: CostBreakdown["lines"][number]): ReceiptLineView {
  const perUnit = (nanoOfUsd(price) ?? 0n) * (bucket === "perImage" ? TOKENS_PER_PRICE : 1n)
  const amount = exactUsd(BigInt(units) * perUnit)
  return { bucket: PRICE_NAMES[bucket], units, price, tier: tier ?? null, amount }
}

function exactUsd(smallest: bigint): string {
  const digits = String(smallest).padStart(DECIMALS + 1, "0")
  const fraction = digits.slice(-DECIMALS).replace(/0+$/, "")
  return digits.slice(0, -DECIMALS) + (fraction && `.${fraction}`)
}
