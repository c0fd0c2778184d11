// GET /v1/key: what a caller may know of its own key, and what is left of its limits now.
import type { Caller } from "../accounts/caller.ts"
import type { Allowance, Standing } from "../accounts/limits.ts"
import { shownGrant } from "../accounts/shown-grant.ts"
import { shownKey } from "../accounts/shown-key.ts"
import type { Json } from "../canonical/json.ts"
import { usdOfNano } from "../canonical/usd.ts"
import type { Protocol } from "../protocols/contract.ts"
import { durationOf, jsonAnswer } from "./answer.ts"
import type { Route } from "./visit.ts"

interface KeyRouteOptions {
  /** Words the errors. */
  readonly protocol: Protocol
  /** All there are: a key is taken from wherever one of them has it. */
  readonly protocols: readonly Protocol[]
  /** In nano-USD; undefined where a key has no balance of its own. */
  readonly balanceOf: (caller: Caller) => Promise<bigint | undefined>
}

export function keyRoute({ protocol, protocols, balanceOf }: KeyRouteOptions): Route {
  const keyHeaders = [...new Set(protocols.flatMap((each) => each.keyHeaders))]
  const keyParameter = protocols.find((each) => each.keyParameter !== undefined)?.keyParameter
  return {
    name: "GET /v1/key",
    method: "GET",
    path: "/v1/key",
    who: "key",
    bodyLimit: 0,
    protocol,
    keyPlaces: { keyHeaders, ...(keyParameter !== undefined && { keyParameter }) },
    generates: false,
    handle: async ({ caller, allowance, record }) =>
      jsonAnswer(told(caller, { balance: await balanceOf(caller), allowance }), record),
  }
}

function told(caller: Caller, { balance, allowance }: { balance: bigint | undefined; allowance: Allowance }): Json {
  const { requests, tokens } = allowance.standing()
  return {
    ...shownKey(caller),
    balance: balance === undefined ? null : usdOfNano(balance),
    limits: {
      requests: requests ? shownStanding(requests) : null,
      tokens: tokens ? shownStanding(tokens) : null,
      concurrent_requests: allowance.concurrent() ?? null,
    },
    tenant_limits: caller.tenantGrant && shownGrant(caller.tenantGrant),
  } as Json
}

function shownStanding({ limit, remaining, resetMs }: Standing): Json {
  return { limit, remaining, reset: durationOf(resetMs) }
}
