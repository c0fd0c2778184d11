// Finds the entry that a request ended as. Flushed names are in blocks of lines by time bucket: request ids are UUIDv7,
// so ids created within about a minute share a prefix, which is the bucket. Unflushed names are lines in the memtables.
// A line that begins with a tab is the number of an entry; the lines after it are the requests that ended as that entry
// and the following ones.
import type { Database } from "bun:sqlite"
import type { EntryRow } from "../../contract.ts"
import { escapeName } from "./runs/run-lines.ts"

/** Requests of one time bucket that ended in one transaction, with consecutive entries. */
export interface EndedRequestGroup {
  readonly lines: string
  /** No request of this group, or of any before it, sorts after this name. */
  readonly newest: string
}

const TIME_BUCKET_LENGTH = 8
/** A block and its row fit one page of the file. */
const BLOCK_LENGTH = 3900
/** Requests per group: with usual names, it fits a block. */
const MAX_GROUP_SIZE = 96
/** Groups processed in one step. */
const GROUPS_AT_ONCE = 64

interface EndedBlock {
  lines: string[]
  length: number
  least: string
  greatest: string
}

/** The first and the last name of a block. */
interface BlockExtent {
  readonly id: bigint
  readonly least: string
  readonly greatest: string
}

export class EndedRequests {
  private readonly holding
  private readonly overlapping
  private readonly linesOf
  private readonly newest
  private readonly insert
  private readonly remove
  /** The block of the last hit: the next one is most often there too. */
  private lastFound: string | undefined

  constructor(database: Database) {
    this.holding = database.query<{ lines: string }, [string, string]>(
      `SELECT lines FROM ended_requests WHERE era = ?1 AND least <= ?2 AND greatest >= ?2
         AND run <= (SELECT value FROM ledger_marks WHERE name = 'folded-run')`,
    )
    this.overlapping = database.query<BlockExtent, [string, string, string]>(
      `SELECT rowid AS id, least, greatest FROM ended_requests WHERE era = ?1 AND least <= ?3 AND greatest >= ?2
         AND run <= (SELECT value FROM ledger_marks WHERE name = 'folded-run') ORDER BY rowid DESC`,
    )
    this.linesOf = database.query<{ lines: string }, [bigint]>("SELECT lines FROM ended_requests WHERE rowid = ?1")
    this.newest = database.query<{ name: string | null }, []>(
      "SELECT max(greatest) AS name FROM ended_requests WHERE era = (SELECT max(era) FROM ended_requests)",
    )
    this.insert = database.query("INSERT INTO ended_requests VALUES (?1, ?2, ?3, ?4, ?5)")
    this.remove = database.query("DELETE FROM ended_requests WHERE era = ?1 AND run = ?2")
  }

  /** The flushed entry of a request. */
  entryOf(request: string): number | undefined {
    const name = escapeName(request)
    const near = this.lastFound === undefined ? undefined : findEntryIn(this.lastFound, name)
    return near ?? this.search(name)
  }

  /** The flushed ones among these names; reads the blocks of a time bucket once, the newest first. */
  *among(names: Iterable<string>): Generator<string> {
    const timeBuckets = new Map<string, Set<string>>()
    for (const name of names) {
      const timeBucket = timeBucketOf(name)
      const known = timeBuckets.get(timeBucket)
      if (known) known.add(name)
      else timeBuckets.set(timeBucket, new Set([name]))
    }
    for (const [timeBucket, wanted] of timeBuckets) yield* this.amongTimeBucket(timeBucket, wanted)
  }

  /** No flushed name sorts after it. */
  last(): string {
    return this.newest.get()?.name ?? ""
  }

  /** Writes ended requests as part of a flush, in the order of the entries. */
  *writeSteps(groups: readonly EndedRequestGroup[], run: number): Generator<void, void> {
    const blocks = new Map<string, EndedBlock>()
    for (let at = 0; at < groups.length; at++) {
      this.add(blocks, { lines: (groups[at] as EndedRequestGroup).lines, run })
      if (at % GROUPS_AT_ONCE === 0) yield
    }
    for (const [timeBucket, block] of blocks) yield this.write(block, { timeBucket, run })
  }

