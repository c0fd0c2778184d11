import { expect, test } from "bun:test"
import fc from "fast-check"
import type { CatalogModel } from "../../catalog/catalog.ts"
import { modelOf, StagedTable } from "../../routing/route-plan.fixture.ts"
import { LimitOverruns } from "../charge/limit-overruns.ts"
import type { ReadRequest } from "../read-request.ts"
import { costRange } from "./explain-attempt.ts"

const price = fc.integer({ min: 0, max: 50_000 }).map((thousandths) => String(thousandths / 1000))
const request = fc.record({
  kind: fc.constantFrom<CatalogModel["kind"]>("chat", "embedding", "image"),
  pricing: fc.record({
    input: price,
    output: price,
    cacheRead: price,
    tiers: fc.array(fc.record({ aboveInputTokens: fc.nat(3000), input: price, output: price }), { maxLength: 1 }),
  }),
  maxOutputTokens: fc.option(fc.oneof(fc.nat(100_000), fc.constant(1e300)), { nil: undefined }),
  candidates: fc.constantFrom(1, 3, 1e300),
  text: fc.string({ maxLength: 4000 }),
})

const USD = /^\d+(\.\d{1,9})?$/

test("the least cost is at most the likely one, which is at most the highest, in decimal USD", () => {
  fc.assert(
    fc.property(request, ({ kind, pricing, text, ...outputLimits }) => {
      const stage = new StagedTable({ models: [modelOf("m", { a: { pricing } }, { kind })] })
      const facts = { stream: false, inputTokens: Math.ceil(text.length * 0.85) + 64, ...outputLimits }
      const plan = stage.plan("m", { facts })
      const [attempt] = plan.attempts
      if (!attempt) throw new Error("the plan has no attempt")
      const request = { text, reading: { outputLimits, stream: false } } as unknown as ReadRequest
      const scores = plan.scoresOf(attempt)
      const range = costRange(attempt, { scores, request, overruns: new LimitOverruns() })
      if (!range) return
      for (const amount of Object.values(range)) expect(amount).toMatch(USD)
      expect(Number(range.least)).toBeLessThanOrEqual(Number(range.likely))
      expect(Number(range.likely)).toBeLessThanOrEqual(Number(range.most))
    }),
    { numRuns: 500 },
  )
})

test("a target without a price has no cost range", () => {
  const stage = new StagedTable({ models: [modelOf("m", { a: {} })] })
  const plan = stage.plan("m", { facts: { stream: false, inputTokens: 5, candidates: 1 } })
  const [attempt] = plan.attempts
  const request = { text: "{}", reading: { outputLimits: { candidates: 1 } } } as unknown as ReadRequest
  expect(
    attempt && costRange(attempt, { scores: plan.scoresOf(attempt), request, overruns: new LimitOverruns() }),
  ).toBeNull()
})
