// The budgets a call has to keep within: its key's own, and its tenant's.
import type { Budgets } from "../store/contract.ts"
import { PERIODS } from "./grant.ts"

export interface BudgetInForce {
  /** Whose spending counts. */
  readonly of: "key" | "tenant"
  readonly period: (typeof PERIODS)[number]
  readonly limitNano: bigint
}

const NONE: readonly BudgetInForce[] = []

export function budgetsInForce(key: Budgets, tenant: Budgets): readonly BudgetInForce[] {
  if (isEmpty(key) && isEmpty(tenant)) return NONE
  return [...ofHolder("key", key), ...ofHolder("tenant", tenant)]
}

function isEmpty({ day, week, month, total }: Budgets): boolean {
  return (day ?? week ?? month ?? total) === undefined
}

function ofHolder(of: BudgetInForce["of"], budgets: Budgets): BudgetInForce[] {
  return PERIODS.flatMap((period) => {
    const limitNano = budgets[period]
    return limitNano === undefined ? [] : [{ of, period, limitNano }]
  })
}
