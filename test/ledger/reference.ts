// A plain reference of the ledger, without crashes, concurrency or speed: lists, and every sum computed anew.

import { type Budget, dateOfDay, dayOf, startOfDay, windowOf } from "../../src/ledger/budget.ts"
import type { HoldRequest, SettledHold } from "../../src/ledger/ledger-rules.ts"

interface ReferenceHold extends HoldRequest {
  readonly account: string
  amountNano: bigint
  lowerBoundNano: bigint
}

interface ReferencePayment {
  readonly outcome: SettledHold["outcome"] | "returned"
  readonly tenant: string
  readonly keyId: string
  readonly at: number
  readonly nano: bigint
}

export interface ReferenceUsage {
  readonly requests: number
  readonly input: number
  readonly paidNano: bigint
}

export function addUsed(
  sums: Map<string, ReferenceUsage>,
  { place, used }: { place: string; used: ReferenceUsage },
): void {
  const before = sums.get(place) ?? { requests: 0, input: 0, paidNano: 0n }
  const [requests, input] = [before.requests + used.requests, before.input + used.input]
  sums.set(place, { requests, input, paidNano: before.paidNano + used.paidNano })
}

/** `refused` means any GatewayError of that code. */
export type ReferenceAnswer = undefined | boolean | SettledHold | { readonly refused: string }

/** The outcome of a request that owes nothing. */
export const RELEASED: SettledHold = {
  ...{ outcome: "released", chargeNano: 0n, paidNano: 0n, writtenOffNano: 0n, suspendedNano: 0n },
  ...{ owedNano: 0n, returnedNano: 0n },
}

interface SpendingKey {
  readonly keyId: string
  readonly tenant: string
  readonly at: number
}

interface CarriedOvershoot {
  readonly holder: string
  readonly period: "day" | "week" | "month"
  readonly overshoot: BudgetOvershoot
  /** The budget of the later periods. */
  readonly limitNano: bigint
}

/** The excess of a budget, in the last period in which it was exceeded. */
interface BudgetOvershoot {
  readonly from: number
  readonly limitNano: bigint
  readonly carriedNano: bigint
  readonly overNano: bigint
}

export class ReferenceLedger {
  readonly posted = new Map<string, bigint>([
    ["funding", 0n],
    ["revenue", 0n],
    ["suspense", 0n],
    ["write-off", 0n],
    ["debt", 0n],
  ])
  readonly owed = new Map<string, bigint>()
  readonly floors = new Map<string, bigint | null>()
  readonly holds = new Map<string, ReferenceHold>()
  readonly ended = new Map<string, SettledHold>()
  /** Requests with an amount in suspense, and the account that paid it. */
  readonly suspended = new Map<string, ReferenceHold>()
  private readonly paid: ReferencePayment[] = []
  private readonly overshoots = new Map<string, BudgetOvershoot>()
  private readonly events = new Map<string, string>()
  /** Requests whose suspense was ended. */
  private readonly outOfSuspense = new Set<string>()

  heldOn(account: string): bigint {
    return sum([...this.holds.values()].filter((held) => held.account === account).map((held) => held.amountNano))
  }

  owedOn(account: string): bigint {
    return this.owed.get(account) ?? 0n
  }

  /** The spendable amount: zero if there is a debt. */
  freeOn(account: string): bigint | null {
    const unheld = this.unheldOn(account)
    return unheld !== null && this.owedOn(account) > 0n ? 0n : unheld
  }

  private unheldOn(account: string): bigint | null {
    const floor = this.floors.get(account) ?? null
    return floor === null ? null : (this.posted.get(account) ?? 0n) - this.heldOn(account) - floor
  }

  /** A day no earlier than any on which the key or its tenant has spent. */
  leftOf(budget: Budget, who: SpendingKey): bigint {
    return this.leftOn(budget, { ...who, at: this.timeOf(who) })
  }

  private leftOn({ of = "key", period, limitNano }: Budget, who: SpendingKey): bigint {
    const holder = of === "key" ? `key:${who.keyId}` : `tenant:${who.tenant}`
    if (period === "total") return limitNano - this.spentBy(holder)
    const window = windowOf(period, dayOf(who.at))
    const overshoot = this.overshoots.get(`${period} ${holder}`)
    const carried = overshoot ? this.carriedInto(window.from, { holder, period, overshoot, limitNano }) : 0n
    return limitNano - this.spentBy(holder, window) - carried
  }

  private spentBy(holder: string, days?: { from: number; to: number }): bigint {
    const counts = ({ keyId, tenant, at }: SpendingKey) =>
      (holder === `key:${keyId}` || holder === `tenant:${tenant}`) &&
      (!days || (dayOf(at) >= days.from && dayOf(at) <= days.to))
    const spent = this.paid.filter(counts).map(({ nano }) => nano)
    const held = [...this.holds.values()].filter(counts).map(({ amountNano }) => amountNano)
    return sum([...spent, ...held])
  }

