// Errors in Anthropic's shape: encodes the gateway's, decodes an upstream's.
import type { GatewayError } from "../../../canonical/gateway-error.ts"
import { isObject, type Json, type JsonObject } from "../../../canonical/json.ts"
import { encodeByteText } from "../../../transport/json/byte-text.ts"
import { encodeSse } from "../../../transport/streams/sse.ts"
import type { UpstreamError } from "../../contract.ts"
import { boundedText, parseError, toGatewayError, type UpstreamErrorText } from "../../upstream-errors.ts"

export function encodeError(error: GatewayError, { requestId }: { requestId: string }): Json {
  return errorBody(error, error.kind, requestId)
}

/** Clients raise it only after its `event:` line. An overload has a different type there. */
export function errorFrame(error: GatewayError, { requestId }: { requestId: string }): string {
  const type = error.kind === "service_unavailable_error" ? "overloaded_error" : error.kind
  return encodeByteText(encodeSse({ event: "error", data: JSON.stringify(errorBody(error, type, requestId)) }))
}

function errorBody(error: GatewayError, type: string, requestId: string): Json {
  return {
    type: "error",
    error: {
      code: error.code,
      message: sentenceOf(error),
      type,
      ...(error.param !== undefined && { param: error.param }),
      ...(error.attempts && { attempts: error.attempts.map((attempt) => ({ ...attempt })) }),
    },
    request_id: requestId,
  }
}

/** Coding agents compact their context when they read this wording. */
function sentenceOf({ code, message }: GatewayError): string {
  const known = code !== "context_length_exceeded" || message.startsWith("prompt is too long")
  return known ? message : `prompt is too long: ${message}`
}

export function decodeError({ status, retryAfterMs, body }: UpstreamError): GatewayError {
  return toGatewayError(sentence(parseError(body)), { status, retryAfterMs })
}

const STATUSES: Readonly<Record<string, number>> = { overloaded_error: 529, api_error: 500, timeout_error: 504 }

/** An error inside a stream that began well. */
export function decodeErrorEvent(event: JsonObject): GatewayError {
  const error = sentence(event)
  return toGatewayError(error, { status: STATUSES[error.type ?? ""] })
}

function sentence(body: Json | undefined): UpstreamErrorText {
  const outer = isObject(body) ? body : {}
  const inner = isObject(outer.error) ? outer.error : outer
  return { message: boundedText(inner.message), type: boundedText(inner.type) }
}
