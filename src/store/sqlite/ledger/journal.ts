// The journal's row format. The entries of a transaction are one row, in booking order, with common members written
// once: two such rows fit one page of the file.
import type { EntryAmounts, EntryKind, EntryRow, UseCounts } from "../../contract.ts"

export type NanoValue = number | string
/** The paid amount if nothing else was moved, else all amounts; debt only if there is any. */
type AmountsValue = NanoValue | readonly NanoValue[]

/** The members that most entries of a moment share. */
type EntryContext = readonly [
  kind: EntryKind,
  tenant: string | null,
  day: number,
  accountId: number,
  protocol: string | null,
  /** Null if nothing was used. */
  model: string | null,
  provider: string | null,
  priceVersion: string | null,
]

type EntryValue = readonly [
  circumstance: number,
  /** The request or event, without the stem. */
  cause: string,
  key: number | null,
  /** Age relative to its row. */
  ageMs: number,
  amounts: AmountsValue,
  held: NanoValue | null,
  /** In the order of COUNTS, up to the last known one. */
  counts: readonly (number | null | undefined)[] | null,
]

type JournalValue = readonly [
  circumstances: readonly EntryContext[],
  keys: readonly string[],
  /** The common prefix of all causes: request ids sort by time. */
  stem: string,
  entries: readonly EntryValue[],
]

/** The columns of a row that describe its entries. */
export interface JournalRow {
  /** The time of its last entry. */
  readonly at: bigint
  readonly entries: string
}

/** Counts, the most frequent first. */
const COUNTS = [
  ...(["input", "output", "cacheRead", "reasoning", "audioInput", "audioOutput", "cacheWrite"] as const),
  ...(["cacheWrite1h", "imageInput", "imageOutput", "images"] as const),
]

/** An amount that JSON represents exactly. */
export function nanoValue(nano: bigint): NanoValue {
  const value = Number(nano)
  return Number.isSafeInteger(value) ? value : String(nano)
}

export function nanoOf(value: NanoValue): bigint {
  return BigInt(value)
}

/** The text of entries, the last of which was booked at this time. */
export function journalText(entries: readonly EntryRow[], at: number): string {
  const circumstances: EntryContext[] = []
  const keys: string[] = []
  const stem = stemOf(entries)
  const values: EntryValue[] = []
  for (const entry of entries) {
    const { keyId, nano, heldNano, use } = entry
    // A key that calls again after another is written again: a search would take longer.
    if (keyId !== null && keys[keys.length - 1] !== keyId) keys.push(keyId)
    values.push([
      entryContextIndex(entry, circumstances),
      causeOf(entry).slice(stem.length),
      keyId === null ? null : keys.length - 1,
      at - entry.at,
      amountsValue(nano),
      heldNano === null ? null : nanoValue(heldNano),
      use === null ? null : countsValue(use.counts),
    ])
  }
  const value: JournalValue = [circumstances, keys, stem, values]
  return JSON.stringify(value)
}

/** True if it is booked for an event, and not as the end of a request. */
function isOfEvent(kind: EntryKind): boolean {
  return kind === "top-up" || endsSuspense(kind)
}

export function endsSuspense(kind: EntryKind): boolean {
  return kind === "suspense-returned" || kind === "suspense-settled"
}

function causeOf({ requestId, eventId }: EntryRow): string {
  const cause = requestId ?? eventId
  if (cause === null) throw new Error("an entry has a request or an event")
  return cause
}

function stemOf(entries: readonly EntryRow[]): string {
  const [first] = entries
  let stem = first ? causeOf(first) : ""
  for (const entry of entries) {
    const cause = causeOf(entry)
    while (!cause.startsWith(stem)) stem = stem.slice(0, -1)
  }
  return stem
}

/** The index of the entry's context, which is added if it is new. */
function entryContextIndex({ kind, tenant, day, accountId, protocol, use }: EntryRow, known: EntryContext[]): number {
  const model = use === null ? null : use.model
  const provider = use === null ? null : use.provider
  const version = use === null ? null : use.priceVersion
  for (let at = 0; at < known.length; at++) {
    const each = known[at] as EntryContext
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

function amountsValue({ account, funding, revenue, suspense, writeOff, debt }: EntryAmounts): AmountsValue {
  const isPlain = funding === 0n && suspense === 0n && writeOff === 0n && debt === 0n && account + revenue === 0n
  if (isPlain) return nanoValue(revenue)
  const usual = [account, funding, revenue, suspense, writeOff]
  return (debt === 0n ? usual : [...usual, debt]).map(nanoValue)
}

function countsValue(counts: UseCounts): (number | undefined)[] {
  const { input, output, cacheRead, reasoning, audioInput, audioOutput } = counts
  const { cacheWrite, cacheWrite1h, imageInput, imageOutput, images } = counts
  const often = [input, output, cacheRead, reasoning, audioInput, audioOutput]
  const seldom = cacheWrite ?? cacheWrite1h ?? imageInput ?? imageOutput ?? images
  const values = seldom === undefined ? often : [...often, cacheWrite, cacheWrite1h, imageInput, imageOutput, images]
  while (values.length > 0 && values[values.length - 1] === undefined) values.pop()
  return values
}

function countsOf(values: NonNullable<EntryValue[6]>): UseCounts {
  const counts: Record<string, number> = {}
  values.forEach((value, at) => {
    const name = COUNTS[at]
    if (name !== undefined && typeof value === "number") counts[name] = value
  })
  return counts
}

export function entriesOf({ at, entries }: JournalRow): EntryRow[] {
  const row = JSON.parse(entries) as JournalValue
  return row[3].map((value) => entryOf(value, { row, rowAt: Number(at) }))
}

function entryOf(
  [circumstance, tip, key, ageMs, amounts, held, counts]: EntryValue,
  { row: [circumstances, keys, stem], rowAt }: { readonly row: JournalValue; readonly rowAt: number },
): EntryRow {
  const [kind, tenant, day, accountId, protocol, model, provider, priceVersion] = circumstances[
    circumstance
  ] as EntryContext
  const cause = stem + tip
  const [requestId, eventId] = isOfEvent(kind) ? [null, cause] : [cause, null]
  const keyId = key === null ? null : (keys[key] ?? null)
  const use =
    model === null || provider === null ? null : { model, provider, counts: countsOf(counts ?? []), priceVersion }
  const heldNano = held === null ? null : nanoOf(held)
  const [at, nano] = [rowAt - ageMs, amountsOf(amounts)]
  return { kind, requestId, eventId, tenant, keyId, day, at, accountId, nano, heldNano, protocol, use }
}

function amountsOf(amounts: AmountsValue): EntryAmounts {
  if (typeof amounts !== "object") {
    const paidNano = nanoOf(amounts)
    return { account: -paidNano, funding: 0n, revenue: paidNano, suspense: 0n, writeOff: 0n, debt: 0n }
  }
  const [account = 0n, funding = 0n, revenue = 0n, suspense = 0n, writeOff = 0n, debt = 0n] = amounts.map(nanoOf)
  return { account, funding, revenue, suspense, writeOff, debt }
}
