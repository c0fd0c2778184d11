// Entries as the journal has them. The entries of a transaction are one row: what they were booked under, each
// circumstance once, then the entries in the order in which they were booked.
import type { EntryAmounts, EntryKind, EntryRow, UseCounts } from "../contract.ts"

type NanoValue = number | string
/** What was paid, where nothing else was moved, or all five amounts. */
type AmountsValue = NanoValue | readonly NanoValue[]

/** What most entries of a moment have in common. */
type Circumstance = readonly [
  kind: EntryKind,
  tenant: string | null,
  day: number,
  accountId: number,
  protocol: string | null,
  /** Null where nothing was used. */
  model: string | null,
  provider: string | null,
  priceVersion: string | null,
]

type EntryValue = readonly [
  circumstance: number,
  /** The request, or the event. */
  cause: string | null,
  keyId: string | null,
  at: number,
  amounts: AmountsValue,
  held: NanoValue | null,
  counts: UseCounts | null,
]

type JournalValue = readonly [circumstances: readonly Circumstance[], entries: readonly EntryValue[]]

/** An amount as JSON has it exactly. */
export function nanoValue(nano: bigint): NanoValue {
  const value = Number(nano)
  return Number.isSafeInteger(value) ? value : String(nano)
}

export function nanoOf(value: NanoValue): bigint {
  return BigInt(value)
}

export function journalText(entries: readonly EntryRow[]): string {
  const circumstances: Circumstance[] = []
  const values: EntryValue[] = []
  for (const entry of entries) {
    const { requestId, eventId, keyId, at, nano, heldNano, use } = entry
    const held = heldNano === null ? null : nanoValue(heldNano)
    const counts = use === null ? null : use.counts
    values.push([
      circumstanceOf(entry, circumstances),
      requestId ?? eventId,
      keyId,
      at,
      amountsValue(nano),
      held,
      counts,
    ])
  }
  const value: JournalValue = [circumstances, values]
  return JSON.stringify(value)
}

/** The number of the entry's circumstance, which is added where there is none like it. */
function circumstanceOf({ kind, tenant, day, accountId, protocol, use }: EntryRow, known: Circumstance[]): number {
  const model = use === null ? null : use.model
  const provider = use === null ? null : use.provider
  const version = use === null ? null : use.priceVersion
  for (let at = 0; at < known.length; at++) {
    const each = known[at] as Circumstance
    const isSame =
      each[3] === accountId &&
      each[5] === model &&
      each[7] === version &&
      each[0] === kind &&
      each[1] === tenant &&
      each[2] === day &&
      each[4] === protocol &&
      each[6] === provider
    if (isSame) return at
  }
  return known.push([kind, tenant, day, accountId, protocol, model, provider, version]) - 1
}

function amountsValue({ account, funding, revenue, suspense, writeOff }: EntryAmounts): AmountsValue {
  const isPlain = funding === 0n && suspense === 0n && writeOff === 0n && account + revenue === 0n
  if (isPlain) return nanoValue(revenue)
  return [account, funding, revenue, suspense, writeOff].map(nanoValue)
}

export function entriesOf(text: string): EntryRow[] {
  const [circumstances, entries] = JSON.parse(text) as JournalValue
  return entries.map((value) => entryOf(value, circumstances[value[0]] as Circumstance))
}

function entryOf([, cause, keyId, at, amounts, held, counts]: EntryValue, circumstance: Circumstance): EntryRow {
  const [kind, tenant, day, accountId, protocol, model, provider, priceVersion] = circumstance
  const [requestId, eventId] = kind === "top-up" ? [null, cause] : [cause, null]
  const use = model === null || provider === null ? null : { model, provider, counts: counts ?? {}, priceVersion }
  const heldNano = held === null ? null : nanoOf(held)
  const nano = amountsOf(amounts)
  return { kind, requestId, eventId, tenant, keyId, day, at, accountId, nano, heldNano, protocol, use }
}

function amountsOf(amounts: AmountsValue): EntryAmounts {
  if (typeof amounts !== "object") {
    const paidNano = nanoOf(amounts)
    return { account: -paidNano, funding: 0n, revenue: paidNano, suspense: 0n, writeOff: 0n }
  }
  const [account = 0n, funding = 0n, revenue = 0n, suspense = 0n, writeOff = 0n] = amounts.map(nanoOf)
  return { account, funding, revenue, suspense, writeOff }
}
