// Anthropic's errors.
import type { JsonObject } from "../../canonical/json.ts"
import { encodeSse } from "../../transport/streams/sse.ts"
import type { SimulatedFailure, VendorErrorFormat } from "../error-format.ts"

const TYPES: Readonly<Record<number, string>> = {
  401: "authentication_error",
  402: "billing_error",
  403: "permission_error",
  404: "not_found_error",
  413: "request_too_large",
  429: "rate_limit_error",
  504: "timeout_error",
  529: "overloaded_error",
}

function errorBody({ status, message, requestId }: SimulatedFailure): JsonObject {
  const type = TYPES[status] ?? (status < 500 ? "invalid_request_error" : "api_error")
  return { type: "error", error: { type, message }, request_id: requestId }
}

export const anthropicErrorFormat: VendorErrorFormat = {
  contentType: "application/json",
  requestIdHeader: "request-id",
  usageMember: "usage",
  errorBody,
  errorFrame: (failure) => encodeSse({ event: "error", data: JSON.stringify(errorBody(failure)) }),
}
