// Errors of Google's endpoints.
import type { JsonObject } from "../../canonical/json.ts"
import type { SimulatedFailure, VendorErrorFormat } from "../error-format.ts"

const STATUSES: Readonly<Record<number, string>> = {
  400: "INVALID_ARGUMENT",
  401: "UNAUTHENTICATED",
  403: "PERMISSION_DENIED",
  404: "NOT_FOUND",
  409: "ABORTED",
  429: "RESOURCE_EXHAUSTED",
  499: "CANCELLED",
  501: "UNIMPLEMENTED",
  503: "UNAVAILABLE",
  504: "DEADLINE_EXCEEDED",
}

function errorBody({ status, message, retrySeconds }: SimulatedFailure): JsonObject {
  const word = STATUSES[status] ?? (status < 500 ? "FAILED_PRECONDITION" : "INTERNAL")
  const retryInfo = { "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: `${retrySeconds}s` }
  const details = retrySeconds === undefined ? {} : { details: [retryInfo] }
  return { error: { code: status, message, status: word, ...details } }
}

export const geminiErrorFormat: VendorErrorFormat = {
  contentType: "application/json; charset=UTF-8",
  // Google sends no request id; the simulator needs one to identify every call.
  requestIdHeader: "x-request-id",
  usageMember: "usageMetadata",
  errorBody,
  // Without `data:`, as Google sends it and its client libraries expect it.
  errorFrame: (failure) => `${JSON.stringify(errorBody(failure))}\n`,
}

/** Errors of a streamed array are array elements too. */
export const geminiArrayErrorFormat: VendorErrorFormat = {
  ...geminiErrorFormat,
  errorBody: (failure) => [errorBody(failure)],
  errorFrame: (failure, eventCount) => `${eventCount === 0 ? "[" : ",\r\n"}${JSON.stringify(errorBody(failure))}\n]\n`,
}
