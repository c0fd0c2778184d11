// Every route of the gateway's main listener: the protocols' endpoints, the caller's key and receipts, health checks; a
// part of the composition root.
import type { KeyRegistry } from "./access/key-registry.ts"
import type { AdminService } from "./admin/services/admin-service.ts"
import type { StoredResponses } from "./exchange/conversations/stored-responses.ts"
import type { ExchangeDeps } from "./exchange/exchange-deps.ts"
import { withDescription } from "./http/description-routes.ts"
import { entryRoutes } from "./http/entry-routes.ts"
import { jsonResponse } from "./http/json-response.ts"
import { keyRoute } from "./http/key-route.ts"
import { protocolRoutes } from "./http/protocol-routes.ts"
import { receiptRoute } from "./http/receipt-route.ts"
import type { GatewayRoute, RequestContext } from "./http/request-context.ts"
import { responseRoutes } from "./http/response-routes.ts"
import { isForeignPath } from "./http/route-help.ts"
import { RouteTable } from "./http/route-table.ts"
import type { Ledger } from "./ledger/ledger.ts"
import { StoreReadiness } from "./ledger/store-readiness.ts"
import { openaiChat } from "./protocols/chat/openai-chat/openai-chat.ts"
import { openaiResponses } from "./protocols/chat/openai-responses/openai-responses.ts"
import { protocols } from "./protocols.ts"

export interface GatewayRoutesOptions {
  readonly deps: ExchangeDeps
  readonly responses: StoredResponses
  readonly keys: KeyRegistry
  readonly adminService: AdminService
  readonly ledger: Ledger
  readonly version: string
  /** False once the gateway is stopping. */
  readonly isReady: () => boolean
}

export function gatewayRoutes(options: GatewayRoutesOptions): RouteTable {
  const { deps, responses, version } = options
  const routes = [
    ...protocols.flatMap((protocol) => protocolRoutes(protocol, deps)),
    ...responseRoutes({ protocol: openaiResponses, responses }),
    ...callerRoutes(options),
    ...healthRoutes(options),
    ...entryRoutes(openaiChat),
  ]
  return new RouteTable(withDescription(routes, { protocol: openaiChat, version }), { isForeign: isForeignPath })
}

/** The caller's own key and receipts. */
function callerRoutes({ keys, adminService }: GatewayRoutesOptions): GatewayRoute[] {
  const shared = { protocol: openaiChat, protocols }
  return [
    keyRoute({
      ...shared,
      balanceOf: (caller) => keys.balanceOf(caller),
      spendingOf: ({ id, tenant, budgetsInForce }) =>
        adminService.keys.spendingOf({ id, tenant, budgets: budgetsInForce }),
    }),
    receiptRoute({ ...shared, receiptOf: (id, tenant) => adminService.ledger.receipt(id, tenant) }),
  ]
}

function healthRoutes({ ledger, isReady }: GatewayRoutesOptions): GatewayRoute[] {
  const health = { method: "GET", who: "anyone", bodyLimit: 0, protocol: openaiChat, generates: false } as const
  const reply = (status: string, code: number) => (context: RequestContext) =>
    jsonResponse({ status }, context.progress, code)
  const store = new StoreReadiness(ledger)
  const readiness = () => {
    if (!isReady()) return reply("stopping", 503)
    return store.isWritable() ? reply("ready", 200) : reply("store_unavailable", 503)
  }
  // Coding agents probe this path before their first request.
  const hello = { ...health, method: "HEAD", handle: reply("ok", 200) } as const
  const helloPaths = ["", ...protocols.flatMap(({ prefixes }) => prefixes)].map((prefix) => `${prefix}/api/hello`)
  return [
    ...helloPaths.map((path) => ({ ...hello, name: `HEAD ${path}`, path })),
    { ...health, name: "GET /healthz", path: "/healthz", handle: reply("ok", 200) },
    { ...health, name: "GET /readyz", path: "/readyz", handle: (context) => readiness()(context) },
  ]
}
