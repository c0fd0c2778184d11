// Detects data that a store has lost, by comparing it with its marker.
import { StoreError } from "../contract.ts"
import { type ChainMarks, chainText } from "./ledger/journal-chain.ts"
import { markerPath, type StorePosition, type WrittenMarker } from "./store-marker.ts"

interface KnownMarker {
  /** The path of the database. */
  readonly path: string
  readonly known: WrittenMarker | "unreadable"
}

interface MarkerComparison extends KnownMarker {
  readonly position: StorePosition
  readonly chains: Pick<ChainMarks, "after">
}

/** Undefined if the store was empty. */
export function describeMissingDatabase({ path, known }: KnownMarker): string | undefined {
  if (known !== "unreadable" && known.entry === 0 && known.changes === 0) return undefined
  const had =
    known === "unreadable"
      ? "There was one: it has a marker."
      : `It had ${pluralize(known.entry, "ledger entry", "ledger entries")} when its marker was written, at ${known.at}.`
  return `The store ${path} is missing or empty. ${had}`
}

/** Undefined if everything that the marker records is there. */
export function describeLoss({ path, known, position, chains }: MarkerComparison): string | undefined {
  const marker = markerPath(path)
  if (known === "unreadable")
    return `The marker ${marker} cannot be read, so that a loss of the store ${path} would not show.`
  const { entry, chain, changes, at } = known
  const entries = entry - position.entry
  if (entries > 0) {
    const lost = pluralize(entries, "ledger entry", "ledger entries")
    return `The store ${path} lacks the last ${lost} of ${entry}, written before ${at}.`
  }
  const found = chains.after(entry)
  if (found !== undefined && chainText(found) !== chain)
    return `The store ${path} is not the one that ${marker} was written for: its first ${entry} ledger entries are others.`
  const less = changes - position.changes
  if (less <= 0) return undefined
  return `The store ${path} lacks the last ${pluralize(less, "change", "changes")} to keys, tenants or credentials, made before ${at}.`
}

export function refuseLoss(what: string): never {
  const putBack = "Put back the files that belong together: the database, its -wal and its -marker."
  throw new StoreError(`${what} ${putBack} To go on without what is missing, start once with --accept-loss.`)
}

function pluralize(count: number, one: string, many: string): string {
  return `${count} ${count === 1 ? one : many}`
}
