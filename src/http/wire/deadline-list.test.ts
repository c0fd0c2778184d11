import { expect, test } from "bun:test"
import fc from "fast-check"
import { DeadlineList, type ListWaiter } from "./deadline-list.ts"

class TestWaiter implements ListWaiter<TestWaiter> {
  list: DeadlineList<TestWaiter> | undefined
  before: TestWaiter | undefined
  behind: TestWaiter | undefined
  since = 0

  constructor(readonly name: number) {}
}

test("lists hold each waiter once, in order of arrival, after any moves between them", () => {
  const step = fc.record({
    who: fc.nat(5),
    act: fc.constantFrom("one", "other", "leave", "expire"),
    afterMs: fc.nat(60),
  })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 100 }), (steps) => {
      const lists = { one: new DeadlineList<TestWaiter>(100), other: new DeadlineList<TestWaiter>(50) }
      const waiters = Array.from({ length: 6 }, (_, name) => new TestWaiter(name))
      const model: Record<"one" | "other", { who: number; since: number }[]> = { one: [], other: [] }
      const drop = (who: number) => {
        for (const name of ["one", "other"] as const) model[name] = model[name].filter((each) => each.who !== who)
      }
      let now = 0
      for (const { who, act, afterMs } of steps) {
        now += afterMs
        const waiter = waiters[who] as TestWaiter
        if (act === "one" || act === "other") {
          lists[act].enter(waiter, now)
          drop(who)
          model[act].push({ who, since: now })
        } else if (act === "leave") {
          waiter.list?.leave(waiter)
          drop(who)
        } else {
          const expired: number[] = []
          lists.one.expire(now, ({ name }) => expired.push(name))
          expect(expired).toEqual(model.one.filter(({ since }) => now - since >= 100).map((each) => each.who))
          for (const each of expired) drop(each)
        }
        for (const name of ["one", "other"] as const) {
          expect(lists[name].size).toBe(model[name].length)
          expect(lists[name].oldest?.name).toBe(model[name][0]?.who as number)
        }
      }
    }),
  )
})
