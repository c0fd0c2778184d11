// Payments and holds of keys and tenants, for the windows of budgets. A window that was read stays in memory and is
// kept up to date, so that a budget costs no query; any other is summed from the runs, the memtables and the holds.
import { type DayRange, type EntryRow, spentNano } from "../../contract.ts"
import { LedgerCache } from "./ledger-cache.ts"
import type { Memtable, MemtablePair } from "./memtable.ts"
import type { OpenHolds } from "./open-holds.ts"
import { escapeName, paidOf } from "./runs/run-lines.ts"
import type { SortedRuns } from "./runs/sorted-runs.ts"

interface SpendWindow extends DayRange {
  nano: bigint
}

interface SpendSources {
  readonly runs: SortedRuns
  readonly memtables: MemtablePair
  readonly holds: Pick<OpenHolds, "all" | "hasLaterThan">
  /** The entries of the current transaction. */
  readonly unwritten: () => Iterable<EntryRow>
}

type EntrySpender = Pick<EntryRow, "keyId" | "tenant" | "day">

/** The windows read so far for a key or tenant. */
interface SpenderWindows {
  readonly windows: SpendWindow[]
  /** The last day, from `since` on, with spending; undefined if there is none. */
  last: { since: number; day: number | undefined } | undefined
}

const EVER: DayRange = { from: Number.NEGATIVE_INFINITY, to: Number.POSITIVE_INFINITY }
const MAX_SPENDERS = 65_536
/** Windows per spender: one for each of its budgets, and those of the previous periods. */
const MAX_WINDOWS = 8

export class SpendTotals {
  private readonly keys = new LedgerCache<SpenderWindows>(MAX_SPENDERS)
  private readonly tenants = new LedgerCache<SpenderWindows>(MAX_SPENDERS)

  constructor(private readonly sources: SpendSources) {}

  ofKey(keyId: string, days: DayRange = EVER): bigint {
    const { windows } = windowsOf(this.keys, keyId)
    return (
      findWindowSum(windows, days) ?? this.sumWindow(windows, { days, sum: () => this.paidAndHeldByKey(keyId, days) })
    )
  }

  ofTenant(tenant: string, days: DayRange = EVER): bigint {
    const { windows } = windowsOf(this.tenants, tenant)
    return (
      findWindowSum(windows, days) ??
      this.sumWindow(windows, { days, sum: () => this.paidAndHeldByTenant(tenant, days) })
    )
  }

  /** The given day, or a later one on which the key or its tenant has spending or holds: a clock may be set back. */
  latestDay({ keyId, tenant }: { readonly keyId: string; readonly tenant: string }, day: number): number {
    const ofKey = windowsOf(this.keys, keyId)
    const ofTenant = windowsOf(this.tenants, tenant)
    if (!isKnownFrom(ofKey, day)) ofKey.last = { since: day, day: this.lastDayOfKey(keyId, day) }
    if (!isKnownFrom(ofTenant, day)) ofTenant.last = { since: day, day: this.lastDayOfTenant(tenant, day) }
    const spent = Math.max(day, ofKey.last?.day ?? day, ofTenant.last?.day ?? day)
    const { holds } = this.sources
    if (!holds.hasLaterThan(spent)) return spent
    const held = [...holds.all()].filter((hold) => hold.keyId === keyId || hold.tenant === tenant)
    return held.reduce((latest, hold) => Math.max(latest, hold.day), spent)
  }

  /** False if no window was read yet. */
  get isTracking(): boolean {
    return this.keys.size > 0 || this.tenants.size > 0
  }

  /** Adds to the payments or holds of a key and its tenant. */
  add({ keyId, tenant, day }: EntrySpender, nano: bigint): void {
    if (keyId !== null) addToWindows(this.keys.get(keyId), { day, nano })
    if (tenant !== null) addToWindows(this.tenants.get(tenant), { day, nano })
  }

  /** Records spending on a day. */
  noteDay({ keyId, tenant, day }: EntrySpender): void {
    if (keyId !== null) raiseLastDay(this.keys.get(keyId), day)
    if (tenant !== null) raiseLastDay(this.tenants.get(tenant), day)
  }

  trim(): void {
    this.keys.trim()
    this.tenants.trim()
  }

  forget(): void {
    this.keys.clear()
    this.tenants.clear()
  }

  private sumWindow(
    windows: SpendWindow[],
    { days: { from, to }, sum }: { readonly days: DayRange; readonly sum: () => bigint },
  ): bigint {
    const nano = sum()
    if (windows.length === MAX_WINDOWS) windows.shift()
    windows.push({ from, to, nano })
    return nano
  }

  private lastDayOfKey(keyId: string, day: number): number | undefined {
    const isOf = (spender: EntrySpender) => spender.keyId === keyId
    return this.lastDayFrom(day, { holder: `key:${keyId}`, isOf, inMemtable: (memtable) => memtable.daysOfKey(keyId) })
  }

