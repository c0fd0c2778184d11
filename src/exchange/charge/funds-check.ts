// Rejects callers that cannot pay for any request, before the request is read.
import type { Caller } from "../../access/caller.ts"
import { GatewayError } from "../../canonical/gateway-error.ts"
import type { Pricing } from "../../canonical/model.ts"
import { usdOfNano } from "../../canonical/usd.ts"
import type { Ledger } from "../../ledger/ledger.ts"
import type { RoutingTable } from "../../routing/route-plan.ts"

/** The models, and the providers that are there to serve them. */
type ServedModels = Pick<RoutingTable, "catalog" | "accounts">

export interface FundsCheckOptions {
  readonly ledger: Pick<Ledger, "leftOf">
  /** What the caller's account may still spend; null: not limited. */
  readonly freeOf: (caller: Caller) => bigint | null
  readonly table: () => ServedModels
  readonly now?: () => number
}

export class FundsCheck {
  private readonly free = new WeakMap<ServedModels, boolean>()

  constructor(private readonly options: FundsCheckOptions) {}

  /** Throws insufficient_balance or budget_exceeded if the caller's balance or a budget is empty. */
  check(caller: Caller): void {
    const { freeOf, ledger, now = Date.now } = this.options
    const freeNano = freeOf(caller)
    if (freeNano !== null && this.isSpent(freeNano)) {
      const message = `${usdOfNano(freeNano)} USD is left of the balance that pays for this API key. Top it up.`
      throw new GatewayError("insufficient_balance", message)
    }
    const who = { keyId: caller.id, tenant: caller.tenant, at: now() }
    for (const budget of caller.budgetsInForce) {
      const leftNano = ledger.leftOf(budget, who)
      if (!this.isSpent(leftNano)) continue
      const period = budget.period === "total" ? "in all" : `per ${budget.period}`
      const of = `the ${budget.of}'s budget of ${usdOfNano(budget.limitNano)} USD ${period}`
      throw new GatewayError(
        "budget_exceeded",
        `${usdOfNano(leftNano)} USD is left of ${of}. Ask an administrator to raise it.`,
      )
    }
  }

  /** With nothing left, models that cost nothing can still be called; with a debt, none. */
  private isSpent(leftNano: bigint): boolean {
    return leftNano < 0n || (leftNano === 0n && !this.offersFree(this.options.table()))
  }

  private offersFree(table: ServedModels): boolean {
    const known = this.free.get(table)
    if (known !== undefined) return known
    const offers = table.catalog.models.some((model) =>
      model.targets.some(({ provider, pricing = model.pricing }) => {
        return table.accounts.has(provider) && pricing !== undefined && costsNothing(pricing)
      }),
    )
    this.free.set(table, offers)
    return offers
  }
}

function costsNothing({ tiers = [], ...prices }: Pricing): boolean {
  const all = [prices, ...tiers.map(({ aboveInputTokens: _, ...tier }) => tier)]
  return all.every((each) => Object.values(each).every((price) => Number(price) === 0))
}