  private timeOf({ keyId, tenant, at }: SpendingKey): number {
    const counted = [...this.paid.filter(({ outcome }) => outcome !== "released"), ...this.holds.values()]
    const days = counted.filter((each) => each.keyId === keyId || each.tenant === tenant).map((each) => dayOf(each.at))
    const day = Math.max(dayOf(at), ...days)
    return day === dayOf(at) ? at : startOfDay(day)
  }

  private carriedInto(from: number, { holder, period, overshoot, limitNano }: CarriedOvershoot): bigint {
    if (overshoot.from >= from) return overshoot.carriedNano
    let window = windowOf(period, overshoot.from)
    const beyond = (nano: bigint, limit: bigint) => most(0n, nano + this.spentBy(holder, window) - limit)
    const { carriedNano, overNano, limitNano: limitThen } = overshoot
    let nano = least(carriedNano + overNano, beyond(carriedNano, limitThen))
    for (window = windowOf(period, window.to + 1); window.from < from; window = windowOf(period, window.to + 1))
      nano = least(nano, beyond(nano, limitNano))
    return nano
  }

  /** Whether the amount exceeds a budget. From then on, amounts before the last period do not change. */
  private exceeds(budgets: readonly Budget[], { who, nano }: { who: SpendingKey; nano: bigint }): boolean {
    return budgets.some((budget) => {
      const { of = "key", period } = budget
      const holder = of === "key" ? `key:${who.keyId}` : `tenant:${who.tenant}`
      const overshoot = this.overshoots.get(`${period} ${holder}`)
      if (overshoot && period !== "total") {
        const { from } = windowOf(period, windowOf(period, dayOf(who.at)).from - 1)
        const carriedNano = this.carriedInto(from, { holder, period, overshoot, limitNano: budget.limitNano })
        if (overshoot.from < from)
          this.overshoots.set(`${period} ${holder}`, { from, limitNano: budget.limitNano, carriedNano, overNano: 0n })
      }
      return nano > this.leftOn(budget, who)
    })
  }

  private noteExcess(held: ReferenceHold, excessNano: bigint): void {
    for (const budget of held.budgets ?? []) {
      const { of = "key", period, limitNano } = budget
      const left = this.leftOn(budget, held)
      if (period === "total" || left >= 0n) continue
      const holder = of === "key" ? `key:${held.keyId}` : `tenant:${held.tenant}`
      const [name, over] = [`${period} ${holder}`, least(excessNano, -left)]
      const { from } = windowOf(period, dayOf(held.at))
      const known = this.overshoots.get(name) ?? { from, limitNano, carriedNano: 0n, overNano: 0n }
      const next =
        known.from > from
          ? { ...known, carriedNano: known.carriedNano + over }
          : known.from === from
            ? { ...known, limitNano, overNano: known.overNano + over }
            : {
                from,
                limitNano,
                overNano: over,
                carriedNano: this.carriedInto(from, { holder, period, overshoot: known, limitNano }),
              }
      this.overshoots.set(name, next)
    }
  }

  /** Usage by day, tenant and key; every settled request used one token of input. */
  used(): Map<string, ReferenceUsage> {
    const sums = new Map<string, ReferenceUsage>()
    for (const { outcome, tenant, keyId, at, nano } of this.paid) {
      if (outcome === "released") continue
      const used = { requests: outcome === "returned" ? 0 : 1, input: outcome === "settled" ? 1 : 0, paidNano: nano }
      addUsed(sums, { place: `${dateOfDay(dayOf(at))} ${tenant} ${keyId}`, used })
    }
    return sums
  }

  hold(wish: HoldRequest): ReferenceAnswer {
    const own = `key:${wish.keyId}`
    const account = (this.floors.get(own) ?? null) !== null ? own : `tenant:${wish.tenant}`
    const free = this.freeOn(account)
    if (free !== null && (wish.amountNano > free || this.owedOn(account) > 0n))
      return { refused: "insufficient_balance" }
    const { budgets = [] } = wish
    const at = budgets.length > 0 ? this.timeOf(wish) : wish.at
    if (this.exceeds(budgets, { who: { ...wish, at }, nano: wish.amountNano })) return { refused: "budget_exceeded" }
    if (!this.floors.has(account)) this.open(account, null)
    this.holds.set(wish.requestId, { ...wish, at, account, lowerBoundNano: 0n })
    return undefined
  }

  extend(requestId: string, moreNano: bigint): ReferenceAnswer {
    const held = this.holds.get(requestId)
    if (!held) return false
    const free = this.freeOn(held.account)
    if (free !== null && moreNano > free) return false
    if (this.exceeds(held.budgets ?? [], { who: held, nano: moreNano })) return false
    held.amountNano += moreNano
    return true
  }

  note(requestId: string, lowerBoundNano: bigint): void {
    const held = this.holds.get(requestId)
    if (held && lowerBoundNano > held.lowerBoundNano) held.lowerBoundNano = lowerBoundNano
  }

  settle(requestId: string, { chargeNano, mayOwe }: { chargeNano: bigint; mayOwe: boolean }): ReferenceAnswer {
    return this.end(requestId, { outcome: "settled", chargeNano, mayOwe }) ?? { refused: "fault" }
  }

