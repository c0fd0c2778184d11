// The entries since the last flush, summed in memory: together with the durable totals they are exact, and they can be
// rebuilt from the journal at any time.
import {
  type DayRange,
  type EntryRow,
  type GatewayAccount,
  spentNano,
  type USE_COUNTS,
  type UseCounts,
} from "../../contract.ts"
import type { EndedRequestGroup } from "./ended-requests.ts"
import { endsSuspense } from "./journal.ts"
import { countsText, usageLineKey } from "./runs/run-lines.ts"

type CountTotals = Record<(typeof USE_COUNTS)[number], number>

/** The usage of one key, model, provider and day. */
export interface UsageSum {
  readonly day: number
  readonly tenant: string
  readonly model: string
  readonly provider: string
  /** The counts of its first request. With very many keys, most have no other. */
  readonly first: UseCounts
  /** The totals from the second request on. */
  sums: CountTotals | undefined
  requests: number
  paidNano: bigint
  /** The next sum of the same key. */
  readonly next: UsageSum | undefined
}

/** The ids of the gateway's own accounts; all other accounts have higher ones. */
export const GATEWAY_ACCOUNT_IDS: Readonly<Record<GatewayAccount, number>> = {
  debt: 0,
  funding: 1,
  revenue: 2,
  suspense: 3,
  "write-off": 4,
}

/** A sum that is changed in place. */
interface NanoSum {
  nano: bigint
}

interface PostedSum extends NanoSum {
  owedNano: bigint
}

export class Memtable {
  entries = 0
  /** Posted sums by account. */
  readonly posted = new Map<number, PostedSum>()
  /** Usage by key. */
  readonly usage = new Map<string, UsageSum>()
  /** Payments by tenant, then by day. */
  readonly tenants = new Map<string, Map<number, NanoSum>>()
  /** The oldest first. */
  readonly ended: EndedRequestGroup[] = []

  /** Adds entries that were booked together: mostly on the same accounts, each of which is then posted once. */
  add(rows: readonly EntryRow[]): void {
    this.entries += rows.length
    let [funding, revenue, suspense, writeOff, debt] = [0n, 0n, 0n, 0n, 0n]
    let run: PostingGroup | undefined
    for (const row of rows) {
      const { nano } = row
      revenue += nano.revenue
      // Adding zero takes as long as adding an amount.
      if (nano.funding !== 0n) funding += nano.funding
      if (nano.suspense !== 0n) suspense += nano.suspense
      if (nano.writeOff !== 0n) writeOff += nano.writeOff
      if (nano.debt !== 0n) debt += nano.debt
      if (run && movesSameSums(run.row, row)) {
        run.nano += nano.account
        if (nano.debt !== 0n) run.debt += nano.debt
      } else {
        if (run) this.postGroup(run)
        run = { row, nano: nano.account, debt: nano.debt }
      }
      this.addUse(row)
    }
    if (run) this.postGroup(run)
    this.post(GATEWAY_ACCOUNT_IDS.funding, funding)
    this.post(GATEWAY_ACCOUNT_IDS.revenue, revenue)
    this.post(GATEWAY_ACCOUNT_IDS.suspense, suspense)
    this.post(GATEWAY_ACCOUNT_IDS["write-off"], writeOff)
    this.post(GATEWAY_ACCOUNT_IDS.debt, debt)
  }

  /** The days with usage. */
  days(): Set<number> {
    const days = new Set<number>()
    for (const paid of this.tenants.values()) for (const day of paid.keys()) days.add(day)
    return days
  }

  *daysOfKey(keyId: string): Generator<number> {
    for (let sum = this.usage.get(keyId); sum; sum = sum.next) yield sum.day
  }

  daysOfTenant(tenant: string): Iterable<number> {
    return this.tenants.get(tenant)?.keys() ?? []
  }

  paidByKey(keyId: string, { from, to }: DayRange): bigint {
    let nano = 0n
    for (let sum = this.usage.get(keyId); sum; sum = sum.next)
      if (sum.day >= from && sum.day <= to) nano += sum.paidNano
    return nano
  }

  paidByTenant(tenant: string, { from, to }: DayRange): bigint {
    let nano = 0n
    for (const [day, paid] of this.tenants.get(tenant) ?? []) if (day >= from && day <= to) nano += paid.nano
    return nano
  }

