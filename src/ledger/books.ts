// What is written for each operation, within a transaction that somebody else begins and ends. Everything is refused
// before anything is written, and every sum that decides is read in the same transaction.
import { GatewayError } from "../canonical/error.ts"
import { usdOfNano } from "../canonical/usd.ts"
import type {
  BookedEntry,
  EntryAmounts,
  EntryKind,
  EntryRow,
  HoldRow,
  LedgerAccountRow,
  LedgerTable,
  Use,
} from "../store/contract.ts"
import { type Budget, dateOfDay, dayOf, type Period, type Window, windowOf } from "./budget.ts"

export interface HoldWish {
  readonly requestId: string
  readonly tenant: string
  readonly keyId: string
  readonly amountNano: bigint
  readonly budgets?: readonly Budget[]
  readonly at: number
}

/** How a hold ended. */
export interface Settled {
  readonly outcome: Exclude<EntryKind, "top-up">
  /** What the request cost. */
  readonly chargeNano: bigint
  /** What was taken from who pays: the charge and what is in suspense, without what was written off. */
  readonly paidNano: bigint
  /** What the balance did not cover. */
  readonly writtenOffNano: bigint
  /** Held when the process died, and not known to be owed. */
  readonly suspendedNano: bigint
}

export interface Ending {
  readonly outcome: Settled["outcome"]
  readonly chargeNano: bigint
  readonly suspendedNano: bigint
  readonly at: number
  readonly protocol: string | null
  /** Null where nothing was used. */
  readonly use: Use | null
  /** What else the receipt is to show, as JSON. */
  readonly facts: string | null
}

/** How a hold has ended, and the entry it was booked as. */
export interface Ended {
  readonly settled: Settled
  readonly entry: BookedEntry
}

export interface TopUp {
  /** `tenant:T` or `key:K`. */
  readonly account: string
  readonly amountNano: bigint
  /** What is topped up once per event, however often it is told. */
  readonly eventId: string
  readonly at: number
}

/** A thousand million USD: sums of such amounts are far from where integers end. */
export const MAX_NANO = 10n ** 18n

/** Who spends, and on which day. */
interface Spender {
  readonly keyId: string
  readonly tenant: string
  readonly day: number
}

export class Books {
  private readonly windows = new Map<Period, { readonly day: number; readonly window: Window }>()

  constructor(private readonly table: LedgerTable) {}

