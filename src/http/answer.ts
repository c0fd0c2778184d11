// Answers the listener writes itself: JSON, and errors in the shape of the protocol they are told in.
import type { GatewayError } from "../canonical/error.ts"
import type { Json } from "../canonical/json.ts"
import { answerOf, type ExchangeRecord } from "../exchange/record.ts"
import type { Protocol } from "../protocols/contract.ts"

export function jsonAnswer(body: Json, record: ExchangeRecord): Response {
  return answerOf(record, JSON.stringify(body), "application/json")
}

/** The error that ends an exchange. */
export function errorAnswer(error: GatewayError, record: ExchangeRecord, protocol: Protocol): Response {
  record.status = error.status
  const answer = jsonAnswer(protocol.encodeError(error, { requestId: record.requestId }), record)
  for (const [name, value] of Object.entries(retryHeaders(error))) answer.headers.set(name, value)
  return answer
}

/** Client libraries try again on 408, 409, 429 and every 5xx unless they are told not to. */
function retryHeaders(error: GatewayError): Record<string, string> {
  const told: Record<string, string> = {}
  if (error.retryAfterMs !== undefined) told["retry-after"] = String(Math.ceil(error.retryAfterMs / 1000))
  if (!error.mayRetry && (error.status >= 500 || error.status === 409)) told["x-should-retry"] = "false"
  return told
}
