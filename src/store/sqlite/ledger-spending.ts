// What keys and tenants have paid and hold, for the windows that budgets ask about. A window that was asked for is kept
// and moved along, so that a budget costs no query; any other is summed from what was folded, the tails and the holds.
import { type Days, type EntryRow, spentNano } from "../contract.ts"
import type { Holds } from "./ledger-holds.ts"
import { paidOf, plain } from "./ledger-lines.ts"
import { Recent } from "./ledger-recent.ts"
import type { Runs } from "./ledger-runs.ts"
import type { Tail, Tails } from "./ledger-tail.ts"

interface Window extends Days {
  nano: bigint
}

interface Sources {
  readonly runs: Runs
  readonly tails: Tails
  readonly holds: Pick<Holds, "all" | "hasLaterThan">
  /** What the transaction has booked so far. */
  readonly unwritten: () => Iterable<EntryRow>
}

type Spender = Pick<EntryRow, "keyId" | "tenant" | "day">

/** What was asked of a key or a tenant so far. */
interface Asked {
  readonly windows: Window[]
  /** The last day, from `since` on, on which it has spent anything; undefined where there is none. */
  last: { since: number; day: number | undefined } | undefined
}

const EVER: Days = { from: Number.NEGATIVE_INFINITY, to: Number.POSITIVE_INFINITY }
const MOST_SPENDERS = 65_536
/** Of one spender: one for each of its budgets, and those of the periods before. */
const MOST_WINDOWS = 8

export class Spending {
  private readonly keys = new Recent<Asked>(MOST_SPENDERS)
  private readonly tenants = new Recent<Asked>(MOST_SPENDERS)

  constructor(private readonly sources: Sources) {}

  ofKey(keyId: string, days: Days = EVER): bigint {
    const { windows } = askedOf(this.keys, keyId)
    return known(windows, days) ?? this.ask(windows, { days, sum: () => this.paidAndHeldByKey(keyId, days) })
  }

  ofTenant(tenant: string, days: Days = EVER): bigint {
    const { windows } = askedOf(this.tenants, tenant)
    return known(windows, days) ?? this.ask(windows, { days, sum: () => this.paidAndHeldByTenant(tenant, days) })
  }

  /** The day given, or a later one that the key or its tenant has spent or held anything on: a clock may be set back. */
  latestDay({ keyId, tenant }: { readonly keyId: string; readonly tenant: string }, day: number): number {
    const ofKey = askedOf(this.keys, keyId)
    const ofTenant = askedOf(this.tenants, tenant)
    if (!isKnownFrom(ofKey, day)) ofKey.last = { since: day, day: this.lastDayOfKey(keyId, day) }
    if (!isKnownFrom(ofTenant, day)) ofTenant.last = { since: day, day: this.lastDayOfTenant(tenant, day) }
    const spent = Math.max(day, ofKey.last?.day ?? day, ofTenant.last?.day ?? day)
    const { holds } = this.sources
    if (!holds.hasLaterThan(spent)) return spent
    const held = [...holds.all()].filter((hold) => hold.keyId === keyId || hold.tenant === tenant)
    return held.reduce((latest, hold) => Math.max(latest, hold.day), spent)
  }

  /** Whether anybody has asked for anything yet. */
  get isAsked(): boolean {
    return this.keys.size > 0 || this.tenants.size > 0
  }

  /** Adds to what a key, and its tenant, have paid or hold. */
  add({ keyId, tenant, day }: Spender, nano: bigint): void {
    if (keyId !== null) move(this.keys.get(keyId), { day, nano })
    if (tenant !== null) move(this.tenants.get(tenant), { day, nano })
  }

  /** Something was spent on a day. */
  noteDay({ keyId, tenant, day }: Spender): void {
    if (keyId !== null) raise(this.keys.get(keyId), day)
    if (tenant !== null) raise(this.tenants.get(tenant), day)
  }

  trim(): void {
    this.keys.trim()
    this.tenants.trim()
  }

  forget(): void {
    this.keys.clear()
    this.tenants.clear()
  }

  private ask(
    windows: Window[],
    { days: { from, to }, sum }: { readonly days: Days; readonly sum: () => bigint },
  ): bigint {
    const nano = sum()
    if (windows.length === MOST_WINDOWS) windows.shift()
    windows.push({ from, to, nano })
    return nano
  }

  private lastDayOfKey(keyId: string, day: number): number | undefined {
    const isOf = (spender: Spender) => spender.keyId === keyId
    return this.lastDayFrom(day, { holder: `key:${keyId}`, isOf, byTail: (tail) => tail.daysOfKey(keyId) })
  }

