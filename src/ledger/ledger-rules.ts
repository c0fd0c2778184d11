// The entries of each ledger operation, within a transaction of the caller. Everything is checked before anything is
// written, and every sum that decides is read in the same transaction.
import { GatewayError } from "../canonical/gateway-error.ts"
import { usdOfNano } from "../canonical/usd.ts"
import type {
  BookedEntry,
  EntryAmounts,
  EntryKind,
  EntryRow,
  EntryUsage,
  HoldRow,
  LedgerAccountRow,
  LedgerTable,
} from "../store/contract.ts"
import { type Budget, dayOf, startOfDay } from "./budget.ts"
import { BudgetRules } from "./budget-rules.ts"
import { freeOf, unheldOf } from "./free-balance.ts"
import { budgetExceededError, invalidParameter, refuseAboveBalance, refuseGatewayAccount } from "./refusals.ts"

export interface HoldRequest {
  readonly requestId: string
  readonly tenant: string
  readonly keyId: string
  readonly amountNano: bigint
  readonly budgets?: readonly Budget[]
  readonly at: number
}

/** The outcome of a hold. */
export interface SettledHold {
  readonly outcome: Extract<EntryKind, "settled" | "released" | "recovered">
  /** The cost of the request. */
  readonly chargeNano: bigint
  /** The amount taken from the paying account: the charge and the suspense, without debt and write-off. */
  readonly paidNano: bigint
  /** Estimated usage that neither the hold nor the balance covered. */
  readonly writtenOffNano: bigint
  /** Reported usage that neither covered: a debt of the paying account. */
  readonly owedNano: bigint
  /** Held when the process died, not known to be owed, and not returned yet. */
  readonly suspendedNano: bigint
  /** The part of it that was returned. */
  readonly returnedNano: bigint
}

export interface HoldClosure {
  readonly outcome: SettledHold["outcome"]
  readonly chargeNano: bigint
  readonly suspendedNano: bigint
  /** True if a shortfall becomes a debt; else it is written off. */
  readonly mayOwe: boolean
  readonly at: number
  readonly protocol: string | null
  /** Null if nothing was used. */
  readonly use: EntryUsage | null
  /** Other facts for the receipt, as JSON. */
  readonly facts: string | null
}

/** The outcome of a hold, and its entry. */
export interface ClosedHold {
  readonly settled: SettledHold
  readonly entry: BookedEntry
}

export interface LedgerTopUp {
  /** `tenant:T` or `key:K`. */
  readonly account: string
  readonly amountNano: bigint
  /** Identifies the payment: one event id is booked once, however often it is sent. */
  readonly eventId: string
  readonly at: number
}

/** A thousand million USD: sums of such amounts stay far below the integer limit. */
export const MAX_NANO = 10n ** 18n

/** The usage of a request whose outcome is unknown. */
export const UNKNOWN_USE: EntryUsage = { model: "unknown", provider: "unknown", counts: {}, priceVersion: null }

export class LedgerRules {
  readonly budgets: BudgetRules

  constructor(private readonly table: LedgerTable) {
    this.budgets = new BudgetRules(table)
  }

  hold(request: HoldRequest, epoch: number): void {
    const { accounts, holds } = this.table
    const { requestId, tenant, keyId, amountNano, budgets = NONE, at } = request
    const found = accounts.payer(keyId, tenant)
    if (found) refuseAboveBalance(found, amountNano)
    const day = budgets.length > 0 ? this.dayOf({ keyId, tenant, at }) : dayOf(at)
    const spender = { keyId, tenant, day }
    const over = budgets.length > 0 && this.budgets.firstExceeded(budgets, { spender, moreNano: amountNano })
    if (over) throw budgetExceededError(over, { neededNano: amountNano, day })
    const account = found ?? accounts.insert(`tenant:${tenant}`, null)
    const row: HoldRow = {
      requestId,
      accountId: account.id,
      tenant,
      keyId,
      amountNano,
      lowerBoundNano: 0n,
      day,
      epoch,
      at: day === dayOf(at) ? at : startOfDay(day),
      budgets,
    }
    if (!holds.insert(row)) throw new Error(`request ${requestId} is held already, or has ended`)
  }

