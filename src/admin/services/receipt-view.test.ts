import { describe, expect, test } from "bun:test"
import fc from "fast-check"
import type { Pricing } from "../../canonical/model.ts"
import type { Usage } from "../../canonical/usage.ts"
import { nanoOfUsd, usdOfNano } from "../../canonical/usd.ts"
import { costOf } from "../../ledger/cost.ts"
import type { Receipt } from "../../ledger/ledger.ts"
import { toReceiptView } from "./receipt-view.ts"

const price = fc.bigInt({ min: 0n, max: 10n ** 12n }).map(usdOfNano)
const count = fc.integer({ min: 0, max: 5_000_000 })
const prices = fc.record(
  { input: price, output: price, cacheRead: price, cacheWrite1h: price, reasoning: price, perImage: price },
  { requiredKeys: ["input", "output", "perImage"] },
)
const pricing: fc.Arbitrary<Pricing> = fc
  .tuple(prices, fc.option(fc.record({ aboveInputTokens: fc.constant(1_000_000), input: price }), { nil: undefined }))
  .map(([plain, tier]) => (tier ? { ...plain, tiers: [tier] } : plain))
const usage: fc.Arbitrary<Usage> = fc.record(
  { input: count, cacheRead: count, cacheWrite1h: count, output: count, reasoning: count, imageOutput: count },
  { requiredKeys: [] },
)

function booked(chargeNano: bigint, facts: Receipt["facts"]): Receipt {
  const sums = {
    chargeNano,
    paidNano: chargeNano,
    writtenOffNano: 0n,
    owedNano: 0n,
    returnedNano: 0n,
    suspendedNano: 0n,
  }
  return { requestId: "r", tenant: "t", keyId: "k", at: 0, outcome: "settled", ...sums, facts }
}

/** In millionths of a nano-USD. */
function exact(amount: string): bigint {
  const [whole = "", fraction = ""] = amount.split(".")
  return BigInt(whole + fraction.padEnd(15, "0"))
}

describe("a receipt's formula", () => {
  test("the exact lines of a receipt's formula add up to the booked cost", () => {
    fc.assert(
      fc.property(usage, fc.nat(1000), pricing, (used, images, priced) => {
        const cost = costOf({ usage: used, images }, priced)
        const facts = { usage: { ...used }, images, price_version: "v" }
        const shown = toReceiptView(booked(cost?.nanoUsd ?? -1n, facts), () => priced)
        const sum = shown.formula.reduce((all, line) => all + exact(line.amount), 0n)
        expect((sum + 999_999n) / 1_000_000n).toBe(nanoOfUsd(shown.cost) ?? -1n)
        expect(shown).toMatchObject({ recomputed_cost: shown.cost, as_booked: true })
        for (const { bucket, units } of shown.formula) {
          expect(shown.usage?.[bucket === "per_image" ? "images" : bucket]).toBe(units)
        }
      }),
      { numRuns: 1000 },
    )
  })

  test("a receipt whose recomputed cost differs from the booked cost is not marked as booked", () => {
    fc.assert(
      fc.property(usage, pricing, fc.bigInt({ min: 1n, max: 100n }), (used, priced, off) => {
        const cost = costOf({ usage: used }, priced)
        const facts = { usage: { ...used }, price_version: "v" }
        expect(toReceiptView(booked((cost?.nanoUsd ?? 0n) + off, facts), () => priced).as_booked).toBe(false)
      }),
    )
  })

  test("a receipt without known prices or usage has no formula", () => {
    const unknown = { formula: [], recomputed_cost: null, as_booked: null }
    const facts = { usage: { input: 5 }, price_version: "v" }
    expect(toReceiptView(booked(1n, facts), () => undefined)).toMatchObject({ ...unknown, price_version: "v" })
    expect(toReceiptView(booked(1n, { usage: { input: 5 } }), () => ({ input: "1" }))).toMatchObject(unknown)
    expect(toReceiptView(booked(1n, undefined), () => ({ input: "1" }))).toMatchObject({ ...unknown, facts: null })
  })
})
