import { expect, test } from "bun:test"
import type { BudgetInForce } from "../../access/budgets-in-force.ts"
import type { Caller } from "../../access/caller.ts"
import { FREE, type Pricing } from "../../canonical/model.ts"
import { Catalog, type CatalogModel } from "../../catalog/catalog.ts"
import { FundsCheck } from "./funds-check.ts"

const DEAR: Pricing = { input: "1", output: "2" }
const model = (pricing: Pricing): CatalogModel => ({
  id: "a/b",
  displayName: "b",
  version: "1",
  kind: "chat",
  status: "active",
  created: 0,
  modalities: { input: ["text"], output: ["text"] },
  capabilities: [],
  aliases: [],
  reasoning: false,
  targets: [{ provider: "served", model: "b", priority: 1, weight: 1 }],
  pricing,
})

interface FundsScenario {
  readonly free?: bigint | null
  readonly left?: bigint
  readonly prices?: readonly Pricing[]
  /** Prices at a provider that is not configured. */
  readonly elsewhere?: Pricing
}

function refusal({ free = null, left, prices = [DEAR], elsewhere = DEAR }: FundsScenario): string | undefined {
  const absent = { provider: "absent", model: "b", priority: 1, weight: 1, pricing: elsewhere }
  const models = prices.map((pricing, at) => ({ ...model(pricing), id: `a/${at}` }))
  const catalog = new Catalog([...models, { ...model(DEAR), id: "a/absent", targets: [absent] }])
  const table = { catalog, accounts: new Map([["served", []]]) }
  const funds = new FundsCheck({ ledger: { leftOf: () => left ?? 1n }, freeOf: () => free, table: () => table })
  const budget: BudgetInForce = { of: "key", period: "day", limitNano: 5n }
  const caller = { id: "k", tenant: "t", budgetsInForce: left === undefined ? [] : [budget] } as unknown as Caller
  try {
    funds.check(caller)
    return undefined
  } catch (thrown) {
    return (thrown as { code: string }).code
  }
}

test.each([
  ["no limit", {}, undefined],
  ["funds left", { free: 1n, left: 1n }, undefined],
  ["an empty balance", { free: 0n }, "insufficient_balance"],
  ["a debt", { free: -1n }, "insufficient_balance"],
  ["an empty budget", { free: 1n, left: 0n }, "budget_exceeded"],
  ["an overspent budget", { left: -1n }, "budget_exceeded"],
  ["an empty balance if a model is free", { free: 0n, prices: [DEAR, FREE] }, undefined],
  ["an empty budget if a model is free", { left: 0n, prices: [FREE] }, undefined],
  ["a debt if a model is free", { free: -1n, prices: [FREE] }, "insufficient_balance"],
  ["an empty balance if no provider serves the free model", { free: 0n, elsewhere: FREE }, "insufficient_balance"],
  [
    "an empty balance if a model is free only below a tier",
    { free: 0n, prices: [{ input: "0", output: "0.0", tiers: [{ aboveInputTokens: 1, input: "1" }] }] },
    "insufficient_balance",
  ],
] as const)("a large body is checked against the funds of a caller with %s", (_, given, code) => {
  expect(refusal(given)).toBe(code)
})
