// Decodes AWS errors: an exception's name in `__type`, and a message.
import type { GatewayError } from "../../../canonical/gateway-error.ts"
import { isObject, type Json, type JsonObject } from "../../../canonical/json.ts"
import type { UpstreamError } from "../../contract.ts"
import { boundedText, parseError, toGatewayError, type UpstreamErrorText } from "../../upstream-errors.ts"

/** Status by the exception's name without `Exception`, in lower case; it overrides the HTTP status. */
const STATUSES: ReadonlyMap<string, number> = new Map([
  ["validation", 400],
  ["throttling", 429],
  ["toomanyrequests", 429],
  ["servicequotaexceeded", 429],
  ["accessdenied", 403],
  ["expiredtoken", 401],
  ["invalidsignature", 401],
  ["unrecognizedclient", 401],
  ["resourcenotfound", 404],
  ["internalserver", 500],
  ["modelerror", 500],
  ["modelstreamerror", 500],
  ["modelnotready", 503],
  ["serviceunavailable", 503],
  ["modeltimeout", 504],
])

export function decodeError({ status, retryAfterMs, body }: UpstreamError): GatewayError {
  const wire = parseError(body)
  return toGatewayError(sentence(wire), { status: statusOf(wire) ?? status, retryAfterMs })
}

/** An error inside a stream that began well. */
export function decodeErrorEvent(event: JsonObject): GatewayError {
  return toGatewayError(sentence(event), { status: statusOf(event) })
}

function statusOf(wire: Json | undefined): number | undefined {
  const name = isObject(wire) ? boundedText(wire.__type) : undefined
  return STATUSES.get(name?.replace(/Exception$/i, "").toLowerCase() ?? "")
}

/** Further messages of model vendors for an input that is too long. */
const TOO_LONG = /input tokens exceeded|exceeds? (?:the )?maximum (?:input )?length|expected maxLength/i

function sentence(wire: Json | undefined): UpstreamErrorText {
  const message = isObject(wire) ? (boundedText(wire.message) ?? boundedText(wire.Message)) : undefined
  return { message, ...(message && TOO_LONG.test(message) && { code: "context_length_exceeded" }) }
}
