// What a key or a tenant is granted, as operators read and write it: on the command line and over the administration port.

import { usdOfNano } from "../canonical/usd.ts"
import type { Budgets, Grant } from "../store/contract.ts"
import { type GrantWish, PERIODS } from "./grant.ts"
import { readUsd } from "./usd.ts"

type Period = (typeof PERIODS)[number]

export interface ShownGrant {
  readonly models: readonly string[] | null
  readonly protocols: readonly string[] | null
  readonly requests_per_minute: number | null
  readonly tokens_per_minute: number | null
  readonly concurrent_requests: number | null
  readonly strict: boolean
  /** Decimal USD. */
  readonly budgets: { readonly [Name in Period]?: string }
}

/** What is left out stays as it is; null takes a bound away. */
export type AskedGrant = { readonly [Name in keyof ShownGrant]?: ShownGrant[Name] | null }

export function shownGrant(grant: Grant): ShownGrant {
  const { models, protocols, requestsPerMinute, tokensPerMinute, concurrentRequests, strict, budgets } = grant
  return {
    models,
    protocols,
    requests_per_minute: requestsPerMinute,
    tokens_per_minute: tokensPerMinute,
    concurrent_requests: concurrentRequests,
    strict,
    budgets: shownBudgets(budgets),
  }
}

export function grantWishOf(asked: AskedGrant): GrantWish {
  const { models, protocols, requests_per_minute, tokens_per_minute, concurrent_requests, strict, budgets } = asked
  return given({
    models,
    protocols,
    requestsPerMinute: requests_per_minute,
    tokensPerMinute: tokens_per_minute,
    concurrentRequests: concurrent_requests,
    strict,
    budgets: budgets && readBudgets(budgets),
  })
}

/** Without the members that are undefined. */
export function given<Members extends object>(
  members: Members,
): { [Name in keyof Members]: Exclude<Members[Name], undefined> } {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as never
}

function shownBudgets(budgets: Budgets): ShownGrant["budgets"] {
  return Object.fromEntries(
    PERIODS.flatMap((period) => {
      const limit = budgets[period]
      return limit === undefined ? [] : [[period, usdOfNano(limit)]]
    }),
  )
}

function readBudgets(asked: ShownGrant["budgets"]): Budgets {
  return Object.fromEntries(
    PERIODS.flatMap((period) => {
      const text = asked[period]
      return text === undefined ? [] : [[period, readUsd(text, `budgets.${period}`)]]
    }),
  )
}
