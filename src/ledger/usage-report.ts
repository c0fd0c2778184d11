// Pages of usage per day, key, model and provider.
import type { UsageKey, UsageRow, UsageTable } from "../store/contract.ts"
import { dateOfDay, dayOfDate } from "./budget.ts"

export interface UsageQuery {
  /** Dates such as `2026-11-15`, both included. */
  readonly from: string
  readonly to: string
  readonly tenant?: string
  /** Requires `tenant`. */
  readonly keyId?: string
  readonly model?: string
  /** The last row of the previous page. */
  readonly after?: UsageCursor
  readonly limit: number
}

/** The position of a row in the report. */
interface UsageCursor extends Omit<UsageKey, "day"> {
  readonly date: string
}

export type UsageReportPage = readonly (Omit<UsageRow, "day"> & { readonly date: string })[]

export function readUsagePage(table: UsageTable, { from, to, after, ...query }: UsageQuery): UsageReportPage {
  if (query.keyId !== undefined && query.tenant === undefined)
    throw new RangeError("a usage query for a key must name its tenant")
  const cursor = after && { ...after, day: parseDay(after.date) }
  const rows = table.page({ from: parseDay(from), to: parseDay(to), after: cursor, ...query })
  return rows.map(({ day, ...row }) => ({ date: dateOfDay(day), ...row }))
}

export function parseDay(date: string): number {
  const day = dayOfDate(date)
  if (day === undefined) throw new RangeError(`"${date}" is not a date such as 2026-11-15`)
  return day
}
