import { describe, expect, test } from "bun:test"
import fc from "fast-check"
import { RetryBudget } from "./retry-budget.ts"

function staged() {
  const clock = { now: 5000 }
  const budget = new RetryBudget(() => clock.now)
  const attempted = (times: number) => {
    for (let each = 0; each < times; each++) budget.attempted()
  }
  const taken = (wanted: number) => Array.from({ length: wanted }, () => budget.take()).filter(Boolean).length
  return { clock, budget, attempted, taken }
}

describe("retries", () => {
  test("retries are limited to three a second without other attempts", () => {
    const { clock, taken } = staged()
    expect(taken(100)).toBe(30)
    clock.now += 9000
    expect(taken(100)).toBe(0)
    clock.now += 1000
    expect(taken(100)).toBe(30)
  })

  test("retries are limited to three a second and a tenth of the attempts of the last ten seconds", () => {
    const { clock, attempted, taken } = staged()
    attempted(1000)
    expect(taken(1000)).toBe(130)
    clock.now += 5000
    attempted(500)
    expect(taken(1000)).toBe(50)
    clock.now += 5000
    expect(taken(1000)).toBe(30)
  })

  test("retries never exceed their budget in any ten seconds, at any demand", () => {
    const step = fc.record({
      afterMs: fc.constantFrom(0, 0, 3, 400, 1000, 4000, 20_000),
      attempts: fc.integer({ min: 0, max: 300 }),
      wanted: fc.integer({ min: 0, max: 100 }),
    })
    fc.assert(
      fc.property(fc.array(step, { minLength: 5, maxLength: 60 }), (steps) => {
        const { clock, attempted, taken } = staged()
        const happened: { second: number; attempts: number; retries: number }[] = []
        for (const { afterMs, attempts, wanted } of steps) {
          clock.now += afterMs
          attempted(attempts)
          const retries = taken(wanted)
          happened.push({ second: Math.floor(clock.now / 1000), attempts, retries })
          const recent = happened.filter(({ second }) => second > Math.floor(clock.now / 1000) - 10)
          const sum = (of: "attempts" | "retries") => recent.reduce((total, each) => total + each[of], 0)
          const most = Math.floor(0.1 * sum("attempts") + 30 + 1e-9)
          if (retries > 0) expect(sum("retries")).toBeLessThanOrEqual(most)
          // A retry was refused only if no budget was left.
          if (retries < wanted) expect(sum("retries")).toBeGreaterThanOrEqual(most)
        }
      }),
      { numRuns: 300 },
    )
  })
})
