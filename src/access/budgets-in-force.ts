// The budgets that apply to a call: its key's own, and its tenant's.
import { BUDGET_PERIODS, type BudgetLimits, type BudgetPeriod } from "../store/contract.ts"

export interface BudgetInForce {
  /** The holder whose spending counts. */
  readonly of: "key" | "tenant"
  readonly period: BudgetPeriod
  readonly limitNano: bigint
}

const NONE: readonly BudgetInForce[] = []

export function budgetsInForce(key: BudgetLimits, tenant: BudgetLimits): readonly BudgetInForce[] {
  if (isEmpty(key) && isEmpty(tenant)) return NONE
  return [...budgetsOfHolder("key", key), ...budgetsOfHolder("tenant", tenant)]
}

function isEmpty({ day, week, month, total }: BudgetLimits): boolean {
  return (day ?? week ?? month ?? total) === undefined
}

function budgetsOfHolder(of: BudgetInForce["of"], budgets: BudgetLimits): BudgetInForce[] {
  return BUDGET_PERIODS.flatMap((period) => {
    const limitNano = budgets[period]
    return limitNano === undefined ? [] : [{ of, period, limitNano }]
  })
}
