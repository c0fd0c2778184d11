// The closed list of error codes. The documentation's page is generated from it.

interface ErrorMeaning {
  readonly status: number
  readonly kind: string
  readonly meaning: string
  /** Status and kind on the vendors' own paths, where their client libraries expect others. */
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
    "The body is not JSON the gateway reads: a syntax error, bad UTF-8, nested too deep, or not there in time.",
  ),
  invalid_content_type: invalid(400, "The body's media type is not JSON, or it is compressed."),
  missing_parameter: invalid(400, "A required member or header is absent."),
  invalid_parameter: invalid(400, "A member has the wrong type or a value out of bounds."),
  unsupported_parameter: invalid(400, "A member the gateway, or the model's provider, does not take."),
  invalid_version: invalid(400, "The protocol's version header is missing or malformed."),
  model_not_found: {
    ...invalid(400, "No model of this name can be called."),
    onVendorPath: { status: 404, kind: "not_found_error" } as const,
  },
  context_length_exceeded: invalid(400, "The request is longer than the model's context window."),
  content_refused: invalid(400, "The provider's content policy refused the request."),
  lossy_translation: invalid(400, "Strict: the request cannot be said to this model's provider without loss."),
  model_not_priced: invalid(400, "The model, or a billed feature the request uses, has no price."),
  missing_api_key: unauthenticated("The request carries no API key."),
  invalid_api_key: unauthenticated("The API key is not one of this gateway's."),
  expired_api_key: unauthenticated("The API key is past its expiry."),
  revoked_api_key: unauthenticated("The API key was revoked, or replaced and its grace period is over."),
  insufficient_balance: forbidden("The balance does not cover the request."),
  model_not_allowed: forbidden("The API key's scope does not hold this model."),
  budget_exceeded: forbidden("The key's budget for this period is spent."),
  route_not_allowed: forbidden("The API key may not use this route."),
  route_not_found: missing("There is no such route."),
  resource_not_found: missing("There is no such resource, or it is not the caller's."),
  method_not_allowed: invalid(405, "The route exists, with another method."),
  body_too_large: invalid(413, "The body is larger than the route takes."),
  idempotency_conflict: conflict("The idempotency key was used with another body."),
  idempotency_in_flight: conflict("The request with this idempotency key is still running."),
  idempotency_replayed: conflict("The request with this idempotency key has been answered and billed."),
  rate_limit_exceeded: limited("The key's requests or tokens per minute are used up."),
  concurrency_limit_exceeded: limited("The key has too many requests running."),
  internal_error: { status: 500, kind: "internal_error", meaning: "A fault of the gateway." },
  upstream_unavailable: unavailable("No provider could answer."),
  upstream_rate_limited: unavailable("The provider limits the gateway's own account."),
  overloaded: unavailable("The gateway runs as many requests as it can."),
  store_unavailable: unavailable("The gateway's store does not answer."),
  shutting_down: unavailable("The gateway is stopping."),
} as const satisfies Record<string, ErrorMeaning>

export type ErrorCode = keyof typeof ERROR_CODES
export type ErrorKind = (typeof ERROR_CODES)[ErrorCode]["kind"]
