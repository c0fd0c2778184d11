// Errors in OpenAI's shape, which all of its interfaces share: encodes the gateway's, decodes an upstream's.
import type { GatewayError } from "../../canonical/gateway-error.ts"
import { isObject, type Json, type JsonObject } from "../../canonical/json.ts"
import type { UpstreamError } from "../contract.ts"
import { boundedText, parseError, toGatewayError, type UpstreamErrorText } from "../upstream-errors.ts"

export function encodeError(error: GatewayError): Json {
  return {
    error: {
      code: error.code,
      message: error.message,
      type: error.kind,
      ...(error.param !== undefined && { param: error.param }),
      ...(error.attempts && { attempts: error.attempts.map((attempt) => ({ ...attempt })) }),
    },
  }
}

export function decodeError({ status, retryAfterMs, body }: UpstreamError): GatewayError {
  return toGatewayError(sentence(parseError(body)), { status, retryAfterMs })
}

/** An error inside a stream that began well: its code may be its status. */
export function decodeErrorBody(body: JsonObject): GatewayError {
  const error = sentence(body)
  const status = Number(error.code)
  return toGatewayError(error, { status: Number.isInteger(status) ? status : undefined })
}

/** OpenAI nests `error`; some hosts put its members at the top, some make `error` the sentence itself. */
function sentence(body: Json | undefined): UpstreamErrorText {
  const outer = isObject(body) ? body : {}
  const inner = isObject(outer.error) ? outer.error : outer
  return {
    message: boundedText(inner.message) ?? boundedText(outer.error) ?? boundedText(outer.detail),
    code: boundedText(inner.code),
    type: boundedText(inner.type),
    param: boundedText(inner.param),
  }
}