  endSuspense(requestId: string, chargeNano: bigint): ReferenceAnswer {
    const settled = this.ended.get(requestId)
    if (settled?.outcome !== "recovered") return { refused: "resource_not_found" }
    const held = this.suspended.get(requestId)
    const { suspendedNano } = settled
    if (!held) return this.outOfSuspense.has(requestId) ? undefined : { refused: "resource_not_found" }
    if (chargeNano > suspendedNano) return { refused: "invalid_parameter" }
    const returnedNano = suspendedNano - chargeNano
    this.suspended.delete(requestId)
    this.outOfSuspense.add(requestId)
    this.move("suspense", -suspendedNano)
    this.move("revenue", chargeNano)
    const repaid = this.floors.get(held.account) === null ? 0n : least(this.owedOn(held.account), returnedNano)
    this.move(held.account, returnedNano - repaid)
    this.owe(held.account, -repaid)
    this.paid.push({ outcome: "returned", tenant: held.tenant, keyId: held.keyId, at: held.at, nano: -returnedNano })
    const [charge, paidNano] = [settled.chargeNano + chargeNano, settled.paidNano - returnedNano]
    this.ended.set(requestId, { ...settled, chargeNano: charge, paidNano, suspendedNano: 0n, returnedNano })
    return undefined
  }

  release(requestId: string): ReferenceAnswer {
    return this.end(requestId, { outcome: "released", chargeNano: 0n }) ?? RELEASED
  }

  /** Undefined where it was never held. */
  private end(
    requestId: string,
    ending: { outcome: SettledHold["outcome"]; chargeNano: bigint; suspendedNano?: bigint; mayOwe?: boolean },
  ): SettledHold | undefined {
    const first = this.ended.get(requestId)
    if (first) return first
    const held = this.holds.get(requestId)
    if (!held) return undefined
    const { outcome, chargeNano, suspendedNano = 0n, mayOwe = false } = ending
    this.holds.delete(requestId)
    const due = chargeNano + suspendedNano
    const free = this.unheldOn(held.account)
    const paidNano = free === null || due <= free ? due : free
    const [owedNano, writtenOffNano] = mayOwe ? [due - paidNano, 0n] : [0n, due - paidNano]
    const repaid = free === null ? 0n : least(this.owedOn(held.account), free - paidNano)
    const settled = { outcome, chargeNano, paidNano, writtenOffNano, owedNano, suspendedNano, returnedNano: 0n }
    this.move(held.account, -paidNano - repaid)
    this.owe(held.account, owedNano - repaid)
    this.move("write-off", -writtenOffNano)
    this.move("revenue", chargeNano)
    this.move("suspense", suspendedNano)
    if (suspendedNano > 0n) this.suspended.set(requestId, held)
    this.paid.push({ outcome, tenant: held.tenant, keyId: held.keyId, at: held.at, nano: paidNano + owedNano })
    if (mayOwe && chargeNano > held.amountNano) this.noteExcess(held, chargeNano - held.amountNano)
    this.ended.set(requestId, settled)
    return settled
  }

  topUp({ account, amountNano, eventId }: { account: string; amountNano: bigint; eventId: string }): ReferenceAnswer {
    const what = `${account} ${amountNano}`
    const before = this.events.get(eventId)
    if (before !== undefined) return before === what ? undefined : { refused: "idempotency_conflict" }
    this.events.set(eventId, what)
    if (!this.floors.has(account)) this.open(account, 0n)
    if (this.floors.get(account) === null)
      this.floors.set(account, (this.posted.get(account) ?? 0n) - this.heldOn(account))
    const repaid = least(this.owedOn(account), amountNano)
    this.move(account, amountNano - repaid)
    this.owe(account, -repaid)
    this.move("funding", -amountNano)
    return undefined
  }

  setFloor(account: string, floorNano: bigint | null): ReferenceAnswer {
    const has = (this.posted.get(account) ?? 0n) - this.heldOn(account)
    if (floorNano !== null && floorNano > has) return { refused: "invalid_parameter" }
    if (!this.floors.has(account)) this.open(account, floorNano)
    this.floors.set(account, floorNano)
    return undefined
  }

  recover(): void {
    for (const [requestId, { lowerBoundNano, amountNano }] of [...this.holds]) {
      const suspendedNano = lowerBoundNano < amountNano ? amountNano - lowerBoundNano : 0n
      this.end(requestId, { outcome: "recovered", chargeNano: lowerBoundNano, suspendedNano })
    }
  }

  private open(account: string, floorNano: bigint | null): void {
    this.floors.set(account, floorNano)
    this.posted.set(account, 0n)
  }

  private owe(account: string, nano: bigint): void {
    this.owed.set(account, this.owedOn(account) + nano)
    this.move("debt", -nano)
  }

  private move(account: string, nano: bigint): void {
    this.posted.set(account, (this.posted.get(account) ?? 0n) + nano)
  }
}

function least(a: bigint, b: bigint): bigint {
  return a < b ? a : b
}

function most(a: bigint, b: bigint): bigint {
  return a > b ? a : b
}

function sum(amounts: readonly bigint[]): bigint {
  return amounts.reduce((all, nano) => all + nano, 0n)
}
