// Errors in Google's shape: encodes the gateway's, decodes an upstream's.
import { GatewayError } from "../../../canonical/gateway-error.ts"
import { isObject, type Json, type JsonObject } from "../../../canonical/json.ts"
import { encodeByteText } from "../../../transport/json/byte-text.ts"
import type { ErrorContext, UpstreamError } from "../../contract.ts"
import {
  boundedText,
  parseError,
  toGatewayError,
  type UpstreamErrorContext,
  type UpstreamErrorText,
} from "../../upstream-errors.ts"

/** The status word of each HTTP status of the gateway. */
const WORDS: Readonly<Record<number, string>> = {
  401: "UNAUTHENTICATED",
  403: "PERMISSION_DENIED",
  404: "NOT_FOUND",
  409: "ABORTED",
  429: "RESOURCE_EXHAUSTED",
  500: "INTERNAL",
  503: "UNAVAILABLE",
}

/** The vendor's client libraries lose the message of an error with a non-integer code. */
export function encodeError(error: GatewayError, { isVendorPath = false }: Partial<ErrorContext> = {}): Json {
  return isVendorPath ? numberedError(error) : { error: { code: error.code, ...errorMembers(error) } }
}

/** An error inside a stream, in byte text. Clients take the data of an event as a response, so the line is bare. */
export function errorFrame(error: GatewayError): string {
  return encodeByteText(JSON.stringify(numberedError(error)))
}

function numberedError(error: GatewayError): JsonObject {
  const details = [{ "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason: error.code }]
  return { error: { code: error.status, ...errorMembers(error), details } }
}

/** The vendor's clients raise an error only if they read it separately from the events before it. */
export const ERROR_PAUSE_MS = 50

/** The same as the last element of a stream that is written as an array. */
export function errorElement(error: GatewayError, begun: boolean): string {
  return `${begun ? "," : "["}${errorFrame(error)}]`
}

function errorMembers(error: GatewayError): JsonObject {
  return {
    message: error.message,
    type: error.kind,
    status: WORDS[error.status] ?? "INVALID_ARGUMENT",
    ...(error.attempts && { attempts: error.attempts.map((attempt) => ({ ...attempt })) }),
  }
}

export function decodeError({ status, retryAfterMs, body }: UpstreamError): GatewayError {
  const error = errorIn(parseError(body))
  return geminiError(error, { status, retryAfterMs: retryAfterMs ?? retryDelayMs(error.details) })
}

/** An error inside a stream that began well: its status is its code, or follows from its status word. */
export function decodeErrorBody(body: Json | undefined): GatewayError {
  const error = errorIn(body)
  const status = typeof error.code === "number" ? error.code : STATUSES[boundedText(error.status) ?? ""]
  return geminiError(error, { status, retryAfterMs: retryDelayMs(error.details) })
}

const STATUSES: Readonly<Record<string, number>> = {
  INVALID_ARGUMENT: 400,
  OUT_OF_RANGE: 400,
  UNAUTHENTICATED: 401,
  PERMISSION_DENIED: 403,
  NOT_FOUND: 404,
  RESOURCE_EXHAUSTED: 429,
  INTERNAL: 500,
  UNAVAILABLE: 503,
  DEADLINE_EXCEEDED: 504,
}

function geminiError({ message, status: word }: JsonObject, circumstances: UpstreamErrorContext): GatewayError {
  const sentence: UpstreamErrorText = { message: boundedText(message), type: boundedText(word) }
  if (sentence.type === "FAILED_PRECONDITION") return accountRefused(circumstances)
  return toGatewayError(sentence, circumstances)
}

/** The account's region or missing billing is the operator's problem, although the status is 400. */
function accountRefused({ status, retryAfterMs }: UpstreamErrorContext): GatewayError {
  const message = "The provider rejects the gateway's account."
  return new GatewayError("upstream_unavailable", message, { owner: "gateway", upstreamStatus: status, retryAfterMs })
}

/** In response to a stream request, the vendor puts its error into an array. */
function errorIn(body: Json | undefined): JsonObject {
  const outer = Array.isArray(body) ? body[0] : body
  if (!isObject(outer)) return {}
  if (typeof outer.error === "string") return { message: outer.error }
  return isObject(outer.error) ? outer.error : outer
}

/** `RetryInfo` among the details: `{"retryDelay": "34.4s"}`. */
function retryDelayMs(details: Json | undefined): number | undefined {
  if (!Array.isArray(details)) return undefined
  for (const detail of details) {
    const delay = isObject(detail) && typeof detail.retryDelay === "string" ? detail.retryDelay : ""
    const [, seconds] = /^(\d{1,9}(?:\.\d{1,9})?)s$/.exec(delay) ?? []
    if (seconds !== undefined) return Math.ceil(Number(seconds) * 1000)
  }
  return undefined
}
