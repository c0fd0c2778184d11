import { describe, expect, test } from "bun:test"
import { StagedHealth } from "./health-monitor.fixture.ts"
import { accountsAt, modelOf, StagedTable, withPrices } from "./route-plan.fixture.ts"

const excluded = ({ excluded }: ReturnType<StagedTable["plan"]>) =>
  excluded.map(({ upstreamModel, why }) => `${upstreamModel}: ${why}`)

describe("the caller's options", () => {
  const stage = new StagedTable({ models: [modelOf("m", { a: {}, b: {}, c: {}, d: { priority: 2 } })] })

  test("`order` puts the named providers first, in that order, and then the others", () => {
    expect(stage.order("m", { routingOptions: { order: ["d", "unknown", "b"] } })).toEqual(["m@d", "m@b", "m@a"])
  })

  test("`only` and `ignore` exclude providers, and the plan gives the reason", () => {
    const only = stage.plan("m", { routingOptions: { only: ["d", "b"] } })
    expect(only.attempts.map(({ account }) => account.id)).toEqual(["b", "d"])
    expect(excluded(only)).toEqual(["m@a: only", "m@c: only"])
    const both = stage.plan("m", { routingOptions: { only: ["d", "b"], ignore: ["b"] } })
    expect(both.attempts.map(({ account }) => account.id)).toEqual(["d"])
    expect(excluded(both)).toEqual(["m@a: only", "m@b: ignore", "m@c: only"])
  })

  test("provider options that no target satisfies leave an empty plan", () => {
    expect(stage.plan("m", { routingOptions: { only: ["unknown"] } }).attempts).toEqual([])
  })

  test("provider options use the catalogue id even if another provider substitutes for it", () => {
    const simulated = new StagedTable({
      models: [modelOf("m", { a: {}, b: {} })],
      accounts: { a: accountsAt("simulator") },
    })
    expect(simulated.order("m", { routingOptions: { only: ["a"] } })).toEqual(["m@a"])
    expect(simulated.order("m", { routingOptions: { only: ["simulator"] } })).toEqual(["m@a"])
    expect(simulated.order("m", { routingOptions: { order: ["b"] } })).toEqual(["m@b", "m@a"])
  })

  test("`max_price` excludes higher prices and missing prices", () => {
    const models = [
      modelOf("m", { cheap: withPrices(1, 2), dear: withPrices(2, 9), unpriced: {}, tiered: tiered("1", "3") }),
    ]
    const dealer = new StagedTable({ models })
    const facts = { stream: false, inputTokens: 10, candidates: 1 }
    expect(excluded(dealer.plan("m", { routingOptions: { maxPrice: { prompt: 1 } }, facts }))).toEqual([
      "m@dear: max_price",
      "m@unpriced: max_price",
    ])
    expect(dealer.order("m", { routingOptions: { maxPrice: { completion: 2 } }, facts })).toEqual([
      "m@cheap",
      "m@tiered",
    ])
    const longer = { ...facts, inputTokens: 1001 }
    expect(dealer.order("m", { routingOptions: { maxPrice: { prompt: 1, completion: 2 } }, facts: longer })).toEqual([
      "m@cheap",
    ])
    expect(dealer.order("m", { routingOptions: { maxPrice: { prompt: 0 } }, facts })).toEqual([])
    expect(dealer.order("m", { routingOptions: { maxPrice: {} }, facts })).toHaveLength(3)
  })

  test("`require_parameters` excludes targets that do not support every parameter", () => {
    const losesParameters = ({ account }: { account: { id: string } }) => account.id === "a"
    const strict = stage.plan("m", { routingOptions: { requireParameters: true }, losesParameters })
    expect(excluded(strict)).toEqual(["m@a: require_parameters"])
    expect(stage.order("m", { losesParameters })[0]).toBe("m@a")
    expect(stage.order("m", { routingOptions: { requireParameters: true } })[0]).toBe("m@a")
  })

  test("an explained plan names the targets beyond the attempt limit", () => {
    expect(excluded(stage.plan("m", { routingOptions: { explain: true } }))).toEqual(["m@d: enough"])
    expect(excluded(stage.plan("m"))).toEqual([])
  })
})

