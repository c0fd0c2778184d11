import { describe, expect, test } from "bun:test"
import fc from "fast-check"
import { retryAfterMs } from "../transport/retry-after.ts"
import { type RetryPause, readRetryPause } from "./retry-pause.ts"

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

test.each(cases)("the headers %j state the pause %p", (headers, expected) => {
  expect(retryAfterMs(new Headers(headers), now) ?? null).toBe(expected ?? null)
})

const pause = (status: number, headers: Record<string, string> = {}, body: unknown = "") => {
  const text = typeof body === "string" ? body : JSON.stringify(body)
  return readRetryPause({ status, headers: new Headers(headers), body: text }, now)
}

describe("the retry pause of a refusal", () => {
  test("the retry pause is that of retry-after, before any other header", () => {
    const reset = { "x-ratelimit-reset-requests": "6m0s", "x-ratelimit-remaining-requests": "0" }
    expect(pause(429, { ...reset, "retry-after": "7" })).toEqual({ retryAfterMs: 7000, quota: "minute" })
    expect(pause(429, { ...reset, "retry-after-ms": "70" })).toEqual({ retryAfterMs: 70, quota: "minute" })
    expect(pause(503, { "retry-after": "7" })).toEqual({ retryAfterMs: 7000 })
  })

  test.each([
    ["6m0s", 360_000],
    ["20ms", 20],
    ["0s", 0],
    ["2m59.56s", 179_560],
    ["1h2m3s", 3_723_000],
    ["1d", 86_400_000],
    ["34.5", 34_500],
    ["1767225660", 60_000],
    ["1767225660000", 60_000],
    ["2026-01-01T00:01:00Z", 60_000],
    ["2025-12-31T23:01:00-01:00", 60_000],
    ["Thu, 01 Jan 2026 00:01:00 GMT", 60_000],
    ["2025-12-31T00:00:00Z", 0],
  ])("the retry pause is read from the reset %p in a header", (reset, retryAfterMs) => {
    for (const name of ["x-ratelimit-reset-requests", "anthropic-ratelimit-tokens-reset", "x-ratelimit-reset"]) {
      expect(pause(429, { [name]: reset })).toEqual({ retryAfterMs, quota: "minute" })
    }
  })

  test.each(["soon", "", "6 minutes", "-3s", "m", "2026-13-45T00:00:00Z"])(
    "the retry pause is unknown for the reset %p",
    (reset) => {
      expect(pause(429, { "x-ratelimit-reset-tokens": reset })).toEqual({ quota: "minute" })
    },
  )

  test("the retry pause is that of the exhausted limit, not of the others", () => {
    const both = { "x-ratelimit-reset-requests": "6m", "x-ratelimit-reset-tokens": "9s" }
    expect(pause(429, { ...both, "x-ratelimit-remaining-tokens": "0" }).retryAfterMs).toBe(9000)
    expect(pause(429, both).retryAfterMs).toBe(360_000)
    expect(pause(429, { ratelimit: '"api";r=0;t=295' }).retryAfterMs).toBe(295_000)
  })

  test("the retry pause is not read from reset headers without a limit error, since hosts send them with every answer", () => {
    expect(pause(500, { "x-ratelimit-reset-requests": "6m0s" })).toEqual({})
    expect(pause(404, { "anthropic-ratelimit-tokens-reset": "2026-01-01T00:01:00Z" })).toEqual({})
  })

  test("the retry pause is never longer than a month", () => {
    const month = { retryAfterMs: 32 * 86_400_000, quota: "minute" } as const
    expect(pause(429, { "retry-after": "99999999999" })).toEqual(month)
    expect(pause(429, { "x-ratelimit-reset": "99999999999999" })).toEqual(month)
  })
})

const error = (message: string, others: object = {}) => ({ error: { message, ...others } })
const google = (violations: string[], retryDelay?: string) => ({
  error: {
    code: 429,
    status: "RESOURCE_EXHAUSTED",
    message: `You exceeded your current quota, please check your plan and billing details. Please retry in ${retryDelay}.`,
    details: [
      {
        "@type": "type.googleapis.com/google.rpc.QuotaFailure",
        violations: violations.map((quotaId) => ({ quotaId })),
      },
      ...(retryDelay ? [{ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay }] : []),
    ],
  },
})

