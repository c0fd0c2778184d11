// Reads from a rejection when to retry and which limit was reached: from headers and error bodies, in every form that
// hosts are known to use.
import { parseJson } from "../canonical/json.ts"
import type { UpstreamResponse } from "../transport/http-response.ts"
import { retryAfterMs } from "../transport/retry-after.ts"

/** The limit that was reached: one that resets within minutes, a daily one, or the account's credit. */
type QuotaPeriod = "minute" | "day" | "spend"

export interface RetryPause {
  /** Absent if the upstream does not state it. */
  readonly retryAfterMs?: number
  /** Absent if no limit was reached. */
  readonly quota?: QuotaPeriod
}

/** An upstream's error response. */
export interface UpstreamRefusal {
  readonly status: number
  readonly headers: UpstreamResponse["headers"]
  readonly body: string
}

/** Monthly limits reset within this time; a longer wait is an error of the host. */
const LONGEST_MS = 32 * 24 * 3_600_000

export function readRetryPause(refused: UpstreamRefusal, now = Date.now()): RetryPause {
  const details = readRefusalDetails(refused.body)
  const quota = quotaOf(refused, details)
  const waitMs = waitOf(refused, details, { quota, now })
  return {
    ...(waitMs !== undefined && { retryAfterMs: Math.min(LONGEST_MS, Math.max(0, waitMs)) }),
    ...(quota && { quota }),
  }
}

interface WaitContext {
  readonly quota: QuotaPeriod | undefined
  readonly now: number
}

function waitOf(
  { status, headers }: UpstreamRefusal,
  details: RefusalDetails,
  { quota, now }: WaitContext,
): number | undefined {
  const requested = retryAfterMs(headers, now)
  if (requested !== undefined || quota === undefined) return requested
  // With a violated daily quota Google reports the delay of the per-minute one, which does not help (2026).
  if (details.violations.some(isDayQuota)) return undefined
  const inBody = parseSpanMs(details.retryDelay, now) ?? parseWordedMs(details.message, now)
  return inBody ?? (status === 429 ? (resetMs(headers, now) ?? parseSpanMs(details.reset, now)) : undefined)
}

/** The relevant members of an error body. */
interface RefusalDetails {
  readonly code: string
  readonly type: string
  readonly message: string
  /** Google's quota ids. */
  readonly violations: readonly string[]
  readonly retryDelay: string
  /** OpenRouter's copy of a header. */
  readonly reset: string
}

const LONGEST_MESSAGE = 2000

function readRefusalDetails(body: string): RefusalDetails {
  const whole = parseJson(body)
  const outer = Array.isArray(whole) ? whole[0] : whole
  const error = member(outer, "error") ?? outer
  const details = member(error, "details")
  const all = Array.isArray(details) ? details : []
  const violations = all.flatMap((detail) => member(detail, "violations") ?? [])
  const headers = member(member(error, "metadata"), "headers")
  return {
    code: text(member(error, "code")),
    type: text(member(error, "type")),
    message: (typeof error === "string" ? error : text(member(error, "message"))).slice(0, LONGEST_MESSAGE),
    violations: violations.map((violation) => text(member(violation, "quotaId"))),
    retryDelay: text(all.map((detail) => member(detail, "retryDelay")).find((delay) => delay !== undefined)),
    reset: text(member(headers, "X-RateLimit-Reset")),
  }
}

function member(value: unknown, name: string): unknown {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return undefined
  return (value as Record<string, unknown>)[name]
}

function text(value: unknown): string {
  return typeof value === "string" ? value : ""
}

const SPENT_QUOTA_CODE =
  /^(insufficient_quota|billing_hard_limit_reached|billing_not_active|insufficient_(balance|credits?))$/
/** Without the word billing: Google and Groq link to that page in the errors of every limit. */
const SPENT =
  /insufficient (balance|credits?|funds|quota)|credit balance is too low|spend(ing)? (limit|cap)|credit limit exceeded|all available credits|api usage limits|monthly [a-z ]*(limit|quota)/i
/** With status 400 an upstream may quote the caller, who must not be able to trigger this. */
const SPENT_WITH_400 = /^(Your credit balance is too low|You have reached your specified API usage limits)/

function quotaOf(
  { status }: UpstreamRefusal,
  { code, type, message, violations }: RefusalDetails,
): QuotaPeriod | undefined {
  if (status === 402 || SPENT_QUOTA_CODE.test(code) || SPENT_QUOTA_CODE.test(type)) return "spend"
  if (status === 400) return SPENT_WITH_400.test(message) ? "spend" : undefined
  if ((status === 403 || status === 429) && SPENT.test(message)) return "spend"
  if (status !== 429) return undefined
  return isDayQuota(message) || violations.some(isDayQuota) ? "day" : "minute"
}

