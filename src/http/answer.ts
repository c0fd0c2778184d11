// Answers the listener writes itself: JSON, and errors in the shape of the protocol they are told in.
import type { GatewayError } from "../canonical/error.ts"
import type { Json } from "../canonical/json.ts"
import type { Protocol } from "../protocols/contract.ts"

export function jsonAnswer(
  body: Json,
  { requestId, status = 200, headers = {} }: { requestId: string; status?: number; headers?: Record<string, string> },
): Response {
  return new Response(JSON.stringify(body), {
    status,
    headers: { "content-type": "application/json", "x-request-id": requestId, ...headers },
  })
}

export function errorAnswer(
  error: GatewayError,
  { protocol, requestId, headers = {} }: { protocol: Protocol; requestId: string; headers?: Record<string, string> },
): Response {
  return jsonAnswer(protocol.encodeError(error, { requestId }), {
    requestId,
    status: error.status,
    headers: { ...retryHeaders(error), ...headers },
  })
}

/** Client libraries try again on 408, 409, 429 and every 5xx unless they are told not to. */
function retryHeaders(error: GatewayError): Record<string, string> {
  const told: Record<string, string> = {}
  if (error.retryAfterMs !== undefined) told["retry-after"] = String(Math.ceil(error.retryAfterMs / 1000))
  if (!error.mayRetry && (error.status >= 500 || error.status === 409)) told["x-should-retry"] = "false"
  return told
}
