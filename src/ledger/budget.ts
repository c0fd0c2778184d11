// Budgets and their windows: calendar days, weeks from Monday and months, all UTC.
import type { BudgetPeriod } from "../store/contract.ts"

export interface Budget {
  /** The holder whose spending counts; the key by default. */
  readonly of?: "key" | "tenant"
  readonly period: BudgetPeriod
  readonly limitNano: bigint
}

/** Days since 1970, both included. */
export interface DayWindow {
  readonly from: number
  readonly to: number
}

const DAY_MS = 86_400_000
/** 1970 began on a Thursday. */
const MONDAY_OFFSET = 3

/** The UTC day of a time, as days since 1970. */
export function dayOf(at: number): number {
  return Math.floor(at / DAY_MS)
}

/** The start of a day. */
export function startOfDay(day: number): number {
  return day * DAY_MS
}

/** A date such as `2026-11-15`. */
export function dateOfDay(day: number): string {
  return new Date(day * DAY_MS).toISOString().slice(0, 10)
}

/** Undefined if it is not a date such as `2026-11-15`. */
export function dayOfDate(date: string): number | undefined {
  const at = /^\d{4}-\d\d-\d\d$/.test(date) ? Date.parse(date) : Number.NaN
  return Number.isNaN(at) || new Date(at).toISOString().slice(0, 10) !== date ? undefined : dayOf(at)
}

/** The window of a period that contains a day. */
export function windowOf(period: Exclude<BudgetPeriod, "total">, day: number): DayWindow {
  if (period === "day") return { from: day, to: day }
  if (period === "week") {
    const from = day - ((day + MONDAY_OFFSET) % 7)
    return { from, to: from + 6 }
  }
  const date = new Date(day * DAY_MS)
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()]
  return { from: dayOf(Date.UTC(year, month, 1)), to: dayOf(Date.UTC(year, month + 1, 1)) - 1 }
}
