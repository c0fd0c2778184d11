// Classifies an upstream's error, in any shape: the responsible party, and if another target may answer.

import type { ErrorCode } from "../canonical/error-codes.ts"
import { GatewayError } from "../canonical/gateway-error.ts"
import type { Json } from "../canonical/json.ts"

/** An upstream's error, independent of its protocol. */
export interface UpstreamErrorText {
  readonly message?: string | undefined
  readonly code?: string | undefined
  readonly type?: string | undefined
  readonly param?: string | undefined
}

/** Facts outside the error's body. */
export interface UpstreamErrorContext {
  /** Absent for an error inside a stream without a status. */
  readonly status?: number | undefined
  readonly retryAfterMs?: number | undefined
}

export function toGatewayError(error: UpstreamErrorText, { status, retryAfterMs }: UpstreamErrorContext): GatewayError {
  const details = { upstreamStatus: status, retryAfterMs }
  if (isCreditExhausted(error, status)) return creditExhaustedError(details)
  if (status === 429 || isLimit(error)) return rateLimitedError(details)
  if (isRefusal(status) || concernsCredential(error)) return credentialRefusedError(details)
  const isCallers = status === 400 || status === 413 || status === 422 || error.type === "invalid_request_error"
  // A 404 concerns the model's name there, which the gateway chose, whatever type the error has.
  if (isCallers && status !== 404) return callerError(error)
  return upstreamUnavailableError(status, details)
}

/** A string or number of a wire error as bounded text. */
export function boundedText(value: Json | undefined): string | undefined {
  if (typeof value === "number") return String(value)
  return typeof value === "string" && value !== "" ? value.slice(0, 2000) : undefined
}

export function parseError(body: string): Json | undefined {
  try {
    return JSON.parse(body)
  } catch {
    return undefined
  }
}

function isRefusal(status: number | undefined): boolean {
  return status === 401 || status === 402 || status === 403
}

const CREDIT_EXHAUSTED_CODE =
  /^(insufficient_quota|billing_hard_limit_reached|billing_not_active|billing_error|insufficient_(balance|credits?))$/
/**
 * Matched only at the beginning: with status 400 a provider may quote its caller, who must not be able to forge this.
 */
const CREDIT_EXHAUSTED_TEXT = /^(Your credit balance is too low|You have reached your specified API usage limits)/

/** The account and its balance are the gateway's, whatever the status. */
function isCreditExhausted(
  { code = "", type = "", message = "" }: UpstreamErrorText,
  status: number | undefined,
): boolean {
  return (
    status === 402 ||
    CREDIT_EXHAUSTED_CODE.test(code) ||
    CREDIT_EXHAUSTED_CODE.test(type) ||
    CREDIT_EXHAUSTED_TEXT.test(message)
  )
}

function isLimit({ code, type }: UpstreamErrorText): boolean {
  return type === "rate_limit_error" || code === "rate_limit_exceeded" || type === "RESOURCE_EXHAUSTED"
}

/** The caller's key never goes to a provider, so an error about a key concerns the gateway's. Some have status 400. */
function concernsCredential({ code, type, message = "" }: UpstreamErrorText): boolean {
  if (code === "invalid_api_key" || type === "authentication_error" || type === "permission_error") return true
  return /\bapi[ _-]?key\b/i.test(message)
}

function callerError(error: UpstreamErrorText): GatewayError {
  const message = error.message ?? "The provider rejected the request without a reason."
  return new GatewayError(callerErrorCode(error), message, { owner: "caller", param: error.param })
}

const TOO_LONG =
  /maximum context length|context window|prompt is too long|input is too long|input token count .* exceeds the maximum/i

function callerErrorCode({ code, message = "" }: UpstreamErrorText): ErrorCode {
  if (code === "context_length_exceeded" || TOO_LONG.test(message)) return "context_length_exceeded"
  if (code === "content_filter" || code === "content_policy_violation") return "content_refused"
  if (code === "unknown_parameter" || code === "unsupported_parameter") return "unsupported_parameter"
  return "invalid_parameter"
}

interface UpstreamErrorDetails {
  readonly upstreamStatus?: number | undefined
  readonly retryAfterMs?: number | undefined
}

function rateLimitedError(details: UpstreamErrorDetails): GatewayError {
  const message = "The provider rate-limits the gateway. Try again later."
  return new GatewayError("upstream_rate_limited", message, { owner: "upstream", ...details })
}

function creditExhaustedError(details: UpstreamErrorDetails): GatewayError {
  const message = "The gateway's account at the provider is out of credit."
  return new GatewayError("upstream_unavailable", message, { owner: "gateway", ...details })
}

function credentialRefusedError(details: UpstreamErrorDetails): GatewayError {
  const message = "The provider rejected the gateway's credential."
  return new GatewayError("upstream_unavailable", message, { owner: "gateway", ...details })
}

function upstreamUnavailableError(status: number | undefined, details: UpstreamErrorDetails): GatewayError {
  const message = `The provider answered ${status === undefined ? "with an error" : `with status ${status}`}.`
  return new GatewayError("upstream_unavailable", message, {
    owner: status === 404 ? "gateway" : "upstream",
    ...details,
  })
}
