// Entries as the journal has them: an array of JSON for each, in the order in which they were booked.
import type { EntryAmounts, EntryKind, EntryRow, UseCounts } from "../contract.ts"

type NanoValue = number | string
type UseValue = readonly [model: string, provider: string, counts: UseCounts, priceVersion: string | null]
/** What was paid, where nothing else was moved, or all five amounts. */
type AmountsValue = NanoValue | readonly NanoValue[]
type EntryValue = readonly [
  kind: EntryKind,
  /** The request, or the event. */
  cause: string | null,
  tenant: string | null,
  keyId: string | null,
  day: number,
  at: number,
  accountId: number,
  amounts: AmountsValue,
  use: UseValue | null,
]

/** An amount as JSON has it exactly. */
export function nanoValue(nano: bigint): NanoValue {
  const value = Number(nano)
  return Number.isSafeInteger(value) ? value : String(nano)
}

export function nanoOf(value: NanoValue): bigint {
  return BigInt(value)
}

/** What stands among the facts for an entry that has none. */
export const NO_FACTS = "null"

export function journalText(entries: readonly EntryRow[]): string {
  return JSON.stringify(entries.map(entryValue))
}

function entryValue(entry: EntryRow): EntryValue {
  const { kind, requestId, eventId, tenant, keyId, day, at, accountId, nano, use } = entry
  const used = use && ([use.model, use.provider, use.counts, use.priceVersion] as const)
  return [kind, requestId ?? eventId, tenant, keyId, day, at, accountId, amountsValue(nano), used]
}

function amountsValue({ account, funding, revenue, suspense, writeOff }: EntryAmounts): AmountsValue {
  const isPlain = funding === 0n && suspense === 0n && writeOff === 0n && account + revenue === 0n
  if (isPlain) return nanoValue(revenue)
  return [account, funding, revenue, suspense, writeOff].map(nanoValue)
}

export function entriesOf(text: string): EntryRow[] {
  return JSON.parse(text).map(entryOf)
}

function entryOf([kind, cause, tenant, keyId, day, at, accountId, amounts, used]: EntryValue): EntryRow {
  const [requestId, eventId] = kind === "top-up" ? [null, cause] : [cause, null]
  const nano = amountsOf(amounts)
  const use = used && { model: used[0], provider: used[1], counts: used[2], priceVersion: used[3] }
  return { kind, requestId, eventId, tenant, keyId, day, at, accountId, nano, use }
}

function amountsOf(amounts: AmountsValue): EntryAmounts {
  if (typeof amounts !== "object") {
    const paidNano = nanoOf(amounts)
    return { account: -paidNano, funding: 0n, revenue: paidNano, suspense: 0n, writeOff: 0n }
  }
  const [account = 0n, funding = 0n, revenue = 0n, suspense = 0n, writeOff = 0n] = amounts.map(nanoOf)
  return { account, funding, revenue, suspense, writeOff }
}