  /** False if it does not fit, or the hold is no longer open. */
  extend(requestId: string, moreNano: bigint): boolean {
    const { accounts, holds } = this.table
    const hold = holds.find(requestId)
    if (!hold || freeOf(accounts.get(hold.accountId)) < moreNano) return false
    if (this.budgets.firstExceeded(hold.budgets, { spender: hold, moreNano })) return false
    holds.grow(requestId, moreNano)
    return true
  }

  /** The paying account pays as much as it can; the rest of the hold is freed, and first repays the account's debt. */
  closeHold(hold: HoldRow, ending: HoldClosure): SettledHold {
    const { outcome, chargeNano, suspendedNano, mayOwe, at, protocol, use, facts } = ending
    const { requestId, accountId, tenant, keyId, amountNano, day } = hold
    const account = this.table.accounts.get(accountId)
    const dueNano = suspendedNano === 0n ? chargeNano : chargeNano + suspendedNano
    const paidNano = dueNano <= amountNano ? dueNano : minNano(dueNano, amountNano + unheldOf(account))
    const shortNano = paidNano === dueNano ? 0n : dueNano - paidNano
    const owedNano = mayOwe ? shortNano : 0n
    const writtenOffNano = mayOwe ? 0n : shortNano
    const repaidNano = account.owedNano === 0n ? 0n : repayableNano(account, amountNano + unheldOf(account) - paidNano)
    const nano: EntryAmounts = {
      account: -paidNano - repaidNano,
      funding: 0n,
      revenue: chargeNano,
      suspense: suspendedNano,
      writeOff: -writtenOffNano,
      debt: repaidNano - owedNano,
    }
    const row: EntryRow = {
      kind: outcome,
      requestId,
      eventId: null,
      tenant,
      keyId,
      day,
      at,
      accountId,
      nano,
      heldNano: amountNano,
      protocol,
      use,
    }
    this.table.entries.insert(row, facts)
    if (mayOwe && chargeNano > amountNano && hold.budgets.length > 0)
      this.budgets.noteExcess(hold, chargeNano - amountNano)
    return { outcome, chargeNano, paidNano, writtenOffNano, owedNano, suspendedNano, returnedNano: 0n }
  }

  /** The outcome of a request; undefined if it has not ended. */
  findClosedHold(requestId: string): ClosedHold | undefined {
    const entry = this.table.entries.ofRequest(requestId)
    if (!entry) return undefined
    const { nano } = entry
    const settled: SettledHold = {
      outcome: entry.kind as SettledHold["outcome"],
      chargeNano: nano.revenue,
      // Repaid debt was not for this request.
      paidNano: nano.debt > 0n ? -nano.account - nano.debt : -nano.account,
      writtenOffNano: -nano.writeOff,
      owedNano: nano.debt < 0n ? -nano.debt : 0n,
      suspendedNano: nano.suspense,
      returnedNano: 0n,
    }
    return { settled: nano.suspense === 0n ? settled : this.afterSuspense(requestId, settled), entry }
  }

  /** Charges a part of a recovered request's suspense and returns the rest, once. False if there is none. */
  endSuspense(requestId: string, { chargeNano, at }: SuspenseClosure): boolean {
    const { suspense, entries, accounts } = this.table
    const row = suspense.find(requestId)
    const entry = row && entries.get(row.entry)
    if (!row || !entry) return false
    if (row.endedBy !== null) return true
    const { accountId, tenant, keyId, day } = entry
    const suspendedNano = entry.nano.suspense
    const chargedNano = chargeNano ?? suspendedNano
    if (chargedNano > suspendedNano)
      throw invalidParameter(
        "usd",
        `Request ${requestId} has only ${usdOfNano(suspendedNano)} USD in suspense. Settle that amount or less.`,
      )
    const returnedNano = suspendedNano - chargedNano
    const repaidNano = repayableNano(accounts.get(accountId), returnedNano)
    const nano: EntryAmounts = {
      account: returnedNano - repaidNano,
      funding: 0n,
      revenue: chargedNano,
      suspense: -suspendedNano,
      writeOff: 0n,
      debt: repaidNano,
    }
    const kind = chargedNano > 0n ? "suspense-settled" : "suspense-returned"
    const owner = { requestId: null, eventId: requestId, tenant, keyId, accountId }
    entries.insert({ kind, ...owner, day, at, nano, heldNano: null, protocol: null, use: UNKNOWN_USE }, null)
    return true
  }

