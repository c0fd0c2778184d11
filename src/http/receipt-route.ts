// GET /v1/receipts/{id}: what a request cost, how that was reckoned and where it went, for every key of its tenant.
import type { Json } from "../canonical/json.ts"
import { jsonAnswer } from "./answer.ts"
import { type OwnRouteOptions, ownRouteOf } from "./key-route.ts"
import type { Route } from "./visit.ts"

interface ReceiptRouteOptions extends OwnRouteOptions {
  /** The receipt of this tenant's request, or a GatewayError where there is none. */
  readonly receiptOf: (requestId: string, tenant: string) => Promise<object>
}

export function receiptRoute({ receiptOf, ...own }: ReceiptRouteOptions): Route {
  return {
    ...ownRouteOf(own),
    name: "GET /v1/receipts/{id}",
    path: "/v1/receipts/{id}",
    handle: async ({ caller, envelope, record }) =>
      jsonAnswer((await receiptOf(envelope.rest, caller.tenant)) as Json, record),
  }
}
