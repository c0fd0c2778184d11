// The CPU time of a plan. The fastest of many rounds counts, since the others shared the processor.
import { expect, test } from "bun:test"
import type { RoutingOptions } from "../../src/canonical/chat/chat-request.ts"
import { StagedHealth } from "../../src/routing/health-monitor.fixture.ts"
import { modelOf, StagedTable, withPrices } from "../../src/routing/route-plan.fixture.ts"
import { planRoute } from "../../src/routing/route-plan.ts"

const ROUNDS = 40
const PLANS = 2000

/** CPU time of a plan for a model with ten targets, among so many models. */
function plannedUs(models: number, routingOptions: RoutingOptions): number {
  const rows = Object.fromEntries(
    Array.from({ length: 10 }, (_, index) => [`p${index}`, withPrices(1 + index, 9 - index, 0.1)]),
  )
  const names = Array.from({ length: models }, (_, index) => `m${index}`)
  const { table, place } = staged(names.map((name) => modelOf(name, rows)))
  const stage = new StagedHealth()
  for (let each = 0; each < 500; each++) {
    stage.now += 10
    const trial = stage.health.beginAttempt(place(each % 10))
    stage.health.noteFirstToken(trial, 100 + each)
    stage.health.endAttempt(trial, { answered: true, outputTokens: 300 })
  }
  const model = table.catalog.find("m0")
  if (!model) throw new Error("there is no model")
  const input = {
    protocol: "openai-chat",
    table,
    translates: true,
    routingOptions,
    facts: { stream: true, inputTokens: 2000, candidates: 1 },
    home: { ...place(3), cachedTokens: 1000 },
    chance: 0.01,
  }
  let rotation = 0
  let fastest = Number.POSITIVE_INFINITY
  for (let round = 0; round < ROUNDS; round++) {
    const before = process.cpuUsage()
    for (let each = 0; each < PLANS; each++)
      planRoute([model], { ...input, health: stage.health.snapshot(), rotation: rotation++ })
    const { user, system } = process.cpuUsage(before)
    fastest = Math.min(fastest, (user + system) / PLANS)
  }
  return fastest
}

function staged(models: ReturnType<typeof modelOf>[]) {
  const stage = new StagedTable({ models })
  return { table: stage.table, place: (index: number) => stage.targetKey("m0", `p${index}`) }
}

test.each([undefined, "cost", "latency", "quality"] as const)(
  "a plan by %p for ten targets is cheap: the bound is 5 µs, tripled for a busy machine",
  (strategy) => {
    const routingOptions = { fallback: [], order: ["p9", "p3"], ignore: ["p7"], maxPrice: { prompt: 100 } }
    expect(plannedUs(1, strategy ? { ...routingOptions, strategy } : routingOptions)).toBeLessThan(15)
  },
)

test("the cost of a plan does not grow with the number of models", () => {
  const [few, many] = [1, 5000].map((models) => plannedUs(models, { fallback: [], strategy: "cost" }))
  expect(many).toBeLessThan(2 * (few ?? 0) + 1)
})
