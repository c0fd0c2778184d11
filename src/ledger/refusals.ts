// Error messages of the ledger.
import { GatewayError } from "../canonical/gateway-error.ts"
import { usdOfNano } from "../canonical/usd.ts"
import type { BudgetPeriod, LedgerAccountRow } from "../store/contract.ts"
import { dateOfDay, windowOf } from "./budget.ts"
import type { ExceededBudget } from "./budget-rules.ts"
import { freeOf } from "./free-balance.ts"

export function refuseAboveBalance(account: LedgerAccountRow, amountNano: bigint): void {
  const { name, owedNano } = account
  const isOwing = owedNano > 0n && account.floorNano !== null
  const freeNano = freeOf(account)
  if (freeNano >= amountNano && !isOwing) return
  const [needed, left, owed] = [amountNano, freeNano, owedNano].map(usdOfNano)
  const whose = name.startsWith("key:") ? "this key's balance" : "the balance"
  const start = `This request may cost up to ${needed} USD, and ${left} USD is left of ${whose}`
  const message = isOwing
    ? `${start}, which owes ${owed} USD for requests that cost more than the balance. Top it up by more than that.`
    : `${start}. Top it up, or ask for less output.`
  throw new GatewayError("insufficient_balance", message)
}

export function budgetExceededError(
  { of, period, limitNano, leftNano }: ExceededBudget,
  { neededNano, day }: { neededNano: bigint; day: number },
): GatewayError {
  const whose = of === "tenant" ? "tenant's" : "key's"
  const what = `This request may cost up to ${usdOfNano(neededNano)} USD, and ${usdOfNano(leftNano)} USD is left of`
  const budget = `the ${whose} budget of ${usdOfNano(limitNano)} USD ${period === "total" ? "in all" : `per ${period}`}`
  return new GatewayError("budget_exceeded", `${what} ${budget}. ${budgetRemedy(period, day)}`)
}

function budgetRemedy(period: BudgetPeriod, day: number): string {
  if (period === "total") return "Ask an administrator to raise it."
  return `It resets on ${dateOfDay(windowOf(period, day).to + 1)} (UTC).`
}

export function refuseGatewayAccount(name: string): void {
  if (/^(tenant|key):./.test(name)) return
  throw invalidParameter("account", `"${name}" is not an account. Use tenant:NAME or key:ID.`)
}

export function invalidParameter(param: string, message: string): GatewayError {
  return new GatewayError("invalid_parameter", message, { param })
}
