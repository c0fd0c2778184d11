// The ledger as one would write it who had no crashes, no concurrency and no speed to think of: plain lists, and every
// sum made anew from them.
import type { HoldWish, Settled } from "../../src/ledger/books.ts"
import { type Budget, dateOfDay, dayOf, windowOf } from "../../src/ledger/budget.ts"

interface Held extends HoldWish {
  readonly account: string
  amountNano: bigint
  lowerBoundNano: bigint
}

interface Paid {
  readonly outcome: Settled["outcome"]
  readonly tenant: string
  readonly keyId: string
  readonly at: number
  readonly nano: bigint
}

export interface Used {
  readonly requests: number
  readonly input: number
  readonly paidNano: bigint
}

export function addUsed(sums: Map<string, Used>, { place, used }: { place: string; used: Used }): void {
  const before = sums.get(place) ?? { requests: 0, input: 0, paidNano: 0n }
  const [requests, input] = [before.requests + used.requests, before.input + used.input]
  sums.set(place, { requests, input, paidNano: before.paidNano + used.paidNano })
}

/** `refused` stands for any GatewayError of that code. */
export type Answer = undefined | boolean | Settled | { readonly refused: string }

/** How a request ends that owes nothing. */
export const RELEASED: Settled = {
  ...{ outcome: "released", chargeNano: 0n, paidNano: 0n, writtenOffNano: 0n, suspendedNano: 0n },
}

export class Reference {
  readonly posted = new Map<string, bigint>([
    ["funding", 0n],
    ["revenue", 0n],
    ["suspense", 0n],
    ["write-off", 0n],
  ])
  readonly floors = new Map<string, bigint | null>()
  readonly holds = new Map<string, Held>()
  readonly ended = new Map<string, Settled>()
  private readonly paid: Paid[] = []
  private readonly events = new Map<string, string>()

  heldOn(account: string): bigint {
    return sum([...this.holds.values()].filter((held) => held.account === account).map((held) => held.amountNano))
  }

  freeOn(account: string): bigint | null {
    const floor = this.floors.get(account) ?? null
    return floor === null ? null : (this.posted.get(account) ?? 0n) - this.heldOn(account) - floor
  }

  leftOf({ of = "key", period, limitNano }: Budget, who: { keyId: string; tenant: string; at: number }): bigint {
    const window = period === "total" ? undefined : windowOf(period, dayOf(who.at))
    const counts = ({ keyId, tenant, at }: { keyId: string; tenant: string; at: number }) =>
      (of === "key" ? keyId === who.keyId : tenant === who.tenant) &&
      (!window || (dayOf(at) >= window.from && dayOf(at) <= window.to))
    const spent = this.paid.filter(counts).map(({ nano }) => nano)
    const held = [...this.holds.values()].filter(counts).map(({ amountNano }) => amountNano)
    return limitNano - sum([...spent, ...held])
  }

  /** By day, tenant and key; every settled request used one token of input. */
  used(): Map<string, Used> {
    const sums = new Map<string, Used>()
    for (const { outcome, tenant, keyId, at, nano } of this.paid) {
      if (outcome === "released") continue
      const used = { requests: 1, input: outcome === "settled" ? 1 : 0, paidNano: nano }
      addUsed(sums, { place: `${dateOfDay(dayOf(at))} ${tenant} ${keyId}`, used })
    }
    return sums
  }

  hold(wish: HoldWish): Answer {
    const own = `key:${wish.keyId}`
    const account = (this.floors.get(own) ?? null) !== null ? own : `tenant:${wish.tenant}`
    const free = this.freeOn(account)
    if (free !== null && wish.amountNano > free) return { refused: "insufficient_balance" }
    if ((wish.budgets ?? []).some((budget) => wish.amountNano > this.leftOf(budget, wish)))
      return { refused: "budget_exceeded" }
    if (!this.floors.has(account)) this.open(account, null)
    this.holds.set(wish.requestId, { ...wish, account, lowerBoundNano: 0n })
    return undefined
  }

  extend(requestId: string, moreNano: bigint): Answer {
    const held = this.holds.get(requestId)
    if (!held) return false
    const free = this.freeOn(held.account)
    if (free !== null && moreNano > free) return false
    if ((held.budgets ?? []).some((budget) => moreNano > this.leftOf(budget, held))) return false
    held.amountNano += moreNano
    return true
  }

  note(requestId: string, lowerBoundNano: bigint): void {
    const held = this.holds.get(requestId)
    if (held && lowerBoundNano > held.lowerBoundNano) held.lowerBoundNano = lowerBoundNano
  }

  settle(requestId: string, chargeNano: bigint): Answer {
    return this.end(requestId, { outcome: "settled", chargeNano }) ?? { refused: "fault" }
  }

  release(requestId: string): Answer {
    return this.end(requestId, { outcome: "released", chargeNano: 0n }) ?? RELEASED
  }

  /** Undefined where it was never held. */
  private end(
    requestId: string,
    ending: { outcome: Settled["outcome"]; chargeNano: bigint; suspendedNano?: bigint },
  ): Settled | undefined {
    const first = this.ended.get(requestId)
    if (first) return first
    const held = this.holds.get(requestId)
    if (!held) return undefined
    const { outcome, chargeNano, suspendedNano = 0n } = ending
    this.holds.delete(requestId)
    const due = chargeNano + suspendedNano
    const free = this.freeOn(held.account)
    const paidNano = free === null || due <= free ? due : free
    const settled = { outcome, chargeNano, paidNano, writtenOffNano: due - paidNano, suspendedNano }
    this.move(held.account, -paidNano)
    this.move("write-off", paidNano - due)
    this.move("revenue", chargeNano)
    this.move("suspense", suspendedNano)
    this.paid.push({ outcome, tenant: held.tenant, keyId: held.keyId, at: held.at, nano: paidNano })
    this.ended.set(requestId, settled)
    return settled
  }

  topUp({ account, amountNano, eventId }: { account: string; amountNano: bigint; eventId: string }): Answer {
    const what = `${account} ${amountNano}`
    const before = this.events.get(eventId)
    if (before !== undefined) return before === what ? undefined : { refused: "idempotency_conflict" }
    this.events.set(eventId, what)
    if (!this.floors.has(account)) this.open(account, 0n)
    if (this.floors.get(account) === null)
      this.floors.set(account, (this.posted.get(account) ?? 0n) - this.heldOn(account))
    this.move(account, amountNano)
    this.move("funding", -amountNano)
    return undefined
  }

  setFloor(account: string, floorNano: bigint | null): Answer {
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

  private move(account: string, nano: bigint): void {
    this.posted.set(account, (this.posted.get(account) ?? 0n) + nano)
  }
}

function sum(amounts: readonly bigint[]): bigint {
  return amounts.reduce((all, nano) => all + nano, 0n)
}
