// The budget view: the remaining amount and the reset time of each budget.
import type { BudgetInForce } from "../../access/budgets-in-force.ts"
import { usdOfNano } from "../../canonical/usd.ts"
import { dateOfDay, windowOf } from "../../ledger/budget.ts"
import type { Ledger } from "../../ledger/ledger.ts"

export interface SpendingView {
  readonly of: BudgetInForce["of"]
  readonly period: BudgetInForce["period"]
  /** Decimal USD. */
  readonly limit: string
  /** Decimal USD; negative if overspent, or if reported usage exceeded previous periods. */
  readonly remaining: string
  /** Null if it never resets. */
  readonly resets_at: string | null
}

export interface BudgetSpender {
  readonly id: string
  readonly tenant: string
  readonly budgets: readonly BudgetInForce[]
}

export function toSpendingViews(
  { id, tenant, budgets }: BudgetSpender,
  { ledger, at }: { ledger: Pick<Ledger, "leftOf" | "spendingDay">; at: number },
): SpendingView[] {
  if (budgets.length === 0) return []
  const day = ledger.spendingDay({ keyId: id, tenant, at })
  return budgets.map((budget) => ({
    of: budget.of,
    period: budget.period,
    limit: usdOfNano(budget.limitNano),
    remaining: usdOfNano(ledger.leftOf(budget, { keyId: id, tenant, at })),
    resets_at: resetsAt(budget.period, day),
  }))
}

function resetsAt(period: BudgetInForce["period"], day: number): string | null {
  return period === "total" ? null : `${dateOfDay(windowOf(period, day).to + 1)}T00:00:00.000Z`
}