  hold(wish: HoldWish, epoch: number): void {
    const { accounts, holds } = this.table
    const { requestId, tenant, keyId, amountNano, budgets = NONE, at } = wish
    const found = accounts.payer(keyId, tenant)
    if (found) refuseAbove(found, amountNano)
    const day = dayOf(at)
    const over = budgets.length > 0 && this.exceeded(budgets, { spender: { keyId, tenant, day }, moreNano: amountNano })
    if (over) throw budgetExceeded(over, { neededNano: amountNano, day })
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
      at,
      budgets,
    }
    if (!holds.insert(row)) throw new Error(`request ${requestId} is held already, or has ended`)
  }

  /** False where it does not fit, or nothing is held any more. */
  extend(requestId: string, moreNano: bigint): boolean {
    const { accounts, holds } = this.table
    const hold = holds.find(requestId)
    if (!hold || freeOf(accounts.get(hold.accountId)) < moreNano) return false
    if (this.exceeded(hold.budgets, { spender: hold, moreNano })) return false
    holds.grow(requestId, moreNano)
    return true
  }

  /** Who pays pays what it can; the rest of the hold is free again. */
  end(hold: HoldRow, ending: Ending): Settled {
    const { accounts, entries } = this.table
    const { outcome, chargeNano, suspendedNano, at, protocol, use, facts } = ending
    const { requestId, accountId, tenant, keyId, amountNano, day } = hold
    const dueNano = suspendedNano === 0n ? chargeNano : chargeNano + suspendedNano
    const paidNano = dueNano <= amountNano ? dueNano : least(dueNano, amountNano + freeOf(accounts.get(accountId)))
    const writtenOffNano = paidNano === dueNano ? 0n : dueNano - paidNano
    const nano: EntryAmounts = {
      account: -paidNano,
      funding: 0n,
      revenue: chargeNano,
      suspense: suspendedNano,
      writeOff: -writtenOffNano,
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
    entries.insert(row, facts)
    return { outcome, chargeNano, paidNano, writtenOffNano, suspendedNano }
  }

  /** How a request has ended; undefined where it has not. */
  ended(requestId: string): Ended | undefined {
    const entry = this.table.entries.ofRequest(requestId)
    if (!entry || entry.kind === "top-up") return undefined
    const { kind: outcome, nano } = entry
    const [paidNano, writtenOffNano] = [-nano.account, -nano.writeOff]
    const settled = { outcome, chargeNano: nano.revenue, paidNano, writtenOffNano, suspendedNano: nano.suspense }
    return { settled, entry }
  }

  topUp({ account: name, amountNano, eventId, at }: TopUp): void {
    const { accounts, entries } = this.table
    refuseHouseAccount(name)
    if (amountNano <= 0n || amountNano > MAX_NANO)
      throw invalid("amount", `A top-up is more than 0 and at most ${usdOfNano(MAX_NANO)} USD.`)
    const booked = entries.ofEvent(eventId)
    if (booked) {
      if (booked.accountId === accounts.find(name)?.id && booked.nano.account === amountNano) return
      const message = `The event ${eventId} has topped up another account or another amount. Use a new event id.`
      throw new GatewayError("idempotency_conflict", message)
    }
    const account = accounts.find(name) ?? accounts.insert(name, 0n)
    // What was spent while nothing limited it is not to be paid from the first balance.
    if (account.floorNano === null) accounts.setFloor(account.id, account.postedNano - account.heldNano)
    const nano = { account: amountNano, funding: -amountNano, revenue: 0n, suspense: 0n, writeOff: 0n }
    const who = { requestId: null, eventId, tenant: null, keyId: null, accountId: account.id }
    const nothing = { heldNano: null, protocol: null, use: null }
    entries.insert({ kind: "top-up", ...who, day: dayOf(at), at, nano, ...nothing }, null)
  }

  setFloor(name: string, floorNano: bigint | null): void {
    refuseHouseAccount(name)
    const { accounts } = this.table
    const found = accounts.find(name)
    const mostNano = found ? found.postedNano - found.heldNano : 0n
    if (floorNano !== null && floorNano > mostNano) {
      const message = `The floor of ${name} can be at most what it has, ${usdOfNano(mostNano)} USD. Top it up first.`
      throw invalid("floor", message)
    }
    if (found) accounts.setFloor(found.id, floorNano)
    else accounts.insert(name, floorNano)
  }

  /** What may still be spent within a budget. */
  leftOf({ of = "key", period, limitNano }: Budget, { keyId, tenant, day }: Spender): bigint {
    const { spend } = this.table
    const window = period === "total" ? undefined : this.window(period, day)
    return limitNano - (of === "key" ? spend.ofKey(keyId, window) : spend.ofTenant(tenant, window))
  }

  private exceeded(
    budgets: readonly Budget[],
    { spender, moreNano }: { readonly spender: Spender; readonly moreNano: bigint },
  ): (Budget & { leftNano: bigint }) | undefined {
    for (const budget of budgets) {
      const leftNano = this.leftOf(budget, spender)
      if (moreNano > leftNano) return { ...budget, leftNano }
    }
    return undefined
  }

  /** Almost all requests are of one day. */
  private window(period: Exclude<Period, "total">, day: number): Window {
    const known = this.windows.get(period)
    if (known?.day === day) return known.window
    const window = windowOf(period, day)
    this.windows.set(period, { day, window })
    return window
  }
}

const NONE: readonly Budget[] = []

/** More than anybody can spend. */
const UNLIMITED = 2n ** 63n

export function freeOf({ postedNano, heldNano, floorNano }: LedgerAccountRow): bigint {
  return floorNano === null ? UNLIMITED : postedNano - heldNano - floorNano
}

function refuseAbove(account: LedgerAccountRow, amountNano: bigint): void {
  const freeNano = freeOf(account)
  if (freeNano >= amountNano) return
  const [needed, left] = [usdOfNano(amountNano), usdOfNano(freeNano)]
  const whose = account.name.startsWith("key:") ? "this key's balance" : "the balance"
  const message = `This request may cost up to ${needed} USD, and ${left} USD is left of ${whose}. Top it up, or ask for less output.`
  throw new GatewayError("insufficient_balance", message)
}

function budgetExceeded(
  { of, period, limitNano, leftNano }: Budget & { leftNano: bigint },
  { neededNano, day }: { neededNano: bigint; day: number },
): GatewayError {
  const whose = of === "tenant" ? "tenant's" : "key's"
  const what = `This request may cost up to ${usdOfNano(neededNano)} USD, and ${usdOfNano(leftNano)} USD is left of`
  const budget = `the ${whose} budget of ${usdOfNano(limitNano)} USD ${period === "total" ? "in all" : `per ${period}`}`
  return new GatewayError("budget_exceeded", `${what} ${budget}. ${whatMends(period, day)}`)
}

function whatMends(period: Period, day: number): string {
  if (period === "total") return "Ask for it to be raised."
  return `It begins anew on ${dateOfDay(windowOf(period, day).to + 1)} (UTC).`
}

function refuseHouseAccount(name: string): void {
  if (/^(tenant|key):./.test(name)) return
  throw invalid("account", `"${name}" is nobody's account. It is tenant:NAME or key:ID.`)
}

function invalid(param: string, message: string): GatewayError {
  return new GatewayError("invalid_parameter", message, { param })
}

function least(a: bigint, b: bigint): bigint {
  return a < b ? a : b
}
