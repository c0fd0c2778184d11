// Which entry a request has ended as. What is folded stands in blocks of sorted lines, by era: requests are named as time
// goes, and an era is what those of about a minute have in common. What is not folded yet is in the tails.
import type { Database } from "bun:sqlite"
import { plain } from "./ledger-lines.ts"

/** Requests that ended in one transaction, with consecutive entries. */
export interface EndedGroup {
  /** The entry of the first. */
  readonly first: number
  /** As JSON, null for an entry of another cause: one text is less to look after than many. */
  readonly requests: string
  /** No request of this group, or of any before it, comes behind this name. */
  readonly newest: string
}

const ERA_LENGTH = 8
/** A block and its row fit one page of the file. */
const BLOCK_LENGTH = 3800

interface Block {
  readonly first: string
  readonly last: string
  readonly lines: string
}

interface Line {
  readonly request: string
  readonly entry: number
}

export class EndedRequests {
  private readonly runAfter
  private readonly blockAt
  private readonly newest
  private readonly insert
  private readonly remove
  /** Where the last was found: the next is most often there too. */
  private lastFound = ""

  constructor(database: Database) {
    this.runAfter = database.query<{ run: bigint | null }, [string, bigint]>(
      `SELECT min(run) AS run FROM ended_requests WHERE era = ?1 AND run > ?2
         AND run <= (SELECT value FROM ledger_marks WHERE name = 'folded-run')`,
    )
    this.blockAt = database.query<{ lines: string }, [string, bigint, string]>(
      "SELECT lines FROM ended_requests WHERE era = ?1 AND run = ?2 AND first <= ?3 ORDER BY first DESC LIMIT 1",
    )
    this.newest = database.query<{ last: string | null }, []>(
      "SELECT max(last) AS last FROM ended_requests WHERE era = (SELECT max(era) FROM ended_requests)",
    )
    this.insert = database.query("INSERT INTO ended_requests VALUES (?1, ?2, ?3, ?4, ?5)")
    this.remove = database.query("DELETE FROM ended_requests WHERE era = ?1 AND run = ?2")
  }

  /** Of what is folded. */
  entryOf(request: string): number | undefined {
    const name = plain(request)
    return entryIn(this.lastFound, name) ?? this.search(name)
  }

  /** None that is folded comes behind it. */
  last(): string {
    return this.newest.get()?.last ?? ""
  }

  /** A fold writes each request once, so that one block of it is all there is to look at. */
  private search(name: string): number | undefined {
    const era = eraOf(name)
    const next = (run: bigint) => this.runAfter.get(era, run)?.run ?? undefined
    for (let run = next(-1n); run !== undefined; run = next(run)) {
      const lines = this.blockAt.get(era, run, name)?.lines ?? ""
      const entry = entryIn(lines, name)
      if (entry === undefined) continue
      this.lastFound = lines
      return entry
    }
    return undefined
  }

  /** Writes what has ended as part of a fold, a block in each step. */
  *pieces(groups: readonly EndedGroup[], run: number): Generator<void, void> {
    const eras = yield* byEra(groups)
    for (const [era, lines] of eras) {
      this.remove.run(era, run)
      lines.sort((a, b) => (a.request < b.request ? -1 : 1))
      yield
      for (const { first, last, lines: text } of blocks(lines)) yield void this.insert.run(era, run, first, last, text)
    }
  }
}

/** So many requests are looked at in a step. */
const REQUESTS_AT_ONCE = 512

function* byEra(groups: readonly EndedGroup[]): Generator<void, Map<string, Line[]>> {
  const eras = new Map<string, Line[]>()
  let looked = 0
  for (const { first, requests: text } of groups) {
    const requests: (string | null)[] = JSON.parse(text)
    for (const [at, named] of requests.entries()) {
      if (named === null) continue
      const request = plain(named)
      const era = eraOf(request)
      const lines = eras.get(era)
      const line = { request, entry: first + at }
      if (lines) lines.push(line)
      else eras.set(era, [line])
    }
    looked += requests.length
    if (looked < REQUESTS_AT_ONCE) continue
    looked = 0
    yield
  }
  return eras
}

function* blocks(sorted: readonly Line[]): Generator<Block> {
  let block: string[] = []
  let length = 0
  let first = ""
  let last = ""
  for (const { request, entry } of sorted) {
    const line = `${request}\t${entry}`
    if (block.length > 0 && length + line.length > BLOCK_LENGTH) {
      yield { first, last, lines: block.join("\n") }
      block = []
      length = 0
    }
    if (block.length === 0) first = request
    last = request
    block.push(line)
    length += line.length + 1
  }
  if (block.length > 0) yield { first, last, lines: block.join("\n") }
}

function entryIn(lines: string, name: string): number | undefined {
  const start = `\n${name}\t`
  const at = `\n${lines}`.indexOf(start)
  return at < 0 ? undefined : Number.parseInt(lines.slice(at + start.length - 1), 10)
}

function eraOf(name: string): string {
  return name.slice(0, ERA_LENGTH)
}
