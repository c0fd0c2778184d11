// GET /v1/receipts/{id}: a request's cost, its calculation and its route, for every key of the tenant.
import type { Json } from "../canonical/json.ts"
import { jsonResponse } from "./json-response.ts"
import { type CallerRouteOptions, callerRoute } from "./key-route.ts"
import type { GatewayRoute } from "./request-context.ts"

interface ReceiptRouteOptions extends CallerRouteOptions {
  /** The receipt of this tenant's request, or a GatewayError where there is none. */
  readonly receiptOf: (requestId: string, tenant: string) => Promise<object>
}

export function receiptRoute({ receiptOf, ...own }: ReceiptRouteOptions): GatewayRoute {
  return {
    ...callerRoute(own),
    name: "GET /v1/receipts/{id}",
    path: "/v1/receipts/{id}",
    handle: async ({ caller, envelope, progress }) =>
      jsonResponse((await receiptOf(envelope.rest, caller.tenant)) as Json, progress),
  }
}
