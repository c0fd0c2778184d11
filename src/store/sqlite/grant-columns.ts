// The columns that keys and tenants share.
import type { BudgetLimits, Grant } from "../contract.ts"

export interface GrantColumns {
  readonly models: string | null
  readonly strict: bigint
  readonly protocols: string | null
  readonly requests_per_minute: bigint | null
  readonly tokens_per_minute: bigint | null
  readonly concurrent_requests: bigint | null
  readonly budget_day: bigint | null
  readonly budget_week: bigint | null
  readonly budget_month: bigint | null
  readonly budget_total: bigint | null
}

export type SqlBindings = Record<string, string | number | bigint | null>

/** Columns for `UPDATE … SET`, and for an INSERT that names its columns. */
export const GRANT_COLUMNS: Readonly<Record<string, string>> = {
  models: "$models",
  strict: "$strict",
  protocols: "$protocols",
  requests_per_minute: "$requestsPerMinute",
  tokens_per_minute: "$tokensPerMinute",
  concurrent_requests: "$concurrentRequests",
  budget_day: "$budgetDay",
  budget_week: "$budgetWeek",
  budget_month: "$budgetMonth",
  budget_total: "$budgetTotal",
}

export function insertInto(table: string, columns: Readonly<Record<string, string>>): string {
  return `INSERT INTO ${table} (${Object.keys(columns).join(", ")}) VALUES (${Object.values(columns).join(", ")})`
}

/** Every column except the key of the row. */
export function updateOf(table: string, columns: Readonly<Record<string, string>>, by: string): string {
  const set = Object.entries(columns).filter(([column]) => column !== by)
  const assigned = set.map(([column, value]) => `${column} = ${value}`).join(", ")
  return `UPDATE ${table} SET ${assigned} WHERE ${by} = ${columns[by]}`
}

export function grantBindings({ models, protocols, budgets, ...grant }: Grant): SqlBindings {
  return {
    $models: models && JSON.stringify(models),
    $strict: Number(grant.strict),
    $protocols: protocols && JSON.stringify(protocols),
    $requestsPerMinute: grant.requestsPerMinute,
    $tokensPerMinute: grant.tokensPerMinute,
    $concurrentRequests: grant.concurrentRequests,
    $budgetDay: budgets.day ?? null,
    $budgetWeek: budgets.week ?? null,
    $budgetMonth: budgets.month ?? null,
    $budgetTotal: budgets.total ?? null,
  }
}

export function grantFrom(columns: GrantColumns): Grant {
  return {
    models: parseList(columns.models),
    strict: columns.strict !== 0n,
    protocols: parseList(columns.protocols),
    requestsPerMinute: toNumber(columns.requests_per_minute),
    tokensPerMinute: toNumber(columns.tokens_per_minute),
    concurrentRequests: toNumber(columns.concurrent_requests),
    budgets: budgetsFrom(columns),
  }
}

const NO_BUDGETS: BudgetLimits = {}

/** Most rows have none, and a key is read for every uncached caller. */
function budgetsFrom({ budget_day, budget_week, budget_month, budget_total }: GrantColumns): BudgetLimits {
  if ((budget_day ?? budget_week ?? budget_month ?? budget_total) === null) return NO_BUDGETS
  return {
    ...(budget_day !== null && { day: budget_day }),
    ...(budget_week !== null && { week: budget_week }),
    ...(budget_month !== null && { month: budget_month }),
    ...(budget_total !== null && { total: budget_total }),
  }
}

export function parseList(text: string | null): readonly string[] | null {
  return text === null ? null : JSON.parse(text)
}

export function toNumber(value: bigint | null): number | null {
  return value === null ? null : Number(value)
}
