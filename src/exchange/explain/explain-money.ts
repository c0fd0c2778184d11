// The money section of an explanation: the hold, the available funds, and how much output they cover. Nothing is
// held.

import { keyAccountName, tenantAccountName } from "../../access/balance-service.ts"
import type { Caller } from "../../access/caller.ts"
import { GatewayError } from "../../canonical/gateway-error.ts"
import type { JsonObject } from "../../canonical/json.ts"
import { usdOfNano } from "../../canonical/usd.ts"
import { inputBound } from "../../counting/input-bound.ts"
import { boundOf } from "../../ledger/cost.ts"
import type { Target } from "../../routing/route-plan.ts"
import type { RequestHold } from "../charge/request-hold.ts"
import type { ExchangeDeps } from "../exchange-deps.ts"
import type { ReadRequest } from "../read-request.ts"

interface RemainingFunds {
  /** Undefined where nothing limits it. */
  readonly balanceNano: bigint | undefined
  readonly budgets: readonly { readonly shown: JsonObject; readonly leftNano: bigint }[]
}

interface MoneyExplanation {
  readonly shown: JsonObject
  /** What the request would be refused with. */
  readonly refusal: GatewayError | undefined
}

interface MoneyContext {
  readonly caller: Caller
  readonly ledger: ExchangeDeps["ledger"]
  readonly request: ReadRequest
}

/** No answer is so long. */
const MOST_OUTPUT = 1e12

export function explainMoney(
  hold: RequestHold | undefined,
  { caller, ledger, request }: MoneyContext,
): MoneyExplanation {
  const left = remainingFunds(caller, ledger)
  const leftNano = smallestAmount([left.balanceNano, ...left.budgets.map((budget) => budget.leftNano)])
  const shown = {
    held: usdOfNano(hold?.nano ?? 0n),
    held_output_tokens: hold?.outputTokens ?? 0,
    balance: left.balanceNano === undefined ? null : usdOfNano(left.balanceNano),
    budgets: left.budgets.map((budget) => budget.shown),
    affordable_output_tokens: (hold && affordableOutput(hold.targets, { request, leftNano })) ?? null,
  }
  return { shown, refusal: hold && refusalOf(hold.nano, left) }
}

function remainingFunds(
  { id, tenant, ownBalance, budgetsInForce }: Caller,
  ledger: ExchangeDeps["ledger"],
): RemainingFunds {
  if (!ledger) return { balanceNano: undefined, budgets: [] }
  const balance = ledger.balance(ownBalance ? keyAccountName(id) : tenantAccountName(tenant))
  const at = Date.now()
  const budgets = budgetsInForce.map((budget) => {
    const { of, period, limitNano } = budget
    const leftNano = ledger.leftOf(budget, { keyId: id, tenant, at })
    return { shown: { of, period, limit: usdOfNano(limitNano), remaining: usdOfNano(leftNano) }, leftNano }
  })
  return { balanceNano: balance?.freeNano ?? undefined, budgets }
}

interface AffordableInput {
  readonly request: ReadRequest
  readonly leftNano: bigint | undefined
}

/** The output tokens that the remaining money covers at every target; undefined without a limit, or without output. */
export function affordableOutput(
  targets: readonly Target[],
  { request, leftNano }: AffordableInput,
): number | undefined {
  if (leftNano === undefined) return undefined
  const inputTokens = inputBound(request.text)
  let fewest = MOST_OUTPUT
  for (const { pricing, model } of targets) {
    if (!pricing || model.kind !== "chat") continue
    const fits = (outputTokens: number) => {
      const bound = boundOf({ inputTokens, outputTokens }, pricing)
      return bound !== undefined && bound <= leftNano
    }
    if (!fits(fewest)) fewest = largestThatFits(fits, fewest)
  }
  return fewest === MOST_OUTPUT ? undefined : fewest
}

/** The largest number below `end` that fits, where all that are smaller do; 0 where none does. */
function largestThatFits(fits: (count: number) => boolean, end: number): number {
  let [most, unfit] = [0, end]
  while (unfit - most > 1) {
    const middle = Math.floor((most + unfit) / 2)
    if (fits(middle)) most = middle
    else unfit = middle
  }
  return most
}

function refusalOf(heldNano: bigint, { balanceNano, budgets }: RemainingFunds): GatewayError | undefined {
  const needed = `This request may cost up to ${usdOfNano(heldNano)} USD`
  if (balanceNano !== undefined && balanceNano < heldNano) {
    const message = `${needed}, and ${usdOfNano(balanceNano)} USD is left of the balance. Top it up, or ask for less output.`
    return new GatewayError("insufficient_balance", message)
  }
  const over = budgets.find(({ leftNano }) => leftNano < heldNano)
  if (!over) return undefined
  const { of, period, remaining } = over.shown
  const message = `${needed}, and ${remaining} USD is left of the ${of}'s budget (${period}). Ask for less output, or for a larger budget.`
  return new GatewayError("budget_exceeded", message)
}

function smallestAmount(amounts: readonly (bigint | undefined)[]): bigint | undefined {
  let found: bigint | undefined
  for (const amount of amounts) {
    if (amount !== undefined && (found === undefined || amount < found)) found = amount
  }
  return found
}
