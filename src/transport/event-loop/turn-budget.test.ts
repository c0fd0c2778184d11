import { describe, expect, test } from "bun:test"
import { BYTES_PER_TURN, TurnBudget } from "./turn-budget.ts"

const nextTurn = () => new Promise<void>((resolve) => void setImmediate(resolve))

describe("a turn's budget", () => {
  test("a turn's budget passes small pieces at once, and large ones until it is spent", async () => {
    const budget = new TurnBudget()
    expect(budget.take(BYTES_PER_TURN - 1)).toBe(true)
    expect(budget.take(10_000)).toBe(true)
    expect(budget.take(10_000)).toBe(false)
    expect(budget.take(100)).toBe(true)
    await nextTurn()
    expect(budget.take(10_000)).toBe(true)
  })

  test("a turn's budget is shared in rotation among the waiting readers", async () => {
    const budget = new TurnBudget()
    const done: string[] = []
    const work = (who: string, times: number) => () => {
      done.push(who)
      budget.spend(BYTES_PER_TURN / 2)
      if (times > 1) budget.wait(work(who, times - 1))
    }
    for (const who of ["a", "b", "c"]) budget.wait(work(who, 3))
    const turns: string[] = []
    while (done.length < 9) {
      const before = done.length
      await nextTurn()
      if (done.length > before) turns.push(done.slice(before).join(""))
    }
    expect(turns).toEqual(["ab", "ca", "bc", "ab", "c"])
  })

  test("a turn's budget makes large pieces queue behind earlier ones", async () => {
    const budget = new TurnBudget()
    budget.wait(() => {})
    expect(budget.take(10_000)).toBe(false)
    expect(budget.take(10)).toBe(true)
    await nextTurn()
    expect(budget.take(10_000)).toBe(true)
  })
})
