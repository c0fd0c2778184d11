import { expect, test } from "bun:test"
import { retryAfterMs } from "./retry-after.ts"

const now = Date.parse("2026-01-01T00:00:00Z")
const cases: [Record<string, string>, number | undefined][] = [
  [{}, undefined],
  [{ "retry-after": "20" }, 20_000],
  [{ "retry-after": "0" }, 0],
  [{ "retry-after": "1.5" }, 1500],
  [{ "retry-after-ms": "250", "retry-after": "20" }, 250],
  [{ "retry-after": "Thu, 01 Jan 2026 00:00:30 GMT" }, 30_000],
  [{ "retry-after": "Thu, 01 Jan 2015 00:00:30 GMT" }, 0],
  [{ "retry-after": "soon" }, undefined],
  [{ "retry-after": "-5" }, undefined],
]

test.each(cases)("%j asks for %p", (headers, expected) => {
  expect(retryAfterMs(new Headers(headers), now) ?? null).toBe(expected ?? null)
})