  /** Posts to the paying account, and adds to its tenant's payments of that day. */
  private postGroup({ row: { accountId, tenant, day, use }, nano, debt }: PostingGroup): void {
    this.post(accountId, nano, -debt)
    if (tenant === null || use === null) return
    const spent = debt === 0n ? -nano : -nano - debt
    const days = this.tenants.get(tenant)
    const sum = days?.get(day)
    if (sum) sum.nano += spent
    else if (days) days.set(day, { nano: spent })
    else this.tenants.set(tenant, new Map([[day, { nano: spent }]]))
  }

  private addUse({ kind, tenant, keyId, day, nano, use }: EntryRow): void {
    if (tenant === null || keyId === null || use === null) return
    const { model, provider, counts } = use
    const next = this.usage.get(keyId)
    for (let sum = next; sum; sum = sum.next) {
      if (sum.day !== day || sum.tenant !== tenant || sum.model !== model || sum.provider !== provider) continue
      if (!endsSuspense(kind)) addCounts(sum, counts)
      sum.paidNano += spentNano(nano)
      return
    }
    const usageKey = { day, tenant, model, provider, first: counts }
    // The end of suspense is not a request: it was counted when it was recovered.
    const requests = endsSuspense(kind) ? 0 : 1
    this.usage.set(keyId, { ...usageKey, sums: undefined, requests, paidNano: spentNano(nano), next })
  }

  private post(accountId: number, nano: bigint, owedNano = 0n): void {
    if (nano === 0n && owedNano === 0n) return
    const sum = this.posted.get(accountId)
    if (!sum) this.posted.set(accountId, { nano, owedNano })
    else {
      sum.nano += nano
      if (owedNano !== 0n) sum.owedNano += owedNano
    }
  }
}

/** The total of similar entries. */
interface PostingGroup {
  readonly row: EntryRow
  nano: bigint
  debt: bigint
}

/** True if both change the same sums except those of their keys. */
function movesSameSums(a: EntryRow, b: EntryRow): boolean {
  return (
    a.accountId === b.accountId && a.tenant === b.tenant && a.day === b.day && (a.use === null) === (b.use === null)
  )
}

function addCounts(sum: UsageSum, counts: UseCounts): void {
  sum.sums ??= { ...NO_COUNTS, ...sum.first }
  const { sums } = sum
  // Written out: a loop over the names takes three times as long.
  sums.input += counts.input ?? 0
  sums.cacheRead += counts.cacheRead ?? 0
  sums.cacheWrite += counts.cacheWrite ?? 0
  sums.cacheWrite1h += counts.cacheWrite1h ?? 0
  sums.audioInput += counts.audioInput ?? 0
  sums.imageInput += counts.imageInput ?? 0
  sums.output += counts.output ?? 0
  sums.reasoning += counts.reasoning ?? 0
  sums.audioOutput += counts.audioOutput ?? 0
  sums.imageOutput += counts.imageOutput ?? 0
  sums.images += counts.images ?? 0
  sum.requests += 1
}

const NO_COUNTS: CountTotals = {
  ...{ input: 0, cacheRead: 0, cacheWrite: 0, cacheWrite1h: 0, audioInput: 0, imageInput: 0 },
  ...{ output: 0, reasoning: 0, audioOutput: 0, imageOutput: 0, images: 0 },
}

export function usageLine(keyId: string, sum: UsageSum): string {
  const { tenant, model, provider, first, sums, requests, paidNano } = sum
  const lineKey = usageLineKey({ tenant, keyId, model, provider })
  return `${lineKey}\t${countsText(sums ?? first)},${requests},${paidNano}`
}

/** The memtable that is being flushed, and the active one. */
export class MemtablePair {
  flushing: Memtable | undefined
  active = new Memtable()

  all(): Memtable[] {
    return this.flushing ? [this.flushing, this.active] : [this.active]
  }

  newestFirst(): Memtable[] {
    return this.all().reverse()
  }

  posted(accountId: number): bigint {
    return (this.flushing?.posted.get(accountId)?.nano ?? 0n) + (this.active.posted.get(accountId)?.nano ?? 0n)
  }

  owed(accountId: number): bigint {
    return (this.flushing?.posted.get(accountId)?.owedNano ?? 0n) + (this.active.posted.get(accountId)?.owedNano ?? 0n)
  }
}