  private lastDayOfTenant(tenant: string, day: number): number | undefined {
    const isOf = (spender: Spender) => spender.tenant === tenant
    return this.lastDayFrom(day, { holder: `tenant:${tenant}`, isOf, byTail: (tail) => tail.daysOfTenant(tenant) })
  }

  private lastDayFrom(day: number, { holder, isOf, byTail }: DaySearch): number | undefined {
    const { runs, tails, unwritten } = this.sources
    const days: number[] = []
    for (const tail of tails.all()) days.push(...byTail(tail))
    for (const entry of unwritten()) if (entry.use !== null && isOf(entry)) days.push(entry.day)
    const place = `${plain(holder)}\t`
    for (let month = runs.partFrom(monthOf(day)); month !== undefined; month = runs.partFrom(month + 1))
      for (const line of runs.beginning(month, place))
        days.push(Number(line.slice(place.length, line.lastIndexOf("\t"))))
    const last = days.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY)
    return last < day ? undefined : last
  }

  private paidAndHeldByKey(keyId: string, days: Days): bigint {
    const holder = `key:${keyId}`
    const paid = this.paid(holder, { days, byTail: (tail) => tail.paidByKey(keyId, days) })
    return paid + this.unsettled(days, (spender) => spender.keyId === keyId)
  }

  private paidAndHeldByTenant(tenant: string, days: Days): bigint {
    const holder = `tenant:${tenant}`
    const paid = this.paid(holder, { days, byTail: (tail) => tail.paidByTenant(tenant, days) })
    return paid + this.unsettled(days, (spender) => spender.tenant === tenant)
  }

  private paid(holder: string, { days, byTail }: { readonly days: Days; byTail(tail: Tail): bigint }): bigint {
    const { runs, tails } = this.sources
    let nano = 0n
    for (const tail of tails.all()) nano += byTail(tail)
    const place = `${plain(holder)}\t`
    const [first, last] = days === EVER ? [0, days.to] : [monthOf(days.from), monthOf(days.to)]
    for (let month = runs.partFrom(first); month !== undefined && month <= last; month = runs.partFrom(month + 1))
      for (const line of runs.beginning(month, place)) {
        const day = Number(line.slice(place.length, line.lastIndexOf("\t")))
        if (day >= days.from && day <= days.to) nano += paidOf(line)
      }
    return nano
  }

  /** What the transaction has booked so far, and what is held. */
  private unsettled({ from, to }: Days, isOf: (spender: Spender) => boolean): bigint {
    const { holds, unwritten } = this.sources
    const counts = (spender: Spender) => spender.day >= from && spender.day <= to && isOf(spender)
    let nano = 0n
    for (const entry of unwritten()) if (counts(entry)) nano += spentNano(entry.nano)
    for (const hold of holds.all()) if (counts(hold)) nano += hold.amountNano
    return nano
  }
}

/** Where a key's or a tenant's days are looked for. */
interface DaySearch {
  readonly holder: string
  readonly isOf: (spender: Spender) => boolean
  readonly byTail: (tail: Tail) => Iterable<number>
}

function askedOf(spenders: Recent<Asked>, name: string): Asked {
  const asked = spenders.get(name)
  if (asked) return asked
  const none: Asked = { windows: [], last: undefined }
  spenders.set(name, none)
  return none
}

function known(windows: readonly Window[], { from, to }: Days): bigint | undefined {
  for (const window of windows) if (window.from === from && window.to === to) return window.nano
  return undefined
}

function move(asked: Asked | undefined, { day, nano }: { readonly day: number; readonly nano: bigint }): void {
  if (!asked) return
  for (const window of asked.windows) if (day >= window.from && day <= window.to) window.nano += nano
}

/** Whether what is known of its last day holds from this one on. */
function isKnownFrom({ last }: Asked, day: number): boolean {
  return last !== undefined && (last.since <= day || last.day !== undefined)
}

function raise(asked: Asked | undefined, day: number): void {
  const last = asked?.last
  if (last && day >= last.since && day > (last.day ?? Number.NEGATIVE_INFINITY)) last.day = day
}

const DAY_MS = 86_400_000

let lastAsked = { day: Number.NaN, month: Number.NaN }

/** The months since the year 0: the parts that spending is kept in. */
export function monthOf(day: number): number {
  if (day !== lastAsked.day) {
    const date = new Date(day * DAY_MS)
    lastAsked = { day, month: date.getUTCFullYear() * 12 + date.getUTCMonth() }
  }
  return lastAsked.month
}
