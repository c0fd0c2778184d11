// How long an upstream asks to be left alone, from its headers.
import type { Answer } from "./http-answer.ts"

/** `retry-after-ms`, else `retry-after` in seconds or as a date. */
export function retryAfterMs(headers: Answer["headers"], now = Date.now()): number | undefined {
  const exact = Number(headers.get("retry-after-ms") ?? Number.NaN)
  if (exact >= 0) return exact
  const said = headers.get("retry-after")
  if (said === null) return undefined
  if (/^\s*[\d.]+\s*$/.test(said)) return Number(said) * 1000
  // The lenient parser of dates takes a stray number for a year.
  const date = /GMT/.test(said) ? Date.parse(said) : Number.NaN
  return Number.isNaN(date) ? undefined : Math.max(0, date - now)
}
