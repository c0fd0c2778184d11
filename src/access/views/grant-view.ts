// The grant of a key or tenant as operators read and write it: on the command line and over the administration port.

import { usdOfNano } from "../../canonical/usd.ts"
import { BUDGET_PERIODS, type BudgetLimits, type BudgetPeriod, type Grant } from "../../store/contract.ts"
import type { GrantChange } from "../grant.ts"
import { parseUsd } from "../parse-usd.ts"

export interface GrantView {
  readonly models: readonly string[] | null
  readonly protocols: readonly string[] | null
  readonly requests_per_minute: number | null
  readonly tokens_per_minute: number | null
  readonly concurrent_requests: number | null
  readonly strict: boolean
  /** Decimal USD. */
  readonly budgets: { readonly [Name in BudgetPeriod]?: string }
}

/** Absent members stay unchanged; null removes a bound. */
export type GrantInput = { readonly [Name in keyof GrantView]?: GrantView[Name] | null }

export function toGrantView(grant: Grant): GrantView {
  const { models, protocols, requestsPerMinute, tokensPerMinute, concurrentRequests, strict, budgets } = grant
  return {
    models,
    protocols,
    requests_per_minute: requestsPerMinute,
    tokens_per_minute: tokensPerMinute,
    concurrent_requests: concurrentRequests,
    strict,
    budgets: toBudgetsView(budgets),
  }
}

export function readGrantInput(input: GrantInput): GrantChange {
  const { models, protocols, requests_per_minute, tokens_per_minute, concurrent_requests, strict, budgets } = input
  return omitUndefined({
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
export function omitUndefined<Members extends object>(
  members: Members,
): { [Name in keyof Members]: Exclude<Members[Name], undefined> } {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as never
}

function toBudgetsView(budgets: BudgetLimits): GrantView["budgets"] {
  return Object.fromEntries(
    BUDGET_PERIODS.flatMap((period) => {
      const limit = budgets[period]
      return limit === undefined ? [] : [[period, usdOfNano(limit)]]
    }),
  )
}

function readBudgets(budgets: GrantView["budgets"]): BudgetLimits {
  return Object.fromEntries(
    BUDGET_PERIODS.flatMap((period) => {
      const text = budgets[period]
      return text === undefined ? [] : [[period, parseUsd(text, `budgets.${period}`)]]
    }),
  )
}
