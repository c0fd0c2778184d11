// Every header that the gateway sets on a response: what it means and on which responses it appears. The OpenAPI
// description and the CORS policy are made from this table, and no other header can be set.

/**
 * The responses that carry a header: all; those to requests with a key; generations and counts (`answer`), or one of
 * them; errors; those of protocols whose clients look for it (`protocol`). Headers of HTTP itself are not described.
 */
export type ResponseHeaderOccasion =
  | "always"
  | "key"
  | "answer"
  | "generate"
  | "count-tokens"
  | "error"
  | "protocol"
  | "http"

interface ResponseHeaderEntry {
  readonly when: ResponseHeaderOccasion
  readonly meaning: string
}

const generated = (meaning: string) => ({ when: "generate", meaning }) as const
const answered = (meaning: string) => ({ when: "answer", meaning }) as const
const limited = (meaning: string) => ({ when: "key", meaning }) as const
const http = (meaning: string) => ({ when: "http", meaning }) as const

export const RESPONSE_HEADERS = {
  "x-request-id": { when: "always", meaning: "The request's id, which is also its receipt's id." },
  "x-ratelimit-limit-requests": limited("The key's limit of requests per minute."),
  "x-ratelimit-remaining-requests": limited("Requests left at the moment."),
  "x-ratelimit-reset-requests": limited("Time until the limit is fully available again, such as `0.8s`."),
  "x-ratelimit-limit-tokens": limited("The key's limit of tokens per minute, if it has one."),
  "x-ratelimit-remaining-tokens": limited("Tokens left at the moment."),
  "x-ratelimit-reset-tokens": limited("Time until the limit is fully available again."),
  "x-gateway-model": answered("The model that served the request."),
  "x-gateway-provider": answered("The provider that served the request."),
  "x-gateway-attempts": answered("Number of attempts."),
  "x-gateway-mapped-from": answered("The requested names that the key's model map replaced with other models."),
  "x-gateway-cost": generated("The cost in USD; for a stream, only the receipt shows it."),
  "x-gateway-usage": generated(
    "`estimated` if the provider reported no usage and the response contains the gateway's count.",
  ),
  "x-gateway-losses": generated(
    "Number and paths of the request's members that could not be translated for the provider.",
  ),
  "idempotency-replayed": generated("`true` if this is the stored response to the same `Idempotency-Key`."),
  "x-gateway-count": {
    when: "count-tokens",
    meaning: "Source of the count: `upstream`, or `estimated` by the gateway.",
  },
  "retry-after": { when: "error", meaning: "Seconds to wait, if known." },
  "x-should-retry": { when: "error", meaning: "`false` if a retry cannot succeed." },
  "request-id": { when: "protocol", meaning: "Same as `x-request-id`." },
  "content-type": http("The body's media type."),
  "content-length": http("The body's length in bytes, unless it is streamed."),
  "transfer-encoding": http("`chunked` for a stream."),
  date: http("The time of the response."),
  connection: http("`close` if the connection is closed after the response."),
  "keep-alive": http("How long an idle connection is kept."),
  "cache-control": http(
    "Streams, replays and the description are not kept by caches; the administration's answers never.",
  ),
  "x-accel-buffering": http("`no` on a stream: a proxy must pass each event on."),
  allow: http("The methods of the path, if the request's is not one of them."),
  location: http("The target of a redirect."),
  etag: http("The version of the description or its page."),
  "content-security-policy": http("What the page of the description may load."),
  "referrer-policy": http("Links of that page do not reveal its address."),
  "x-content-type-options": http("Browsers must not guess the media type."),
  vary: http("`origin` if the response depends on the calling page."),
  "access-control-allow-origin": http("The page's origin, if the configuration allows it."),
  "access-control-expose-headers": http("The headers of this table that a page may read: all but those of HTTP."),
  "access-control-allow-methods": http("The path's methods, in the response to a preflight request."),
  "access-control-allow-headers": http("The request headers that a page may send."),
  "access-control-max-age": http("Seconds for which the response to a preflight request holds."),
} as const satisfies Readonly<Record<string, ResponseHeaderEntry>>

export type ResponseHeaderName = keyof typeof RESPONSE_HEADERS
export type ResponseHeaderFields = { readonly [Name in ResponseHeaderName]?: string }

/** The names of the headers on these occasions, in the table's order. */
export function responseHeadersOn(occasions: readonly ResponseHeaderOccasion[]): ResponseHeaderName[] {
  const names = Object.keys(RESPONSE_HEADERS) as ResponseHeaderName[]
  return names.filter((name) => occasions.includes(RESPONSE_HEADERS[name].when))
}

/** The names of the headers that the gateway adds to those of HTTP, for clients to read. */
export function gatewayHeaderNames(): ResponseHeaderName[] {
  const names = Object.keys(RESPONSE_HEADERS) as ResponseHeaderName[]
  return names.filter((name) => RESPONSE_HEADERS[name].when !== "http")
}
