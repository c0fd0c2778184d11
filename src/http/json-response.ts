// Responses of the server itself: JSON, and errors in the shape of the client's protocol.
import type { Allowance, LimitStatus } from "../access/limits/rate-limiter.ts"
import type { GatewayError } from "../canonical/gateway-error.ts"
import type { Json } from "../canonical/json.ts"
import type { ResponseHeaderFields } from "../canonical/response-headers.ts"
import { buildResponse } from "../exchange/build-response.ts"
import type { ClientResponse, ResponseHeaders } from "../exchange/client-response.ts"
import type { ExchangeProgress } from "../exchange/record/exchange-progress.ts"
import type { Protocol } from "../protocols/contract.ts"

export function jsonResponse(body: Json, progress: ExchangeProgress, status = 200): ClientResponse {
  return buildResponse(progress, { body: JSON.stringify(body), contentType: "application/json", status })
}

/** What the shape of an error depends on. */
export interface ErrorFormat {
  readonly protocol: Protocol
  readonly isVendorPath?: boolean
}

/** The error that ends an exchange. */
export function errorResponse(failure: GatewayError, progress: ExchangeProgress, voice: ErrorFormat): ClientResponse {
  const { protocol, isVendorPath = false } = voice
  const error = isVendorPath ? failure.onVendorPath() : failure
  const body = protocol.encodeError(error, { requestId: progress.requestId, isVendorPath })
  const answer = jsonResponse(body, progress, error.status)
  answer.headers.setAll(retryHeaders(error))
  return answer
}

/** Client libraries retry on 408, 409, 429 and every 5xx unless `x-should-retry` forbids it. */
function retryHeaders({ retryAfterMs, mayRetry, status }: GatewayError): ResponseHeaderFields {
  return {
    ...(retryAfterMs !== undefined && { "retry-after": String(Math.ceil(retryAfterMs / 1000)) }),
    ...(!mayRetry && (status >= 500 || status === 409) && { "x-should-retry": "false" }),
  }
}

/** The caller's limit status in OpenAI's headers, which clients of all protocols read. */
export function setLimitHeaders({ headers }: ClientResponse, allowance: Allowance): void {
  const { requests, tokens } = allowance.status()
  if (requests) setLimitHeader(headers, requests, REQUESTS)
  if (tokens) setLimitHeader(headers, tokens, TOKENS)
}

const REQUESTS = ["x-ratelimit-limit-requests", "x-ratelimit-remaining-requests", "x-ratelimit-reset-requests"] as const
const TOKENS = ["x-ratelimit-limit-tokens", "x-ratelimit-remaining-tokens", "x-ratelimit-reset-tokens"] as const

function setLimitHeader(
  headers: ResponseHeaders,
  standing: LimitStatus,
  [limit, remaining, reset]: typeof REQUESTS | typeof TOKENS,
) {
  headers.add(limit, String(standing.limit))
  headers.add(remaining, String(standing.remaining))
  headers.add(reset, formatDuration(standing.resetMs))
}

/** Such as `0.8s`: rounded up, so that who waits so long has not waited in vain. */
export function formatDuration(ms: number): string {
  const tenths = Math.ceil(ms / 100)
  // A limit is whole again within a minute, but for who owes.
  if (tenths > 600) return `${tenths / 10}s`
  durations[tenths] ??= `${tenths / 10}s`
  return durations[tenths]
}

const durations: string[] = []