function tiered(input: string, above: string) {
  return { pricing: { input, output: "2", tiers: [{ aboveInputTokens: 1000, input: above }] } }
}

describe("the plan and health", () => {
  const models = [modelOf("m", { a: {}, b: {}, c: {}, d: {} }), modelOf("n", { a: {}, e: {} })]
  const staged = () => {
    const table = new StagedTable({ models })
    const health = new StagedHealth()
    const order = (names: string | string[]) => table.order(names, { health: health.health.snapshot() })
    return { table, health, order }
  }

  test("a target that is out is not tried, and the plan gives the reason", () => {
    const { table, health } = staged()
    health.failTimes(5, table.targetKey("m", "a"))
    health.fail(table.targetKey("m", "b"), { failed: "limited", retryAfterMs: 60_000 })
    health.fail(table.targetKey("n", "c"), "credential")
    const planned = table.plan("m", { health: health.health.snapshot() })
    expect(planned.attempts.map(({ account }) => account.id)).toEqual(["d"])
    expect(excluded(planned)).toEqual(["m@a: failing", "m@b: limited", "m@c: credential"])
  })

  test("if an account may be probed but a model there may not, the model's reason is given", () => {
    const { table, health } = staged()
    health.fail(table.targetKey("m", "a"), { failed: "limited", retryAfterMs: 400_000 })
    health.fail(table.targetKey("n", "a"), "credential")
    health.now += 300_000
    expect(excluded(table.plan("m", { health: health.health.snapshot() }))).toEqual(["m@a: limited"])
  })

  test("a half-open target has its usual position for one request", () => {
    const { table, health, order } = staged()
    health.failTimes(5, table.targetKey("m", "a"))
    expect(order("m")).toEqual(["m@b", "m@c", "m@d"])
    health.now += 15_000
    expect(order("m")).toEqual(["m@a", "m@b", "m@c"])
    health.health.beginAttempt(table.targetKey("m", "a"))
    expect(order("m")).toEqual(["m@b", "m@c", "m@d"])
  })

  test("if all targets are out, the least bad is tried: failing before rate-limiting, before rejecting our credential", () => {
    const { table, health, order } = staged()
    health.fail(table.targetKey("m", "a"), "credential")
    health.fail(table.targetKey("m", "b"), { failed: "limited", quota: "spend" })
    health.fail(table.targetKey("m", "c"), { failed: "limited", quota: "day" })
    health.fail(table.targetKey("m", "d"), { failed: "limited", retryAfterMs: 1000 })
    expect(order("m")).toEqual(["m@d"])
    health.fail(table.targetKey("m", "d"), { failed: "limited", retryAfterMs: 400_000 })
    expect(order("m")).toEqual(["m@d"])
    health.now += 100_000
    health.failTimes(5, table.targetKey("n", "e"))
    expect(order(["m", "n"])).toEqual(["m@d", "n@e"])
  })

  test("failing targets are tried in rotation, of rate-limiting ones the one whose pause ends first", () => {
    const { table, health } = staged()
    const first = (rotation: number) => table.order("m", { health: health.health.snapshot(), rotation })
    for (const provider of ["b", "d"]) health.failTimes(5, table.targetKey("m", provider))
    for (const [provider, retryAfterMs] of [
      ["a", 9000],
      ["c", 4000],
    ] as const)
      health.fail(table.targetKey("m", provider), { failed: "limited", retryAfterMs })
    expect([0, 1, 2].map(first)).toEqual([["m@b"], ["m@d"], ["m@b"]])
    for (const provider of ["b", "d"]) {
      health.answer(table.targetKey("m", provider))
      health.fail(table.targetKey("m", provider), { failed: "limited", retryAfterMs: 6000 })
    }
    expect([0, 1, 2].map(first)).toEqual([["m@c"], ["m@c"], ["m@c"]])
  })

  test("a model whose targets are all out is tried after the others", () => {
    const { table, health, order } = staged()
    for (const provider of ["a", "b", "c", "d"]) health.failTimes(5, table.targetKey("m", provider))
    expect(order(["m", "n"])).toEqual(["n@a", "n@e", "m@a"])
  })

  test("a target that the caller excluded is never tried", () => {
    const { table, health } = staged()
    health.failTimes(5, table.targetKey("m", "a"))
    const view = health.health.snapshot()
    expect(table.order("m", { health: view, routingOptions: { only: ["a", "b"], ignore: ["b"] } })).toEqual(["m@a"])
    expect(table.order("m", { health: view, routingOptions: { ignore: ["a", "b", "c", "d"] } })).toEqual([])
  })
})

