import { describe, expect, test } from "bun:test"
import { StagedHealth } from "./health-monitor.fixture.ts"
import type { AnswerDefect } from "./health-monitor.ts"
import { modelOf, StagedTable, withPrices } from "./route-plan.fixture.ts"

const facts = { stream: true, inputTokens: 1000, maxOutputTokens: 1000, candidates: 1 }

/** A table, its health, and answered requests. */
function stageTable(...models: ConstructorParameters<typeof StagedTable>[0]["models"]) {
  const table = new StagedTable({ models })
  const stage = new StagedHealth()
  const answer = (
    at: string,
    { times = 1, firstMs = 0, totalMs = 0, outputTokens = 0, marks = [] as AnswerDefect[] },
  ) => {
    const [model = "", provider = ""] = at.split("@")
    for (let each = 0; each < times; each++) {
      const trial = stage.health.beginAttempt(table.targetKey(model, provider))
      if (firstMs > 0) stage.health.noteFirstToken(trial, firstMs)
      stage.health.endAttempt(trial, {
        answered: true,
        defects: marks,
        ...(totalMs > 0 && { totalMs }),
        ...(outputTokens > 0 && { outputTokens }),
      })
    }
  }
  type ComparisonInput = NonNullable<Parameters<StagedTable["plan"]>[1]>
  const plan = (name: string, input: ComparisonInput = {}) =>
    table.plan(name, { facts, health: stage.health.snapshot(), ...input })
  const order = (name: string, input?: ComparisonInput) =>
    plan(name, input).attempts.map(({ upstreamModel }) => upstreamModel)
  return { table, stage, answer, plan, order }
}

const by = (strategy: "cost" | "latency" | "quality") => ({ routingOptions: { strategy } })

describe("by cost", () => {
  test("by cost, the lowest price of this request comes first: cheap input may mean expensive output", () => {
    const { order } = stageTable(modelOf("m", { reader: withPrices(1, 9), writer: withPrices(3, 3), unpriced: {} }))
    expect(order("m", by("cost"))).toEqual(["m@writer", "m@reader", "m@unpriced"])
    const short = { facts: { ...facts, maxOutputTokens: 10 } }
    expect(order("m", { ...by("cost"), ...short })).toEqual(["m@reader", "m@writer", "m@unpriced"])
  })

  test("by cost, the usual length of answers counts, not their limit", () => {
    const { order, answer } = stageTable(modelOf("m", { reader: withPrices(1, 9), writer: withPrices(3, 3) }))
    answer("m@writer", { times: 50, outputTokens: 20 })
    expect(order("m", by("cost"))).toEqual(["m@reader", "m@writer"])
  })

  test("by cost, each model's own usual output length counts", () => {
    const wordy = modelOf("wordy", { a: withPrices(1, 1) })
    const terse = modelOf("terse", { a: withPrices(1, 2) })
    const table = new StagedTable({ models: [wordy, terse], groups: [{ id: "auto/x", models: ["wordy", "terse"] }] })
    const stage = new StagedHealth()
    const order = () => table.order("auto/x", { facts, health: stage.health.snapshot(), ...by("cost") })
    expect(order()).toEqual(["wordy@a", "terse@a"])
    for (let each = 0; each < 50; each++) {
      stage.health.endAttempt(stage.health.beginAttempt(table.targetKey("wordy", "a")), {
        answered: true,
        outputTokens: 900,
      })
      stage.health.endAttempt(stage.health.beginAttempt(table.targetKey("terse", "a")), {
        answered: true,
        outputTokens: 100,
      })
    }
    expect(order()).toEqual(["terse@a", "wordy@a"])
  })

  test("by cost, a session stays where its cache makes it cheaper or all is equal, and moves where another is cheaper still", () => {
    const { table, order } = stageTable(
      modelOf("m", { a: withPrices(2, 2, 0.2), b: withPrices(1.5, 2), c: withPrices(0.1, 0.1), d: withPrices(2, 2) }),
    )
    const at = (provider: string, cachedTokens: number) => ({
      home: { ...table.targetKey("m", provider), cachedTokens },
    })
    const among = (...only: string[]) => ({ routingOptions: { strategy: "cost" as const, only } })
    expect(order("m", { ...among("a", "b"), ...at("a", 900) })).toEqual(["m@a", "m@b"])
    expect(order("m", { ...among("a", "b"), ...at("a", 10) })).toEqual(["m@b", "m@a"])
    expect(order("m", { ...among("a", "c"), ...at("a", 1000) })).toEqual(["m@c", "m@a"])
    expect(order("m", { ...among("a", "d"), ...at("d", 0) })).toEqual(["m@d", "m@a"])
  })

  test("a plan's attempt reports its likely and its maximum cost", () => {
    const { table, plan, answer } = stageTable(modelOf("m", { a: withPrices(2, 4, 1) }))
    answer("m@a", { times: 50, outputTokens: 500 })
    const planned = plan("m", { home: { ...table.targetKey("m", "a"), cachedTokens: 400 } })
    const [attempt] = planned.attempts
    expect(attempt && planned.scoresOf(attempt)?.cost).toEqual({
      likely: expect.closeTo(600 * 2000 + 400 * 1000 + 500 * 4000, -3),
      most: 1000 * 2000 + 1000 * 4000,
    })
  })

  test("embeddings cost their input, images their pictures", () => {
    const { order } = stageTable(
      modelOf("e", { a: withPrices(2, 0), b: withPrices(1, 99) }, { kind: "embedding" }),
      modelOf("i", { each: { pricing: { perImage: "0.1" } }, token: withPrices(1, 40) }, { kind: "image" }),
    )
    expect(order("e", by("cost"))).toEqual(["e@b", "e@a"])
    expect(order("i", by("cost"))).toEqual(["i@token", "i@each"])
  })
})

