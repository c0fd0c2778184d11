// What is written for each operation, within a transaction that somebody else begins and ends. Everything is refused
// before anything is written, and every sum that decides is read in the same transaction.
import { GatewayError } from "../canonical/error.ts"
import { usdOfNano } from "../canonical/usd.ts"
import {
  type BookedEntry,
  type EntryAmounts,
  type EntryKind,
  HOUSE_ACCOUNTS,
  type HoldRow,
  type HouseAccount,
  type LedgerAccountRow,
  type LedgerTable,
} from "../store/contract.ts"
import { type Budget, dateOfDay, dayOf, type Period, windowOf } from "./budget.ts"
import { GroupSums } from "./group-sums.ts"
import { OpenHolds } from "./open-holds.ts"

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
}

/** How a hold ended, and the entry it was booked as. */
export interface Ended {
  readonly settled: Settled
  readonly entryId: bigint
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

export class Books {
  private readonly house: Readonly<Record<HouseAccount, bigint>>
  private readonly sums: GroupSums
  private readonly holds: OpenHolds

  constructor(private readonly table: LedgerTable) {
    this.sums = new GroupSums(table)
    this.holds = new OpenHolds(table.holds)
    const ids = HOUSE_ACCOUNTS.map((name) => [name, this.houseAccount(name).id])
    this.house = Object.fromEntries(ids) as Record<HouseAccount, bigint>
  }

  /** Writes what the transaction has moved, at its end. */
  finish(): void {
    this.sums.finish()
  }

  /** The transaction is durable. */
  committed(): void {
    this.holds.committed()
  }

  /** Forgets what the transaction has moved: it is durable now, or it never was. */
  reset(): void {
    this.sums.reset()
    this.holds.reset()
  }

  hold(wish: HoldWish, epoch: number): void {
    const { requestId, tenant, keyId, amountNano, budgets = [], at } = wish
    const found = this.sums.find(`key:${keyId}`) ?? this.sums.find(`tenant:${tenant}`)
    if (found) refuseAbove(found, amountNano)
    const day = dayOf(at)
    const over = this.exceeded(budgets, { keyId, tenant, day, moreNano: amountNano })
    if (over) throw budgetExceeded(over, { neededNano: amountNano, day })
    const account = found ?? this.sums.open(`tenant:${tenant}`, null)
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
      budgets: budgets.length > 0 ? budgetsText(budgets) : null,
    }
    this.holds.insert(row)
    this.setAside(row, amountNano)
  }

  /** False where it does not fit, or nothing is held any more. */
  extend(requestId: string, moreNano: bigint): boolean {
    const hold = this.holds.find(requestId)
    if (!hold || freeOf(this.sums.get(hold.accountId)) < moreNano) return false
    const budgets = hold.budgets === null ? [] : budgetsOf(hold.budgets)
    if (this.exceeded(budgets, { ...hold, moreNano })) return false
    this.holds.grow(requestId, moreNano)
    this.setAside(hold, moreNano)
    return true
  }

  /** What is held for a request; undefined where nothing is. */
  held(requestId: string): HoldRow | undefined {
    return this.holds.find(requestId)
  }

  /** Who pays pays what it can; the rest of the hold is free again. */
  end(hold: HoldRow, { outcome, chargeNano, suspendedNano, at }: Ending): Ended {
    const { requestId, accountId, tenant, keyId, amountNano, day } = hold
    const dueNano = chargeNano + suspendedNano
    const paidNano = dueNano <= amountNano ? dueNano : least(dueNano, amountNano + freeOf(this.sums.get(accountId)))
    const writtenOffNano = dueNano - paidNano
    const nano: EntryAmounts = {
      account: -paidNano,
      funding: 0n,
      revenue: chargeNano,
      suspense: suspendedNano,
      writeOff: -writtenOffNano,
    }
    this.holds.remove(requestId)
    this.setAside(hold, -amountNano, paidNano)
    this.moveAll(accountId, nano)
    const row = { kind: outcome, requestId, eventId: null, tenant, keyId, day, at, accountId, nano }
    const settled = { outcome, chargeNano, paidNano, writtenOffNano, suspendedNano }
    return { settled, entryId: this.table.entries.insert(row) }
  }