describe("the limits", () => {
  const rows = { a: {}, b: {}, c: {}, d: {} }
  const names = ["m", "n", "o", "p", "q", "r", "s"]
  const table = new StagedTable({ models: names.map((name) => modelOf(name, rows)) })
  const perModel = (models: string[]) => {
    const order = table.order(models)
    return models.map((name) => order.filter((each) => each.startsWith(`${name}@`)).length)
  }

  test("a plan has at most three targets per model, eight in total, and one of each named model", () => {
    expect(perModel(["m"])).toEqual([3])
    expect(perModel(["m", "n"])).toEqual([3, 3])
    expect(perModel(["m", "n", "o"])).toEqual([3, 3, 2])
    expect(perModel(["m", "n", "o", "p"])).toEqual([3, 3, 1, 1])
    expect(perModel(["m", "n", "o", "p", "q", "r"])).toEqual([3, 1, 1, 1, 1, 1])
  })

  test("a plan has at most five fallback models", () => {
    expect(perModel(names)).toEqual([3, 1, 1, 1, 1, 1, 0])
  })

  test("a target that two models share is tried once", () => {
    const shared = new StagedTable({ models: [modelOf("m", rows), modelOf("n", { a: { model: "m@a" }, e: {} })] })
    expect(shared.order(["m", "n"])).toEqual(["m@a", "m@b", "m@c", "n@e"])
  })
})

describe("a group", () => {
  const models = [
    modelOf("small", { a: withPrices(1, 2), b: withPrices(1.5, 3) }, { quality: 40 }),
    modelOf("large", { c: withPrices(5, 9) }, { quality: 80 }),
  ]
  const group = { id: "auto/x", models: ["small", "large"] }
  const facts = { stream: false, inputTokens: 1000, candidates: 1 }

  test("a group tries its models in order, and the attempt names the model", () => {
    const stage = new StagedTable({ models, groups: [group] })
    expect(stage.plan("auto/x").attempts.map(({ model }) => model.id)).toEqual(["small", "small", "large"])
    expect(stage.order("auto/x", { rotation: 1 })).toEqual(["small@b", "small@a", "large@c"])
  })

  test("a group is ordered by the caller's strategy, else by its own, else by the default", () => {
    const routingOptions = { strategy: "quality" } as const
    const plain = new StagedTable({ models, groups: [group] })
    expect(plain.order("auto/x", { routingOptions })).toEqual(["large@c", "small@a", "small@b"])
    const set = new StagedTable({ models, groups: [{ ...group, routing: "quality" }], strategy: "cost" })
    expect(set.order("auto/x", { facts })).toEqual(["large@c", "small@a", "small@b"])
    expect(set.order("auto/x", { facts, rotation: 1, routingOptions: { strategy: "cost" } })).toEqual([
      "small@a",
      "small@b",
      "large@c",
    ])
    const defaulted = new StagedTable({ models, groups: [group], strategy: "quality" })
    expect(defaulted.order("auto/x")).toEqual(["large@c", "small@a", "small@b"])
  })

  test("a group whose targets are all out is tried once, even if one of its models is named too", () => {
    const stage = new StagedTable({ models, groups: [group] })
    const health = new StagedHealth()
    for (const provider of ["a", "b"]) health.failTimes(5, stage.targetKey("small", provider))
    health.failTimes(5, stage.targetKey("large", "c"))
    const view = health.health.snapshot()
    expect(stage.order(["large", "auto/x", "small"], { health: view })).toEqual(["large@c", "small@a", "small@b"])
  })

  test("a group may be a fallback, and be followed by one of its models", () => {
    const stage = new StagedTable({ models: [...models, modelOf("m", { a: {} })], groups: [group] })
    expect(stage.order(["m", "auto/x", "small"])).toEqual(["m@a", "small@a", "small@b", "large@c"])
  })
})