  private *amongTimeBucket(timeBucket: string, wanted: Set<string>): Generator<string> {
    const sorted = [...wanted].sort()
    const [first = "", last = ""] = [sorted[0], sorted.at(-1)]
    for (const { id, least, greatest } of this.overlapping.all(timeBucket, first, last)) {
      if ((sorted[lowerBound(sorted, least)] ?? greatest) > greatest) continue
      for (const name of this.linesOf.get(id)?.lines.split("\n") ?? []) if (wanted.delete(name)) yield name
      if (wanted.size === 0) return
    }
  }

  private add(blocks: Map<string, EndedBlock>, { lines, run }: { readonly lines: string; readonly run: number }): void {
    const [, ...names] = lines.split("\n")
    const timeBucket = timeBucketOf(names[0] ?? "")
    let block = blocks.get(timeBucket)
    // Rows of an interrupted flush with the same number do not count.
    if (!block) this.remove.run(timeBucket, run)
    if (!block || block.length + lines.length > BLOCK_LENGTH) {
      if (block) this.write(block, { timeBucket, run })
      block = { lines: [], length: 0, least: names[0] ?? "", greatest: "" }
      blocks.set(timeBucket, block)
    }
    block.lines.push(lines)
    block.length += lines.length + 1
    for (const name of names) {
      if (name > block.greatest) block.greatest = name
      if (name < block.least) block.least = name
    }
  }

  private write(
    { least, greatest, lines }: EndedBlock,
    { timeBucket, run }: { readonly timeBucket: string; readonly run: number },
  ): void {
    this.insert.run(timeBucket, run, least, greatest, lines.join("\n"))
  }

  private search(name: string): number | undefined {
    for (const { lines } of this.holding.all(timeBucketOf(name), name)) {
      const entry = findEntryIn(lines, name)
      if (entry === undefined) continue
      this.lastFound = lines
      return entry
    }
    return undefined
  }
}

/** Groups the requests of entries that were booked together, the first of them with this number. */
export function groupEndedRequests(
  entries: readonly EntryRow[],
  { first, newest }: { readonly first: number; readonly newest: string },
): EndedRequestGroup[] {
  const groups: EndedRequestGroup[] = []
  let lines: string[] = []
  let timeBucket = ""
  const close = () => {
    // A joined string is flat; a concatenated one would retain its parts.
    if (lines.length > 0) groups.push({ lines: lines.join("\n"), newest })
    lines = []
  }
  for (let at = 0; at < entries.length; at++) {
    const { requestId } = entries[at] as EntryRow
    const name = requestId === null ? undefined : escapeName(requestId)
    if (name === undefined || lines.length > MAX_GROUP_SIZE || timeBucketOf(name) !== timeBucket) close()
    if (name === undefined) continue
    if (lines.length === 0) {
      timeBucket = timeBucketOf(name)
      lines.push(`\t${first + at}`)
    }
    lines.push(name)
  }
  close()
  return groups
}

export function findEntryIn(lines: string, name: string): number | undefined {
  const text = `\n${lines}\n`
  const at = text.indexOf(`\n${name}\n`)
  if (at < 0) return undefined
  const head = text.lastIndexOf("\n\t", at)
  let entry = Number.parseInt(text.slice(head + 2), 10)
  for (let line = text.indexOf("\n", head + 1); line < at; line = text.indexOf("\n", line + 1)) entry += 1
  return entry
}

/** Every request of these groups, as escaped in their lines. */
export function* namesIn(groups: readonly EndedRequestGroup[]): Generator<string> {
  for (const { lines } of groups) for (const line of lines.split("\n")) if (!line.startsWith("\t")) yield line
}

/** The index of the first of these sorted names that is not less than a name. */
function lowerBound(sorted: readonly string[], name: string): number {
  let [from, to] = [0, sorted.length]
  while (from < to) {
    const middle = (from + to) >> 1
    if ((sorted[middle] as string) < name) from = middle + 1
    else to = middle
  }
  return from
}

function timeBucketOf(name: string): string {
  return name.slice(0, TIME_BUCKET_LENGTH)
}
