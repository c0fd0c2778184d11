import { describe, expect, test } from "bun:test"
import { Affinity } from "./affinity.ts"
import { modelOf, StagedTable, withPrices } from "./route-plan.fixture.ts"
import type { Target } from "./target.ts"

const stage = new StagedTable({
  models: [modelOf("m", { a: withPrices(1, 2, 0.1), b: withPrices(1, 2, 0.1), plain: withPrices(1, 2) })],
})
const at = (provider: string): Target => {
  const target = stage.plan("m").attempts.find(({ account }) => account.id === provider)
  if (!target) throw new Error(`nothing is planned at ${provider}`)
  return target
}

function stageAffinity(maxSessions?: number) {
  const clock = { now: 0 }
  const affinity = new Affinity({ now: () => clock.now, ...(maxSessions && { maxSessions }) })
  const answer = (session: string, provider: string, usage = {}) =>
    affinity.noteAnswered(session, { target: at(provider), usage })
  return { clock, affinity, answer }
}

describe("a session", () => {
  test("a session's home is the target that last answered it, with the tokens it sent there", () => {
    const { affinity, answer } = stageAffinity()
    answer("s", "a", { input: 1000, output: 50 })
    answer("s", "b", { input: 1100, cacheWrite: 900 })
    expect(affinity.homeOf("s")).toMatchObject({ account: at("b").account, upstreamModel: "m@b", cachedTokens: 2000 })
    expect(affinity.homeOf("t")).toBeUndefined()
  })

  test("a session has no cached tokens where cache reads cost as much as input", () => {
    const { affinity, answer } = stageAffinity()
    answer("s", "plain", { input: 1000 })
    expect(affinity.homeOf("s")?.cachedTokens).toBe(0)
  })

  test("a session that found nothing cached expects nothing, until it finds something", () => {
    const { affinity, answer } = stageAffinity()
    answer("s", "a", { input: 1000 })
    expect(affinity.homeOf("s")?.cachedTokens).toBe(1000)
    answer("s", "a", { input: 1200, cacheRead: 0 })
    expect(affinity.homeOf("s")?.cachedTokens).toBe(0)
    answer("s", "a", { input: 200, cacheRead: 1200 })
    expect(affinity.homeOf("s")?.cachedTokens).toBe(1400)
  })

  test("a session is forgotten after ten minutes, and the oldest one if there are too many", () => {
    const { clock, affinity, answer } = stageAffinity(2)
    answer("s", "a")
    answer("t", "a")
    answer("s", "a")
    answer("u", "a")
    expect(["s", "t", "u"].map((session) => affinity.homeOf(session) !== undefined)).toEqual([true, false, true])
    clock.now += 599_999
    expect(affinity.homeOf("s")).toBeDefined()
    clock.now += 1
    expect(affinity.homeOf("s")).toBeUndefined()
  })
})
