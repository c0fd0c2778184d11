// A hash chain over all entries: two stores agree in it only if they have booked the same. It detects files that do not
// belong together; it does not prove that they were not forged.
import type { Database } from "bun:sqlite"

/** The state of the chain after an entry. */
export interface JournalChainLink {
  readonly entry: number
  readonly chain: bigint
}

/** The link after a row of the journal. */
export function nextChain(chain: bigint, entries: string): bigint {
  return Bun.hash.wyhash(entries, chain)
}

export function chainText(chain: bigint): string {
  return chain.toString(16).padStart(16, "0")
}

/** Checkpoints of the chain, so that no start has to compute it from the beginning. */
export class ChainMarks {
  private readonly before
  private readonly next
  private readonly insert

  constructor(database: Database) {
    this.before = database.query<{ entry: bigint; chain: string }, [number]>(
      "SELECT entry, chain FROM chain_marks WHERE entry <= ?1 ORDER BY entry DESC LIMIT 1",
    )
    this.next = database.query<{ first: bigint; entries: string }, [bigint, number]>(
      "SELECT first, entries FROM journal WHERE first > ?1 AND first <= ?2 ORDER BY first LIMIT 1",
    )
    this.insert = database.query("REPLACE INTO chain_marks VALUES (?1, ?2)")
  }

  /** The chain after an entry; undefined if the entry is older than the chain. */
  after(entry: number): bigint | undefined {
    const mark = this.before.get(entry)
    if (!mark) return undefined
    let chain = BigInt(`0x${mark.chain}`)
    for (let row = this.next.get(mark.entry, entry); row; row = this.next.get(row.first, entry))
      chain = nextChain(chain, row.entries)
    return chain
  }

  put({ entry, chain }: JournalChainLink): void {
    this.insert.run(entry, chainText(chain))
  }
}
