// Errors of OpenAI's endpoints.
import type { JsonObject } from "../../canonical/json.ts"
import { encodeSse } from "../../transport/streams/sse.ts"
import type { SimulatedFailure, VendorErrorFormat } from "../error-format.ts"
import { SimulatedRefusal } from "../simulated-call.ts"

const KINDS: Readonly<Record<number, { type: string; code: string | null }>> = {
  401: { type: "invalid_request_error", code: "invalid_api_key" },
  404: { type: "invalid_request_error", code: "model_not_found" },
  429: { type: "requests", code: "rate_limit_exceeded" },
}

function errorOf({ status, message, param, code }: SimulatedFailure): JsonObject {
  const known = KINDS[status] ?? { type: status < 500 ? "invalid_request_error" : "server_error", code: null }
  return { message, type: known.type, param: param ?? null, code: code === undefined ? known.code : code }
}

export const openaiErrorFormat: VendorErrorFormat = {
  contentType: "application/json",
  requestIdHeader: "x-request-id",
  usageMember: "usage",
  errorBody: (failure) => ({ error: errorOf(failure) }),
  errorFrame: (failure) => encodeSse({ data: JSON.stringify({ error: errorOf(failure) }) }),
}

export const openaiResponsesErrorFormat: VendorErrorFormat = {
  ...openaiErrorFormat,
  errorFrame: (failure, sequence_number) => {
    const { message = "", type = "", param = null, code } = errorOf(failure)
    const event = { type: "error", code: code ?? type, message, param, sequence_number }
    return encodeSse({ event: "error", data: JSON.stringify(event) })
  },
}

export function missingParameter(param: string): SimulatedRefusal {
  return new SimulatedRefusal(`Missing required parameter: '${param}'.`, { param, code: "missing_required_parameter" })
}

export function requireModel({ model }: JsonObject): string {
  if (typeof model !== "string" || model === "") throw missingParameter("model")
  return model
}
