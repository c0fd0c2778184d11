// How long an upstream asks to be left alone, from its headers.

/** `retry-after-ms`, else `retry-after` in seconds or as a date. */
export function retryAfterMs(headers: Headers, now = Date.now()): number | undefined {
  const exact = Number(headers.get("retry-after-ms") ?? Number.NaN)
  if (exact >= 0) return exact
  const said = headers.get("retry-after")
  if (said === null) return undefined
  const seconds = Number(said)
  if (said.trim() !== "" && seconds >= 0) return seconds * 1000
  const date = Date.parse(said)
  return Number.isNaN(date) ? undefined : Math.max(0, date - now)
}
