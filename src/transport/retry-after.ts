// The standard headers that state when to retry.
import type { UpstreamResponse } from "./http-response.ts"

/** `retry-after-ms`, else `retry-after` in seconds or as a date. */
export function retryAfterMs(headers: UpstreamResponse["headers"], now = Date.now()): number | undefined {
  const exact = Number(headers.get("retry-after-ms") ?? Number.NaN)
  if (exact >= 0) return exact
  const value = headers.get("retry-after")
  if (value === null) return undefined
  if (/^\s*[\d.]+\s*$/.test(value)) return Number(value) * 1000
  // The lenient parser of dates takes a stray number for a year.
  const date = /GMT/.test(value) ? Date.parse(value) : Number.NaN
  return Number.isNaN(date) ? undefined : Math.max(0, date - now)
}
