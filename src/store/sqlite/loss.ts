// What a store has lost, by what its marker knows of it.
import { StoreError } from "../contract.ts"
import { type ChainMarks, chainText } from "./ledger-chain.ts"
import { markerPath, type StorePosition, type WrittenMarker } from "./marker.ts"

interface Known {
  /** Of the database. */
  readonly path: string
  readonly known: WrittenMarker | "unreadable"
}

interface Compared extends Known {
  readonly position: StorePosition
  readonly chains: Pick<ChainMarks, "after">
}

/** Undefined where there was nothing in it. */
export function lostDatabase({ path, known }: Known): string | undefined {
  if (known !== "unreadable" && known.entry === 0 && known.changes === 0) return undefined
  const had =
    known === "unreadable"
      ? "There was one: it has a marker."
      : `It had ${counted(known.entry, "ledger entry", "ledger entries")} when its marker was written, at ${known.at}.`
  return `The store ${path} is missing or empty. ${had}`
}

/** Undefined where everything is there that the marker knows of. */
export function lossOf({ path, known, position, chains }: Compared): string | undefined {
  const marker = markerPath(path)
  if (known === "unreadable")
    return `The marker ${marker} cannot be read, so that a loss of the store ${path} would not show.`
  const { entry, chain, changes, at } = known
  const entries = entry - position.entry
  if (entries > 0) {
    const lost = counted(entries, "ledger entry", "ledger entries")
    return `The store ${path} lacks the last ${lost} of ${entry}, written before ${at}.`
  }
  const found = chains.after(entry)
  if (found !== undefined && chainText(found) !== chain)
    return `The store ${path} is not the one that ${marker} was written for: its first ${entry} ledger entries are others.`
  const less = changes - position.changes
  if (less <= 0) return undefined
  return `The store ${path} lacks the last ${counted(less, "change", "changes")} to keys, tenants or credentials, made before ${at}.`
}

export function refuseLoss(what: string): never {
  const putBack = "Put back the files that belong together: the database, its -wal and its -marker."
  throw new StoreError(`${what} ${putBack} To go on without what is missing, start once with --accept-loss.`)
}

function counted(count: number, one: string, many: string): string {
  return `${count} ${count === 1 ? one : many}`
}
