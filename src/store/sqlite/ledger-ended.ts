// Which entry a request has ended as. What is folded stands in blocks of lines, by era: requests are named as time goes,
// and an era is what those of about a minute have in common. What is not folded yet is in the tails.
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
const BLOCK_LENGTH = 3900
/** So many requests are looked at in a step. */
const REQUESTS_AT_ONCE = 512
/** Whether any name in a list of JSON has to be made plain. */
const ODD = /[^ -$&-~]|\\/

/** A line for each request: its name, a tab, and its entry. */
interface Block {
  lines: string[]
  length: number
  least: string
  greatest: string
}

export class EndedRequests {
  private readonly holding
  private readonly newest
  private readonly insert
  private readonly remove
  /** Where the last was found: the next is most often there too. */
  private lastFound = ""

  constructor(database: Database) {
    this.holding = database.query<{ lines: string }, [string, string]>(
      `SELECT lines FROM ended_requests WHERE era = ?1 AND least <= ?2 AND greatest >= ?2
         AND run <= (SELECT value FROM ledger_marks WHERE name = 'folded-run')`,
    )
    this.newest = database.query<{ name: string | null }, []>(
      "SELECT max(greatest) AS name FROM ended_requests WHERE era = (SELECT max(era) FROM ended_requests)",
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
    return this.newest.get()?.name ?? ""
  }

  /** Writes what has ended as part of a fold, in the order of the entries. */
  *pieces(groups: readonly EndedGroup[], run: number): Generator<void, void> {
    const blocks = new Map<string, Block>()
    let looked = 0
    for (const { first, requests: text } of groups) {
      const requests: (string | null)[] = JSON.parse(text)
      const arePlain = !ODD.test(text)
      for (let at = 0; at < requests.length; at++) {
        const request = requests[at] ?? null
        if (request === null) continue
        const name = arePlain ? request : plain(request)
        this.add(blocks, { name, entry: first + at, run })
      }
      looked += requests.length
      if (looked < REQUESTS_AT_ONCE) continue
      looked = 0
      yield
    }
    for (const [era, block] of blocks) yield this.write(block, { era, run })
  }

  private add(
    blocks: Map<string, Block>,
    { name, entry, run }: { readonly name: string; readonly entry: number; readonly run: number },
  ): void {
    const era = eraOf(name)
    const line = `${name}\t${entry}`
    let block = blocks.get(era)
    if (!block) {
      // What a fold of the same number wrote that was cut short does not count.
      this.remove.run(era, run)
      block = { lines: [], length: 0, least: name, greatest: name }
      blocks.set(era, block)
    } else if (block.length + line.length > BLOCK_LENGTH) {
      this.write(block, { era, run })
      Object.assign(block, { lines: [], length: 0, least: name, greatest: name })
    }
    block.lines.push(line)
    block.length += line.length + 1
    if (name < block.least) block.least = name
    if (name > block.greatest) block.greatest = name
  }

  private write({ least, greatest, lines }: Block, { era, run }: { readonly era: string; readonly run: number }): void {
    this.insert.run(era, run, least, greatest, lines.join("\n"))
  }

  private search(name: string): number | undefined {
    for (const { lines } of this.holding.all(eraOf(name), name)) {
      const entry = entryIn(lines, name)
      if (entry === undefined) continue
      this.lastFound = lines
      return entry
    }
    return undefined
  }
}

function entryIn(lines: string, name: string): number | undefined {
  const start = `\n${name}\t`
  const at = `\n${lines}`.indexOf(start)
  return at < 0 ? undefined : Number.parseInt(lines.slice(at + start.length - 1), 10)
}

function eraOf(name: string): string {
  return name.slice(0, ERA_LENGTH)
}