  topUp({ account: name, amountNano, eventId, at }: LedgerTopUp): void {
    const { accounts, entries } = this.table
    refuseGatewayAccount(name)
    if (amountNano <= 0n || amountNano > MAX_NANO)
      throw invalidParameter("amount", `A top-up must be more than 0 and at most ${usdOfNano(MAX_NANO)} USD.`)
    const booked = entries.ofEvent(eventId)
    if (booked) {
      if (booked.accountId === accounts.find(name)?.id && booked.nano.funding === -amountNano) return
      const message = `The event id ${eventId} was already used for a different account or amount. Use a new event id.`
      throw new GatewayError("idempotency_conflict", message)
    }
    const account = accounts.find(name) ?? accounts.insert(name, 0n)
    // Spending while the account was unlimited is not paid from its first balance.
    if (account.floorNano === null) accounts.setFloor(account.id, account.postedNano - account.heldNano)
    const repaidNano = minNano(account.owedNano, amountNano)
    const nothingElse = { revenue: 0n, suspense: 0n, writeOff: 0n }
    const nano = { account: amountNano - repaidNano, funding: -amountNano, ...nothingElse, debt: repaidNano }
    const owner = { requestId: null, eventId, tenant: null, keyId: null, accountId: account.id }
    const nothing = { heldNano: null, protocol: null, use: null }
    entries.insert({ kind: "top-up", ...owner, day: dayOf(at), at, nano, ...nothing }, null)
  }

  setFloor(name: string, floorNano: bigint | null): void {
    refuseGatewayAccount(name)
    const { accounts } = this.table
    const found = accounts.find(name)
    const mostNano = found ? found.postedNano - found.heldNano : 0n
    if (floorNano !== null && floorNano > mostNano) {
      const message = `The floor of ${name} cannot exceed its balance of ${usdOfNano(mostNano)} USD. Top it up first.`
      throw invalidParameter("floor", message)
    }
    if (found) accounts.setFloor(found.id, floorNano)
    else accounts.insert(name, floorNano)
  }

  /** The day that spending counts for: never before the last day with spending. */
  dayOf({ keyId, tenant, at }: { readonly keyId: string; readonly tenant: string; readonly at: number }): number {
    return this.table.spend.latestDay({ keyId, tenant }, dayOf(at))
  }

  /** Adds the later outcome of the suspense. */
  private afterSuspense(requestId: string, settled: SettledHold): SettledHold {
    const { suspense, entries } = this.table
    const endedBy = suspense.find(requestId)?.endedBy ?? null
    const late = endedBy === null ? undefined : entries.get(endedBy)
    if (!late) return settled
    const chargedNano = late.nano.revenue
    const returnedNano = settled.suspendedNano - chargedNano
    const [chargeNano, paidNano] = [settled.chargeNano + chargedNano, settled.paidNano - returnedNano]
    return { ...settled, chargeNano, paidNano, suspendedNano: 0n, returnedNano }
  }
}

/** The part of the suspense to charge; undefined is all of it. */
interface SuspenseClosure {
  readonly chargeNano: bigint | undefined
  readonly at: number
}

const NONE: readonly Budget[] = []

/** The part of an account's debt that a freed amount repays. An unlimited account repays with its next top-up. */
function repayableNano({ owedNano, floorNano }: LedgerAccountRow, freedNano: bigint): bigint {
  return floorNano === null ? 0n : minNano(owedNano, freedNano)
}

function minNano(a: bigint, b: bigint): bigint {
  return a < b ? a : b
}
