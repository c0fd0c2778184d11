// GET /v1/key: what a caller may know of its own key, and what is left of its limits, budgets and balance now.
import type { Caller } from "../accounts/caller.ts"
import type { Allowance, Standing } from "../accounts/limits.ts"
import type { Balance } from "../accounts/money.ts"
import { shownGrant } from "../accounts/shown-grant.ts"
import { shownKey } from "../accounts/shown-key.ts"
import type { Json } from "../canonical/json.ts"
import type { Protocol } from "../protocols/contract.ts"
import { durationOf, jsonAnswer } from "./answer.ts"
import type { Route } from "./visit.ts"

export interface OwnRouteOptions {
  /** Words the errors. */
  readonly protocol: Protocol
  /** All there are: a key is taken from wherever one of them has it. */
  readonly protocols: readonly Protocol[]
}

interface KeyRouteOptions extends OwnRouteOptions {
  /** Of what it pays from: its own balance, or its tenant's. */
  readonly balanceOf: (caller: Caller) => Balance | undefined
  /** How its budgets stand, and its tenant's. */
  readonly spendingOf: (caller: Caller) => readonly object[]
}

export function keyRoute({ balanceOf, spendingOf, ...own }: KeyRouteOptions): Route {
  return {
    ...ownRouteOf(own),
    name: "GET /v1/key",
    path: "/v1/key",
    handle: ({ caller, allowance, record }) => {
      const key = { ...shownKey(caller, balanceOf(caller)), spending: spendingOf(caller) }
      return jsonAnswer({ ...key, ...shownLimits(caller, allowance) } as Json, record)
    },
  }
}

/** What the routes have in common that tell a caller of what is its own, in no protocol's words. */
export function ownRouteOf({ protocol, protocols }: OwnRouteOptions) {
  const keyHeaders = [...new Set(protocols.flatMap((each) => each.keyHeaders))]
  const keyParameter = protocols.find((each) => each.keyParameter !== undefined)?.keyParameter
  const keyPlaces = { keyHeaders, ...(keyParameter !== undefined && { keyParameter }) }
  return { method: "GET", who: "key", bodyLimit: 0, protocol, keyPlaces, generates: false } as const
}

function shownLimits({ tenantGrant }: Caller, allowance: Allowance) {
  const { requests, tokens } = allowance.standing()
  return {
    limits: {
      requests: requests ? shownStanding(requests) : null,
      tokens: tokens ? shownStanding(tokens) : null,
      concurrent_requests: allowance.concurrent() ?? null,
    },
    tenant_limits: tenantGrant && shownGrant(tenantGrant),
  }
}

function shownStanding({ limit, remaining, resetMs }: Standing): Json {
  return { limit, remaining, reset: durationOf(resetMs) }
}
