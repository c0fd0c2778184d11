import { describe, expect, test } from "bun:test"
import fc from "fast-check"
import type { Caller } from "../../access/caller.ts"
import { model } from "../../catalog/model.fixture.ts"
import type { Target } from "../../routing/route-plan.ts"
import { LimitOverruns } from "../charge/limit-overruns.ts"
import { computeHold } from "../charge/request-hold.ts"
import type { ReadRequest } from "../read-request.ts"
import { affordableOutput, explainMoney } from "./explain-money.ts"

const overruns = new LimitOverruns()

const caller = { id: "k", tenant: "t", ownBalance: false, strictBalance: false, budgetsInForce: [] }

function requestOf(maxOutputTokens: number, text = "{}"): ReadRequest {
  return {
    text,
    reading: { outputLimits: { maxOutputTokens, candidates: 1 }, stream: false },
  } as unknown as ReadRequest
}

const price = fc.integer({ min: 0, max: 5000 }).map((thousandths) => String(thousandths / 1000))
const pricing = fc.record({
  input: price,
  output: price,
  reasoning: price,
  perRequest: fc.nat(5000).map((millionths) => (millionths / 1e6).toFixed(6)),
  tiers: fc.array(fc.record({ aboveInputTokens: fc.nat(2000), input: price, output: price }), { maxLength: 2 }),
})
const targets = fc.array(pricing, { minLength: 1, maxLength: 4 }).map((all) =>
  all.map((each) => {
    const tiers = each.tiers.toSorted((one, other) => one.aboveInputTokens - other.aboveInputTokens)
    return { model: model("a/b"), pricing: { ...each, tiers } } as unknown as Target
  }),
)

describe("the affordable output", () => {
  test("the affordable output is the largest that a hold covers at any target, to the token", () => {
    const money = fc.record({ targets, length: fc.nat(2000), leftNano: fc.bigInt(0n, 50_000_000n) })
    fc.assert(
      fc.property(money, ({ targets, length, leftNano }) => {
        const text = "x".repeat(length)
        const fits = (tokens: number) =>
          computeHold(requestOf(tokens, text), targets, { caller, overruns }).nano <= leftNano
        const most = affordableOutput(targets, { request: requestOf(1, text), leftNano })
        if (most === undefined) return fits(1e12)
        return (fits(most) || most === 0) && !fits(most + 1)
      }),
      { numRuns: 500 },
    )
  })

  test("the affordable output is unlimited without a limit or if output is free", () => {
    const at = (output: string, leftNano: bigint | undefined) => {
      const target = { model: model("a/b"), pricing: { input: "0", output } } as unknown as Target
      return affordableOutput([target], { request: requestOf(5), leftNano })
    }
    expect(at("1", undefined)).toBeUndefined()
    expect(at("0", 5n)).toBeUndefined()
    expect(at("1", 5000n)).toBe(5)
    expect(at("1", -1n)).toBe(0)
  })
})

describe("the money part of an explanation", () => {
  const target = { model: model("a/b"), pricing: { input: "0", output: "1" } } as unknown as Target
  const explain = ({ freeNano, budgetNano }: { freeNano?: bigint; budgetNano?: bigint }) => {
    const request = requestOf(100)
    const budgets = budgetNano === undefined ? [] : [{ of: "tenant", period: "week", limitNano: 900_000n }]
    const ledger = { balance: () => ({ freeNano: freeNano ?? null }), leftOf: () => budgetNano }
    const who = { ...caller, budgetsInForce: budgets } as unknown as Caller
    return explainMoney(computeHold(request, [target], { caller: who, overruns }), {
      caller: who,
      ledger: ledger as never,
      request,
    })
  }

  test("the money part shows the hold, and null if nothing limits the caller", () => {
    expect(explain({})).toEqual({
      shown: {
        held: "0.0001",
        held_output_tokens: 100,
        balance: null,
        budgets: [],
        affordable_output_tokens: null,
      },
      refusal: undefined,
    })
  })

  test("the money part shows the narrower of balance and budget, and the error of a refused request", () => {
    const rich = explain({ freeNano: 100_000n, budgetNano: 700_000n })
    expect([rich.refusal, rich.shown.affordable_output_tokens]).toEqual([undefined, 100])
    expect(rich.shown.budgets).toEqual([{ of: "tenant", period: "week", limit: "0.0009", remaining: "0.0007" }])
    expect(explain({ freeNano: 99_999n }).refusal?.code).toBe("insufficient_balance")
    const tight = explain({ freeNano: 500_000n, budgetNano: 99_000n })
    expect([tight.refusal?.code, tight.shown.affordable_output_tokens]).toEqual(["budget_exceeded", 99])
    expect(tight.refusal?.message).toContain("0.000099 USD is left of the tenant's budget (week)")
  })
})