  /** How a request has ended; undefined where it has not. */
  ended(requestId: string): (Ended & { readonly entry: BookedEntry }) | undefined {
    const entry = this.table.entries.ofRequest(requestId)
    if (!entry || entry.kind === "top-up") return undefined
    const { kind: outcome, id: entryId, nano } = entry
    const [paidNano, writtenOffNano] = [-nano.account, -nano.writeOff]
    const settled = { outcome, chargeNano: nano.revenue, paidNano, writtenOffNano, suspendedNano: nano.suspense }
    return { settled, entryId, entry }
  }

  topUp({ account: name, amountNano, eventId, at }: TopUp): void {
    const { entries } = this.table
    refuseHouseAccount(name)
    if (amountNano <= 0n || amountNano > MAX_NANO)
      throw invalid("amount", `A top-up is more than 0 and at most ${usdOfNano(MAX_NANO)} USD.`)
    const booked = entries.ofEvent(eventId)
    if (booked) {
      if (booked.accountId === this.sums.find(name)?.id && booked.nano.account === amountNano) return
      const message = `The event ${eventId} has topped up another account or another amount. Use a new event id.`
      throw new GatewayError("idempotency_conflict", message)
    }
    const account = this.sums.find(name) ?? this.sums.open(name, 0n)
    // What was spent while nothing limited it is not to be paid from the first balance.
    if (account.floorNano === null) this.sums.setFloor(account.id, account.postedNano - account.heldNano)
    const nano = { account: amountNano, funding: -amountNano, revenue: 0n, suspense: 0n, writeOff: 0n }
    this.moveAll(account.id, nano)
    const who = { requestId: null, eventId, tenant: null, keyId: null, accountId: account.id }
    entries.insert({ kind: "top-up", ...who, day: dayOf(at), at, nano })
  }

  setFloor(name: string, floorNano: bigint | null): void {
    refuseHouseAccount(name)
    const found = this.sums.find(name)
    const mostNano = found ? found.postedNano - found.heldNano : 0n
    if (floorNano !== null && floorNano > mostNano) {
      const message = `The floor of ${name} can be at most what it has, ${usdOfNano(mostNano)} USD. Top it up first.`
      throw invalid("floor", message)
    }
    if (found) this.sums.setFloor(found.id, floorNano)
    else this.sums.open(name, floorNano)
  }

  /** What may still be spent within a budget. */
  leftOf({ of = "key", period, limitNano }: Budget, spender: { keyId: string; tenant: string; day: number }): bigint {
    const holder = of === "key" ? `key:${spender.keyId}` : `tenant:${spender.tenant}`
    return limitNano - this.sums.spentOf(holder, period === "total" ? undefined : windowOf(period, spender.day))
  }

  private exceeded(
    budgets: readonly Budget[],
    { moreNano, ...spender }: { keyId: string; tenant: string; day: number; moreNano: bigint },
  ): (Budget & { leftNano: bigint }) | undefined {
    for (const budget of budgets) {
      const leftNano = this.leftOf(budget, spender)
      if (moreNano > leftNano) return { ...budget, leftNano }
    }
    return undefined
  }

  private moveAll(accountId: bigint, { account, funding, revenue, suspense, writeOff }: EntryAmounts): void {
    const { house, sums } = this
    sums.post(accountId, account)
    sums.post(house.funding, funding)
    sums.post(house.revenue, revenue)
    sums.post(house.suspense, suspense)
    sums.post(house["write-off"], writeOff)
  }

  /** Adds to what is held, or takes away, and to what was spent. */
  private setAside({ accountId, keyId, tenant, day }: HoldRow, heldNano: bigint, spentNano = 0n): void {
    this.sums.hold(accountId, heldNano)
    this.sums.spend(`key:${keyId}`, { day, spentNano, heldNano })
    this.sums.spend(`tenant:${tenant}`, { day, spentNano, heldNano })
  }

  private houseAccount(name: HouseAccount): LedgerAccountRow {
    const account = this.table.accounts.find(name)
    if (!account) throw new Error(`the ledger has no account ${name}`)
    return account
  }
}

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

function budgetsText(budgets: readonly Budget[]): string {
  return JSON.stringify(budgets.map(({ limitNano, ...budget }) => ({ ...budget, limit: String(limitNano) })))
}

function budgetsOf(text: string): Budget[] {
  const kept: (Omit<Budget, "limitNano"> & { limit: string })[] = JSON.parse(text)
  return kept.map(({ limit, ...budget }) => ({ ...budget, limitNano: BigInt(limit) }))
}

function least(a: bigint, b: bigint): bigint {
  return a < b ? a : b
}
