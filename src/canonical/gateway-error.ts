// One error with a public message for callers and a cause for operators.
import { ERROR_CODES, type ErrorCode, type ErrorKind } from "./error-codes.ts"

/** The party responsible for an error: decides what counts against a provider's health and what a caller can fix. */
export type ErrorOwner = "caller" | "gateway" | "upstream"

/** One attempt at one target, as shown to the caller. */
export interface FailedAttempt {
  readonly model: string
  readonly provider: string
  /** The upstream's status; absent when it never gave one. */
  readonly status?: number
  readonly reason: string
}

export interface ErrorDetails {
  readonly owner?: ErrorOwner | undefined
  /** The request member at fault, such as `messages[0].role`. */
  readonly param?: string | undefined
  readonly retryAfterMs?: number | undefined
  /** The upstream's HTTP status, if the error comes from there. */
  readonly upstreamStatus?: number | undefined
  readonly attempts?: readonly FailedAttempt[] | undefined
  /** Never shown to the caller. */
  readonly cause?: unknown
}

export class GatewayError extends Error {
  override readonly name = "GatewayError"
  readonly code: ErrorCode
  readonly owner: ErrorOwner
  readonly param: string | undefined
  readonly retryAfterMs: number | undefined
  readonly upstreamStatus: number | undefined
  readonly attempts: readonly FailedAttempt[] | undefined

  /** `message` is public: it states the problem and its remedy, without secrets or upstream bodies. */
  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(message, { cause: details.cause })
    this.code = code
    this.owner = details.owner ?? (this.status < 500 ? "caller" : "gateway")
    this.param = details.param
    this.retryAfterMs = details.retryAfterMs
    this.upstreamStatus = details.upstreamStatus
    this.attempts = details.attempts
  }

  get status(): number {
    return ERROR_CODES[this.code].status
  }

  get kind(): ErrorKind {
    return ERROR_CODES[this.code].kind
  }

  /** This error as a vendor's own path shows it; itself if that is the same. */
  onVendorPath(): GatewayError {
    const meaning = ERROR_CODES[this.code]
    return "onVendorPath" in meaning ? new VendorPathError(this, meaning.onVendorPath) : this
  }

  /** True if the same request may succeed later, so that a client should retry. */
  get mayRetry(): boolean {
    if (this.code === "overloaded" || this.code === "shutting_down" || this.code === "store_unavailable") return true
    if (this.kind === "rate_limit_error" || this.code === "idempotency_in_flight") return true
    return this.kind === "service_unavailable_error" && (this.retryAfterMs ?? Number.POSITIVE_INFINITY) <= 60_000
  }
}

interface VendorMeaning {
  readonly status: number
  readonly kind: ErrorKind
}

class VendorPathError extends GatewayError {
  constructor(
    error: GatewayError,
    private readonly meaning: VendorMeaning,
  ) {
    super(error.code, error.message, error)
  }

  // The base class's constructor reads the status before `meaning` is set.
  override get status(): number {
    return this.meaning?.status ?? super.status
  }

  override get kind(): ErrorKind {
    return this.meaning.kind
  }
}

/** Converts a thrown value; an unexpected one becomes an internal error that reveals nothing. */
export function asGatewayError(thrown: unknown): GatewayError {
  if (thrown instanceof GatewayError) return thrown
  return new GatewayError("internal_error", "The gateway failed to handle this request.", { cause: thrown })
}

const MAX_EXCERPT = 100

/** A caller's text as an error may quote it: no longer than a line. */
export function excerpt(text: string): string {
  return text.length > MAX_EXCERPT ? `${text.slice(0, MAX_EXCERPT)}…` : text
}
