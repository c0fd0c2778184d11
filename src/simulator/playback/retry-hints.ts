// Retry hints in each of the vendors' formats.
import type { RetryHint } from "../directives.ts"

/** The headers of these hints; hints in the body have none. */
export function hintHeaders(hints: readonly RetryHint[], now: number): Record<string, string> {
  return Object.assign({}, ...hints.map(({ form, amount }) => HEADERS[form](amount, now)))
}

/** The delay that Google reports in the body. */
export function retryInfoSeconds(hints: readonly RetryHint[]): number | undefined {
  return hints.findLast(({ form }) => form === "retry-info")?.amount
}

const HEADERS: Readonly<Record<RetryHint["form"], (amount: number, now: number) => Record<string, string>>> = {
  seconds: (amount) => ({ "retry-after": String(amount) }),
  date: (amount, now) => ({ "retry-after": new Date(now + amount * 1000).toUTCString() }),
  ms: (amount) => ({ "retry-after-ms": String(amount) }),
  "x-ratelimit": (amount) => ({
    "x-ratelimit-limit-requests": "500",
    "x-ratelimit-limit-tokens": "30000",
    "x-ratelimit-remaining-requests": "0",
    "x-ratelimit-remaining-tokens": "0",
    "x-ratelimit-reset-requests": goDuration(amount),
    "x-ratelimit-reset-tokens": goDuration(amount),
  }),
  "anthropic-ratelimit": (amount, now) => {
    const reset = new Date(now + amount * 1000).toISOString().replace(/\.\d+Z$/, "Z")
    return {
      "anthropic-ratelimit-requests-limit": "50",
      "anthropic-ratelimit-requests-remaining": "0",
      "anthropic-ratelimit-requests-reset": reset,
      "anthropic-ratelimit-tokens-limit": "40000",
      "anthropic-ratelimit-tokens-remaining": "0",
      "anthropic-ratelimit-tokens-reset": reset,
    }
  },
  "retry-info": () => ({}),
}

/** A duration as OpenAI writes it: `1h2m3s`, without leading zero units. */
function goDuration(seconds: number): string {
  const hours = Math.floor(seconds / 3600)
  const minutes = Math.floor((seconds % 3600) / 60)
  const head = hours > 0 ? `${hours}h${minutes}m` : minutes > 0 ? `${minutes}m` : ""
  return `${head}${seconds % 60}s`
}