describe("the retry pause in a body", () => {
  const bodies: [string, number, unknown, RetryPause][] = [
    ["no known phrase", 429, "<html>slow down</html>", { quota: "minute" }],
    ["a delay of Google's", 429, google(["RequestsPerMinute"], "17s"), { retryAfterMs: 17_000, quota: "minute" }],
    [
      "a delay of Google's in a list",
      429,
      [google(["RequestsPerMinute"], "34.4s")],
      { retryAfterMs: 34_400, quota: "minute" },
    ],
    ["a daily quota of Google's with the minute's delay", 429, google(["RequestsPerDay"], "17s"), { quota: "day" }],
    [
      "a delay in Google's words",
      429,
      error("Quota exceeded. Please retry in 45.578569677s."),
      { retryAfterMs: 45_578.569677, quota: "minute" },
    ],
    [
      "a day whose window slides",
      429,
      error("Rate limit reached on requests per day (RPD): Limit 200, Used 200. Please try again in 7m12s. Visit …"),
      { retryAfterMs: 432_000, quota: "day" },
    ],
    [
      "a minute, and a page about billing",
      429,
      error("Rate limit reached on tokens per minute (TPM). Please try again in 4.77s. See /settings/billing"),
      { retryAfterMs: 4770, quota: "minute" },
    ],
    ["seconds as a word", 429, error("Please retry after 26 seconds."), { retryAfterMs: 26_000, quota: "minute" }],
    ["minutes as a word", 429, error("Try again in 2 minutes"), { retryAfterMs: 120_000, quota: "minute" }],
    [
      "a day without a time",
      429,
      { message: "Too many tokens per day, please wait before trying again." },
      { quota: "day" },
    ],
    [
      "a header of OpenRouter's inside the body",
      429,
      error("Rate limit exceeded: free-models-per-day. Add 10 credits to unlock 1000 free model requests per day", {
        metadata: { headers: { "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1767232800000" } },
      }),
      { retryAfterMs: 7_200_000, quota: "day" },
    ],
    ["an empty account", 429, error("You exceeded your quota.", { code: "insufficient_quota" }), { quota: "spend" }],
    ["a hard limit", 400, error("Limit reached.", { code: "billing_hard_limit_reached" }), { quota: "spend" }],
    ["a balance, by the status alone", 402, "", { quota: "spend" }],
    ["a balance with status 400", 400, error("Your credit balance is too low to access the API."), { quota: "spend" }],
    [
      "a cap with status 400, and when it ends",
      400,
      error("You have reached your specified API usage limits. You will regain access on 2026-01-02 at 00:00 UTC."),
      { retryAfterMs: 86_400_000, quota: "spend" },
    ],
    ["a spending limit", 403, { error: "The team has reached its monthly spending limit." }, { quota: "spend" }],
    [
      "a month, and when it ends in another zone",
      429,
      error("You have exceeded the monthly usage quota. It will reset at 2026-01-02 08:00:00 +0800 CST."),
      { retryAfterMs: 86_400_000, quota: "spend" },
    ],
    ["a fault of the caller's", 400, error("Unknown parameter: 'quality'."), {}],
    ["an overload", 529, error("Overloaded"), {}],
  ]

  test.each(bodies)("a body states its quota and pause: %s", (_, status, body, expected) => {
    expect(pause(status, {}, body)).toEqual(expected)
  })

  test("text that quotes a caller cannot mark an account as empty", () => {
    const quoted = error("Invalid 'stop': 'Your credit balance is too low'. Insufficient credits. tokens per day")
    expect(pause(400, {}, quoted)).toEqual({})
    expect(pause(422, {}, quoted)).toEqual({})
  })

  test("any headers and body are read without an error, and no pause is negative or endless", () => {
    const status = fc.constantFrom(400, 402, 403, 429, 500, 503)
    const name = fc.constantFrom("retry-after", "x-ratelimit-reset", "anthropic-ratelimit-requests-reset", "ratelimit")
    const value = fc.oneof(
      fc.string({ unit: "grapheme-ascii" }),
      fc.nat().map(String),
      fc.constantFrom("1e9", "9".repeat(400)),
    )
    const body = fc.oneof(
      fc.json(),
      fc.string(),
      fc.json().map((text) => `{"error":{"details":${text},"metadata":${text}}}`),
    )
    fc.assert(
      fc.property(status, name, value, body, (status, name, value, body) => {
        const found = pause(status, { [name]: value.replace(/[^\x21-\x7e]/g, "") }, body)
        expect(found.retryAfterMs ?? 0).toBeGreaterThanOrEqual(0)
        expect(found.retryAfterMs ?? 0).toBeLessThanOrEqual(32 * 86_400_000)
        expect(found.quota === undefined || status !== 500).toBe(true)
      }),
    )
  })
})
