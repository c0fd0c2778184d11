// The remainder of budgets: the limit, less the spending and holds of its period, less the overshoot of earlier periods
// by reported usage. An overshoot counts until later periods have made up for it.
import type { BudgetPeriod, HoldRow, LedgerTable, OvershootRow } from "../store/contract.ts"
import { type Budget, type DayWindow, windowOf } from "./budget.ts"

/** A key of a tenant, and the day it spends on. */
interface DatedSpender {
  readonly keyId: string
  readonly tenant: string
  readonly day: number
}

export interface ExceededBudget extends Budget {
  readonly leftNano: bigint
}

type RecurringPeriod = OvershootRow["period"]
type BudgetTables = Pick<LedgerTable, "spend" | "overshoots">

export class BudgetRules {
  private readonly windows = new Map<BudgetPeriod, { readonly day: number; readonly window: DayWindow }>()

  constructor(private readonly table: BudgetTables) {}

  /** The first budget without enough left. Within a transaction. */
  firstExceeded(
    budgets: readonly Budget[],
    { spender, moreNano }: { readonly spender: DatedSpender; readonly moreNano: bigint },
  ): ExceededBudget | undefined {
    for (const budget of budgets) {
      this.bringForward(budget, spender)
      const leftNano = this.leftOf(budget, spender)
      if (moreNano > leftNano) return { ...budget, leftNano }
    }
    return undefined
  }

  leftOf({ of = "key", period, limitNano }: Budget, { keyId, tenant, day }: DatedSpender): bigint {
    const { spend } = this.table
    const window = period === "total" ? undefined : this.window(period, day)
    const spentNano = of === "key" ? spend.ofKey(keyId, window) : spend.ofTenant(tenant, window)
    const leftNano = limitNano - spentNano
    if (period === "total" || window === undefined) return leftNano
    const row = this.table.overshoots.find(holderOf(of, { keyId, tenant }), period)
    return row ? leftNano - this.carriedNanoInto(window.from, { row, limitNano }) : leftNano
  }

  /** A settlement by reported usage has exceeded its hold: if that exceeds a budget, the overshoot is carried over. */
  noteExcess(hold: HoldRow, excessNano: bigint): void {
    for (const budget of hold.budgets) {
      const { of = "key", period, limitNano } = budget
      if (period === "total") continue
      const leftNano = this.leftOf(budget, hold)
      if (leftNano >= 0n) continue
      const overNano = excessNano < -leftNano ? excessNano : -leftNano
      const holder = holderOf(of, hold)
      this.addOvershoot({ holder, period, limitNano, overNano, from: this.window(period, hold.day).from })
    }
  }

  private addOvershoot(added: Omit<OvershootRow, "carriedNano">): void {
    const { overshoots } = this.table
    const { holder, period, from, overNano } = added
    const known = overshoots.find(holder, period)
    if (!known) overshoots.put({ ...added, carriedNano: 0n })
    else if (known.from === from)
      overshoots.put({ ...added, carriedNano: known.carriedNano, overNano: known.overNano + overNano })
    else if (known.from < from)
      overshoots.put({ ...added, carriedNano: this.carriedNanoInto(from, { row: known, limitNano: added.limitNano }) })
    // A request of the previous period, settled in this one.
    else overshoots.put({ ...known, carriedNano: known.carriedNano + overNano })
  }

  /**
   * Carries an overshoot forward to the previous period, once per period, so that no request reads more than two. This
   * also runs for requests that are then refused, without visible effect.
   */
  private bringForward({ of = "key", period, limitNano }: Budget, spender: DatedSpender): void {
    const { overshoots } = this.table
    const row = period === "total" ? undefined : overshoots.find(holderOf(of, spender), period)
    if (!row) return
    const { from } = windowOf(row.period, this.window(row.period, spender.day).from - 1)
    if (row.from >= from) return
    const carriedNano = this.carriedNanoInto(from, { row, limitNano })
    overshoots.put({ ...row, from, limitNano, carriedNano, overNano: 0n })
  }

  /**
   * The part of an overshoot that the periods since have not made up for, by the current limit, which may have changed.
   */
  private carriedNanoInto(
    from: number,
    { row, limitNano }: { readonly row: OvershootRow; readonly limitNano: bigint },
  ): bigint {
    const { period, carriedNano, overNano } = row
    if (row.from >= from) return carriedNano
    let window = windowOf(period, row.from)
    // Less than the recorded excess, if other holds of that period have cost less than they held.
    let nano = minNano(carriedNano + overNano, this.excessOf(row, { window, nano: carriedNano }))
    for (;;) {
      window = windowOf(period, window.to + 1)
      if (window.from >= from || nano === 0n) return nano
      nano = minNano(nano, this.excessOf({ ...row, limitNano }, { window, nano }))
    }
  }

  /** The amount above a period's limit, including the overshoot carried into it. */
  private excessOf(
    { holder, limitNano }: OvershootRow,
    { window, nano }: { readonly window: DayWindow; readonly nano: bigint },
  ): bigint {
    const { spend } = this.table
    const name = holder.slice(holder.indexOf(":") + 1)
    const spentNano = holder.startsWith("key:") ? spend.ofKey(name, window) : spend.ofTenant(name, window)
    const beyondNano = nano + spentNano - limitNano
    return beyondNano > 0n ? beyondNano : 0n
  }

  /** Almost all requests are of the same day. */
  private window(period: RecurringPeriod, day: number): DayWindow {
    const known = this.windows.get(period)
    if (known?.day === day) return known.window
    const window = windowOf(period, day)
    this.windows.set(period, { day, window })
    return window
  }
}

function holderOf(
  of: "key" | "tenant",
  { keyId, tenant }: { readonly keyId: string; readonly tenant: string },
): string {
  return of === "key" ? `key:${keyId}` : `tenant:${tenant}`
}

function minNano(a: bigint, b: bigint): bigint {
  return a < b ? a : b
}
