import { expect, test } from "bun:test"
import fc from "fast-check"
import { BUDGET_PERIODS } from "../store/contract.ts"
import { dateOfDay, dayOf, dayOfDate, windowOf } from "./budget.ts"

const dates = (period: "day" | "week" | "month", date: string) => {
  const { from, to } = windowOf(period, dayOfDate(date) ?? Number.NaN)
  return [dateOfDay(from), dateOfDay(to)]
}

test("a budget's window is a calendar day, a week from Monday to Sunday, or a calendar month", () => {
  expect(dates("day", "2026-11-15")).toEqual(["2026-11-15", "2026-11-15"])
  expect(dates("week", "2026-11-15")).toEqual(["2026-11-09", "2026-11-15"])
  expect(dates("week", "2026-11-16")).toEqual(["2026-11-16", "2026-11-22"])
  expect(dates("month", "2028-02-10")).toEqual(["2028-02-01", "2028-02-29"])
  expect(dates("month", "2026-12-31")).toEqual(["2026-12-01", "2026-12-31"])
})

test("a day begins at midnight UTC", () => {
  const midnight = Date.UTC(2026, 10, 15)
  expect(dayOf(midnight) - dayOf(midnight - 1)).toBe(1)
})

test("every day is in its window, and every day of the window has the same window", () => {
  const periods = fc.constantFrom(...BUDGET_PERIODS.filter((period) => period !== "total"))
  fc.assert(
    fc.property(periods, fc.integer({ min: 0, max: 60_000 }), (period, day) => {
      const window = windowOf(period, day)
      expect(day).toBeWithin(window.from, window.to + 1)
      for (let other = window.from; other <= window.to; other++) expect(windowOf(period, other)).toEqual(window)
    }),
  )
})

test.each(["2026-02-30", "2026-2-3", "today", "2026-11-15T00:00"])("%s is not a date", (date) => {
  expect(dayOfDate(date)).toBeUndefined()
})
