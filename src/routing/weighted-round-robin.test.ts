import { describe, expect, test } from "bun:test"
import fc from "fast-check"
import { accountsAt, modelOf, StagedTable } from "./route-plan.fixture.ts"

/** How often each account comes first. */
function firsts(stage: StagedTable, turns: number): Record<string, number> {
  const counts: Record<string, number> = {}
  for (let rotation = 0; rotation < turns; rotation++) {
    const first = stage.plan("m", { rotation }).attempts[0]?.account.baseUrl ?? ""
    counts[first] = (counts[first] ?? 0) + 1
  }
  return counts
}

describe("weighted round robin", () => {
  test("a weight is the share of requests that a target of its priority gets first", () => {
    const models = [modelOf("m", { a: { weight: 70 }, b: { weight: 20 }, c: { weight: 10 }, later: { priority: 2 } })]
    expect(firsts(new StagedTable({ models }), 1000)).toEqual({
      "http://a/0": 700,
      "http://b/0": 200,
      "http://c/0": 100,
    })
  })

  test("equal targets share requests evenly, and so do the accounts of each", () => {
    const accounts = {
      a: accountsAt("a", { count: 2 }),
      b: accountsAt("b", { count: 2 }),
      c: accountsAt("c", { count: 3 }),
    }
    const models = [modelOf("m", { a: {}, b: {}, c: {} })]
    expect(firsts(new StagedTable({ models, accounts }), 36)).toEqual({
      "http://a/0": 6,
      "http://a/1": 6,
      "http://b/0": 6,
      "http://b/1": 6,
      "http://c/0": 4,
      "http://c/1": 4,
      "http://c/2": 4,
    })
  })

  test("among equals, targets of the client's protocol share the requests of all", () => {
    const accounts = {
      a: accountsAt("a", { count: 2 }),
      b: accountsAt("b", { count: 2 }),
      other: accountsAt("other", { protocol: "gemini" }),
    }
    const models = [modelOf("m", { a: {}, b: {}, other: {}, heavy: { weight: 3 } })]
    expect(firsts(new StagedTable({ models, accounts }), 48)).toEqual({
      "http://heavy/0": 24,
      "http://a/0": 6,
      "http://a/1": 6,
      "http://b/0": 6,
      "http://b/1": 6,
    })
  })

  test("equal targets are always ordered as a rotation of themselves", () => {
    const ids = ["a", "b", "c", "d", "e", "f"]
    fc.assert(
      fc.property(fc.integer({ min: 2, max: 3 }), fc.nat(), fc.nat(9), (count, rotation, weight) => {
        const rows = Object.fromEntries(ids.slice(0, count).map((id) => [id, { weight: weight + 1 }]))
        const order = new StagedTable({ models: [modelOf("m", rows)] }).order("m", { rotation })
        const doubled = [...Object.keys(rows), ...Object.keys(rows)].map((id) => `m@${id}`)
        expect(doubled.join().includes(order.join())).toBe(true)
        expect(new Set(order).size).toBe(count)
      }),
    )
  })
})
