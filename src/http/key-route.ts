// GET /v1/key: the caller's key, with the remaining limits, budgets and balance.

import type { BalanceSummary } from "../access/balance-service.ts"
import type { Caller } from "../access/caller.ts"
import type { Allowance, LimitStatus } from "../access/limits/rate-limiter.ts"
import { toGrantView } from "../access/views/grant-view.ts"
import { toKeyView } from "../access/views/key-view.ts"
import type { Json } from "../canonical/json.ts"
import type { Protocol } from "../protocols/contract.ts"
import { formatDuration, jsonResponse } from "./json-response.ts"
import type { GatewayRoute } from "./request-context.ts"

export interface CallerRouteOptions {
  /** Words the errors. */
  readonly protocol: Protocol
  /** All there are: a key is taken from wherever one of them has it. */
  readonly protocols: readonly Protocol[]
}

interface KeyRouteOptions extends CallerRouteOptions {
  /** Of what it pays from: its own balance, or its tenant's. */
  readonly balanceOf: (caller: Caller) => BalanceSummary | undefined
  /** How its budgets stand, and its tenant's. */
  readonly spendingOf: (caller: Caller) => readonly object[]
}

export function keyRoute({ balanceOf, spendingOf, ...own }: KeyRouteOptions): GatewayRoute {
  return {
    ...callerRoute(own),
    name: "GET /v1/key",
    path: "/v1/key",
    handle: ({ caller, allowance, progress }) => {
      const key = { ...toKeyView(caller, balanceOf(caller)), spending: spendingOf(caller) }
      return jsonResponse({ ...key, ...toLimitsView(caller, allowance) } as Json, progress)
    },
  }
}

/** What the routes have in common that tell a caller of what is its own, in no protocol's words. */
export function callerRoute({ protocol, protocols }: CallerRouteOptions) {
  const keyHeaders = [...new Set(protocols.flatMap((each) => each.keyHeaders))]
  const keyParameter = protocols.find((each) => each.keyParameter !== undefined)?.keyParameter
  const keyPlaces = { keyHeaders, ...(keyParameter !== undefined && { keyParameter }) }
  return { method: "GET", who: "key", bodyLimit: 0, protocol, keyPlaces, generates: false } as const
}

function toLimitsView({ tenantGrant }: Caller, allowance: Allowance) {
  const { requests, tokens } = allowance.status()
  return {
    limits: {
      requests: requests ? toLimitView(requests) : null,
      tokens: tokens ? toLimitView(tokens) : null,
      concurrent_requests: allowance.concurrent() ?? null,
    },
    tenant_limits: tenantGrant && toGrantView(tenantGrant),
  }
}

function toLimitView({ limit, remaining, resetMs }: LimitStatus): Json {
  return { limit, remaining, reset: formatDuration(resetMs) }
}