describe("by latency", () => {
  const rows = { a: {}, b: {}, c: {} }

  test("by latency, streams are ordered by their first token, other answers by their end", () => {
    const { order, answer } = stageTable(modelOf("m", rows))
    answer("m@a", { times: 9, firstMs: 900, totalMs: 1000 })
    answer("m@b", { times: 9, firstMs: 300, totalMs: 3000 })
    answer("m@c", { times: 9, firstMs: 600, totalMs: 2000 })
    expect(order("m", by("latency"))).toEqual(["m@b", "m@c", "m@a"])
    const whole = { facts: { ...facts, stream: false } }
    expect(order("m", { ...by("latency"), ...whole })).toEqual(["m@a", "m@c", "m@b"])
  })

  test("by latency, a target that often fails counts as slow as it makes requests wait", () => {
    const { order, answer, stage, table } = stageTable(modelOf("m", rows))
    answer("m@a", { times: 9, firstMs: 300 })
    answer("m@b", { times: 9, firstMs: 400 })
    for (let each = 0; each < 4; each++) stage.fail(table.targetKey("m", "a"))
    expect(order("m", by("latency"))).toEqual(["m@b", "m@a", "m@c"])
  })

  test("a target that leaves several calls waiting is slow before its latency is known", () => {
    const { order, answer, stage, table } = stageTable(modelOf("m", rows))
    answer("m@a", { times: 9, firstMs: 300 })
    answer("m@b", { times: 9, firstMs: 900 })
    const [first] = stage.beginAttempt(3, table.targetKey("m", "a"))
    stage.now += 899
    expect(order("m", by("latency"))).toEqual(["m@a", "m@b", "m@c"])
    stage.now += 200
    expect(order("m", by("latency"))).toEqual(["m@b", "m@a", "m@c"])
    if (first) stage.health.noteFirstToken(first, 300)
    expect(order("m", by("latency"))).toEqual(["m@a", "m@b", "m@c"])
  })

  test("by latency, a small share of requests explores targets with too few samples", () => {
    const { order, answer } = stageTable(modelOf("m", rows))
    answer("m@a", { times: 9, firstMs: 300 })
    answer("m@b", { times: 2, firstMs: 100 })
    const at = (chance?: number) => order("m", { ...by("latency"), chance })[0]
    expect([at(), at(0.05), at(0.99)]).toEqual(["m@b", "m@b", "m@b"])
    expect([at(0), at(0.049)]).toEqual(["m@c", "m@c"])
    answer("m@c", { times: 9, firstMs: 900 })
    answer("m@b", { times: 9, firstMs: 100 })
    expect(at(0)).toBe("m@b")
  })

  test("by latency, targets with only old samples are explored again", () => {
    const { order, answer, stage } = stageTable(modelOf("m", { a: {}, b: {} }))
    answer("m@b", { times: 9, firstMs: 900 })
    stage.now += 300_000
    answer("m@a", { times: 9, firstMs: 300 })
    expect(order("m", { ...by("latency"), chance: 0 })).toEqual(["m@b", "m@a"])
    expect(order("m", { ...by("latency"), chance: 0.5 })).toEqual(["m@a", "m@b"])
  })

  test("by latency, a session stays at its target, even if others are faster or to be explored", () => {
    const { table, order, answer } = stageTable(modelOf("m", rows))
    answer("m@a", { times: 9, firstMs: 300 })
    const home = { ...table.targetKey("m", "b"), cachedTokens: 0 }
    expect(order("m", { ...by("latency"), chance: 0, home })[0]).toBe("m@b")
    expect(order("m", { home, rotation: 2 })[0]).toBe("m@b")
  })

  test("a plan's attempt reports its latency percentiles and their number of samples", () => {
    const { plan, answer } = stageTable(modelOf("m", { a: {} }))
    for (let each = 1; each <= 10; each++) answer("m@a", { firstMs: each * 100 })
    const planned = plan("m")
    const [attempt] = planned.attempts
    const { latency } = (attempt && planned.scoresOf(attempt)) ?? {}
    expect(latency?.p50Ms).toBeWithin(475, 640)
    expect(latency?.p90Ms).toBeWithin(855, 1050)
    expect(latency?.samples).toBeWithin(8, 10)
  })
})