  private lastDayOfTenant(tenant: string, day: number): number | undefined {
    const isOf = (spender: EntrySpender) => spender.tenant === tenant
    return this.lastDayFrom(day, {
      holder: `tenant:${tenant}`,
      isOf,
      inMemtable: (memtable) => memtable.daysOfTenant(tenant),
    })
  }

  private lastDayFrom(day: number, { holder, isOf, inMemtable }: DaySearch): number | undefined {
    const { runs, memtables, unwritten } = this.sources
    const days: number[] = []
    for (const memtable of memtables.all()) days.push(...inMemtable(memtable))
    for (const entry of unwritten()) if (entry.use !== null && isOf(entry)) days.push(entry.day)
    const prefix = `${escapeName(holder)}\t`
    for (let month = runs.partFrom(monthOf(day)); month !== undefined; month = runs.partFrom(month + 1))
      for (const line of runs.linesWithPrefix(month, prefix))
        days.push(Number(line.slice(prefix.length, line.lastIndexOf("\t"))))
    const last = days.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY)
    return last < day ? undefined : last
  }

  private paidAndHeldByKey(keyId: string, days: DayRange): bigint {
    const holder = `key:${keyId}`
    const paid = this.paid(holder, { days, byMemtable: (memtable) => memtable.paidByKey(keyId, days) })
    return paid + this.unsettled(days, (spender) => spender.keyId === keyId)
  }

  private paidAndHeldByTenant(tenant: string, days: DayRange): bigint {
    const holder = `tenant:${tenant}`
    const paid = this.paid(holder, { days, byMemtable: (memtable) => memtable.paidByTenant(tenant, days) })
    return paid + this.unsettled(days, (spender) => spender.tenant === tenant)
  }

  private paid(
    holder: string,
    { days, byMemtable }: { readonly days: DayRange; byMemtable(memtable: Memtable): bigint },
  ): bigint {
    const { runs, memtables } = this.sources
    let nano = 0n
    for (const memtable of memtables.all()) nano += byMemtable(memtable)
    const prefix = `${escapeName(holder)}\t`
    const [first, last] = days === EVER ? [0, days.to] : [monthOf(days.from), monthOf(days.to)]
    for (let month = runs.partFrom(first); month !== undefined && month <= last; month = runs.partFrom(month + 1))
      for (const line of runs.linesWithPrefix(month, prefix)) {
        const day = Number(line.slice(prefix.length, line.lastIndexOf("\t")))
        if (day >= days.from && day <= days.to) nano += paidOf(line)
      }
    return nano
  }

  /** The entries of the current transaction, and the holds. */
  private unsettled({ from, to }: DayRange, isOf: (spender: EntrySpender) => boolean): bigint {
    const { holds, unwritten } = this.sources
    const counts = (spender: EntrySpender) => spender.day >= from && spender.day <= to && isOf(spender)
    let nano = 0n
    for (const entry of unwritten()) if (counts(entry)) nano += spentNano(entry.nano)
    for (const hold of holds.all()) if (counts(hold)) nano += hold.amountNano
    return nano
  }
}

/** A search for the days of a key or tenant. */
interface DaySearch {
  readonly holder: string
  readonly isOf: (spender: EntrySpender) => boolean
  readonly inMemtable: (memtable: Memtable) => Iterable<number>
}

function windowsOf(spenders: LedgerCache<SpenderWindows>, name: string): SpenderWindows {
  const known = spenders.get(name)
  if (known) return known
  const none: SpenderWindows = { windows: [], last: undefined }
  spenders.set(name, none)
  return none
}

function findWindowSum(windows: readonly SpendWindow[], { from, to }: DayRange): bigint | undefined {
  for (const window of windows) if (window.from === from && window.to === to) return window.nano
  return undefined
}

function addToWindows(
  spender: SpenderWindows | undefined,
  { day, nano }: { readonly day: number; readonly nano: bigint },
): void {
  if (!spender) return
  for (const window of spender.windows) if (day >= window.from && day <= window.to) window.nano += nano
}

/** True if the known last day is valid from this day on. */
function isKnownFrom({ last }: SpenderWindows, day: number): boolean {
  return last !== undefined && (last.since <= day || last.day !== undefined)
}

function raiseLastDay(spender: SpenderWindows | undefined, day: number): void {
  const last = spender?.last
  if (last && day >= last.since && day > (last.day ?? Number.NEGATIVE_INFINITY)) last.day = day
}

const DAY_MS = 86_400_000

let cachedMonth = { day: Number.NaN, month: Number.NaN }

/** The months since the year 0: the parts of the spending totals. */
export function monthOf(day: number): number {
  if (day !== cachedMonth.day) {
    const date = new Date(day * DAY_MS)
    cachedMonth = { day, month: date.getUTCFullYear() * 12 + date.getUTCMonth() }
  }
  return cachedMonth.month
}