function isDayQuota(words: string): boolean {
  return /per[ _-]?day|daily/i.test(words)
}

/** The meters that rate limit headers name. */
const METERS = [
  ...["requests", "tokens", "input-tokens", "output-tokens", "input-images"],
  ...["requests-minute", "requests-hour", "requests-day", "tokens-minute", "tokens-hour", "tokens-day"],
]
const RESETS: readonly { readonly reset: string; readonly remaining: string }[] = [
  { reset: "x-ratelimit-reset", remaining: "x-ratelimit-remaining" },
  { reset: "ratelimit-reset", remaining: "ratelimit-remaining" },
  ...METERS.flatMap((meter) => [
    { reset: `x-ratelimit-reset-${meter}`, remaining: `x-ratelimit-remaining-${meter}` },
    { reset: `anthropic-ratelimit-${meter}-reset`, remaining: `anthropic-ratelimit-${meter}-remaining` },
  ]),
]

/** The longest wait of the exhausted meters; of all meters if none is reported as exhausted. */
function resetMs(headers: UpstreamResponse["headers"], now: number): number | undefined {
  let longest: number | undefined = structuredMs(headers)
  let longestSpent: number | undefined
  for (const { reset, remaining } of RESETS) {
    const waitMs = parseSpanMs(headers.get(reset) ?? "", now)
    if (waitMs === undefined) continue
    longest = Math.max(longest ?? 0, waitMs)
    if (Number(headers.get(remaining) ?? Number.NaN) <= 0) longestSpent = Math.max(longestSpent ?? 0, waitMs)
  }
  return longestSpent ?? longest
}

/** `ratelimit: "api";r=0;t=295`, as the IETF drafts it. */
function structuredMs(headers: UpstreamResponse["headers"]): number | undefined {
  const seconds = /;\s*t=(\d+)/.exec(headers.get("ratelimit") ?? "")?.[1]
  return seconds === undefined ? undefined : Number(seconds) * 1000
}

const UNITS_MS: Readonly<Record<string, number>> = { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1000, ms: 1 }
const DURATION = /^(\d+(\.\d+)?(ms|[dhms]))+$/
const EPOCH_SECONDS = 1e9
const EPOCH_MS = 1e11

/** `6m0s`, `20ms`, `34.4s`; seconds; an instant in seconds or milliseconds since 1970, or as a date. */
function parseSpanMs(written: string, now: number): number | undefined {
  const text = written.trim()
  if (/^\d+(\.\d+)?$/.test(text)) {
    const number = Number(text)
    if (number < EPOCH_SECONDS) return number * 1000
    return (number < EPOCH_MS ? number * 1000 : number) - now
  }
  if (DURATION.test(text)) return durationMs(text)
  const date = /^\d{4}-\d{2}-\d{2}T|GMT$/.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(date) ? undefined : date - now
}

function durationMs(text: string): number {
  let sum = 0
  for (const [, count, unit = ""] of text.matchAll(/(\d+(?:\.\d+)?)(ms|[dhms])/g)) {
    sum += Number(count) * (UNITS_MS[unit] ?? 0)
  }
  return sum
}

const WORDS_MS: Readonly<Record<string, number>> = { millisecond: 1, second: 1000, minute: 60_000, hour: 3_600_000 }
const IN_WORDS = /(?:try again|retry) (?:in|after) (\d+(?:\.\d+)?) (millisecond|second|minute|hour)s?\b/i
const IN_UNITS = /(?:try again|retry) (?:in|after) ((?:\d+(?:\.\d+)?(?:ms|[dhms]))+)/i
const AT = /(\d{4}-\d{2}-\d{2})(?: at)?[ T](\d{2}:\d{2}(?::\d{2})?) ?(UTC|Z|[+-]\d{2}:?\d{2})/

/** `Please try again in 7m12s`, `retry after 26 seconds`, `regain access on 2025-07-01 at 00:00 UTC`. */
function parseWordedMs(message: string, now: number): number | undefined {
  const duration = IN_UNITS.exec(message)?.[1]
  if (duration !== undefined) return durationMs(duration)
  const [, count, unit = ""] = IN_WORDS.exec(message) ?? []
  if (count !== undefined) return Number(count) * (WORDS_MS[unit.toLowerCase()] ?? 0)
  const [, day, time, zone] = AT.exec(message) ?? []
  const date = day === undefined ? Number.NaN : Date.parse(`${day}T${time}${zone === "UTC" ? "Z" : zone}`)
  return Number.isNaN(date) ? undefined : date - now
}