describe("by quality", () => {
  test("by quality, the catalogue's score decides, lowered for coarse weights", () => {
    const table = new StagedTable({
      models: [
        modelOf(
          "good",
          { full: { precision: "bf16" }, eighth: { precision: "fp8" }, fourth: { precision: "int4" } },
          { quality: 80 },
        ),
        modelOf("fair", { a: {} }, { quality: 76 }),
        modelOf("unjudged", { a: {} }),
      ],
      groups: [{ id: "auto/x", models: ["unjudged", "fair", "good"] }],
    })
    expect(table.order("good", by("quality"))).toEqual(["good@full", "good@eighth", "good@fourth"])
    const only = { routingOptions: { strategy: "quality", ignore: ["full", "eighth"] } } as const
    expect(table.order("auto/x", only)).toEqual(["fair@a", "good@fourth", "unjudged@a"])
  })

  test("by quality, measurements correct the score, the more of them the more", () => {
    const { plan, order, answer } = stageTable(modelOf("m", { a: {}, b: {} }, { quality: 80 }))
    answer("m@a", { times: 1, marks: ["invalid-arguments"] })
    expect(order("m", by("quality"))).toEqual(["m@b", "m@a"])
    const quality = () => {
      const planned = plan("m")
      const attempt = planned.attempts.find(({ upstreamModel }) => upstreamModel === "m@a")
      return (attempt && planned.scoresOf(attempt)?.quality) ?? { score: 0, confidence: 0 }
    }
    expect(quality().score).toBeWithin(75, 79)
    expect(quality().confidence).toBeWithin(0.04, 0.06)
    answer("m@a", { times: 500, marks: ["truncated"] })
    expect(quality().score).toBeLessThan(8)
    expect(quality().confidence).toBeGreaterThan(0.9)
  })

  test("by quality, failures count and refusals of a caller's request do not", () => {
    const { order, stage, table } = stageTable(modelOf("m", { a: {}, b: {} }))
    for (let each = 0; each < 9; each++) stage.fail(table.targetKey("m", "b"), "caller")
    expect(order("m", by("quality"))).toEqual(["m@a", "m@b"])
    stage.fail(table.targetKey("m", "a"), "timeout")
    expect(order("m", by("quality"))).toEqual(["m@b", "m@a"])
  })
})
