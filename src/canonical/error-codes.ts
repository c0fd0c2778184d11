// The closed list of error codes. The documentation's page is generated from it.

interface ErrorMeaning {
  readonly status: number
  readonly kind: string
  readonly meaning: string
  /** Status and type on the vendors' own paths, if their client libraries expect others. */
  readonly onVendorPath?: { readonly status: number; readonly kind: string }
}

const invalid = (status: number, meaning: string) => ({ status, kind: "invalid_request_error", meaning }) as const
const unauthenticated = (meaning: string) => ({ status: 401, kind: "authentication_error", meaning }) as const
const forbidden = (meaning: string) => ({ status: 403, kind: "permission_error", meaning }) as const
const missing = (meaning: string) => ({ status: 404, kind: "not_found_error", meaning }) as const
const conflict = (meaning: string) => ({ status: 409, kind: "conflict_error", meaning }) as const
const limited = (meaning: string) => ({ status: 429, kind: "rate_limit_error", meaning }) as const
const unavailable = (meaning: string) => ({ status: 503, kind: "service_unavailable_error", meaning }) as const

export const ERROR_CODES = {
  invalid_json: invalid(
    400,
    "The body is not readable JSON: a syntax error, invalid UTF-8, too deeply nested, or not received in time.",
  ),
  invalid_content_type: invalid(400, "The body's media type is not JSON, or it is compressed."),
  missing_parameter: invalid(400, "A required member or header is missing."),
  invalid_parameter: invalid(400, "A member has the wrong type or an out-of-range value."),
  unsupported_parameter: invalid(400, "The gateway or the model's provider does not support this member."),
  invalid_version: invalid(400, "The protocol's version header is missing or malformed."),
  model_not_found: {
    ...invalid(400, "No model with this name can be called."),
    onVendorPath: { status: 404, kind: "not_found_error" } as const,
  },
  context_length_exceeded: invalid(400, "The request is longer than the model's context window."),
  content_refused: invalid(400, "The provider's content policy refused the request."),
  lossy_translation: invalid(
    400,
    "The request is strict and cannot be translated for this model's provider without loss.",
  ),
  model_not_priced: invalid(400, "The model, or a billed feature the request uses, has no price."),
  missing_api_key: unauthenticated("The request carries no API key."),
  invalid_api_key: unauthenticated("The API key is unknown to this gateway."),
  expired_api_key: unauthenticated("The API key has expired."),
  revoked_api_key: unauthenticated("The API key was revoked, or was rotated and its grace period is over."),
  insufficient_balance: forbidden("The balance does not cover the request."),
  model_not_allowed: forbidden("The API key's scope does not include this model."),
  budget_exceeded: forbidden("The budget of the key or its tenant for this period is spent."),
  route_not_allowed: forbidden("The API key may not use this route."),
  route_not_found: missing("The route does not exist."),
  resource_not_found: missing("The resource does not exist, or does not belong to the caller."),
  method_not_allowed: invalid(405, "The route does not support this method."),
  body_too_large: invalid(413, "The body is larger than the route accepts."),
  idempotency_conflict: conflict("The idempotency key was used with a different body."),
  idempotency_in_flight: conflict("The request with this idempotency key is still running."),
  idempotency_replayed: conflict("The request with this idempotency key was already answered and billed."),
  rate_limit_exceeded: limited("The limit on requests or tokens per minute is reached."),
  concurrency_limit_exceeded: limited("The key has too many requests running."),
  internal_error: { status: 500, kind: "internal_error", meaning: "An internal error of the gateway." },
  upstream_unavailable: unavailable("No provider could serve the request."),
  upstream_rate_limited: unavailable("The provider rate-limits the gateway's account."),
  overloaded: unavailable("The gateway is at its capacity."),
  store_unavailable: unavailable("The gateway's store is unavailable."),
  shutting_down: unavailable("The gateway is shutting down."),
} as const satisfies Record<string, ErrorMeaning>

export type ErrorCode = keyof typeof ERROR_CODES
export type ErrorKind = (typeof ERROR_CODES)[ErrorCode]["kind"]
