// What is booked: the entries of a transaction are one row of the journal, and what their receipts show beside it is one
// row too.
import type { Database, SQLQueryBindings } from "bun:sqlite"
import type { BookedEntry, EntryRow } from "../contract.ts"
import { entriesOf, journalText, NO_FACTS } from "./ledger-journal.ts"
import { plain } from "./ledger-lines.ts"
import type { Tails } from "./ledger-tail.ts"

interface JournalColumns {
  readonly first: bigint
  readonly entries: string
}

/** So many rows in one statement cost a third less each. */
const ROWS_AT_ONCE = 16

export class Entries {
  /** The last one that is durable. */
  private lastId = 0
  private newestRequest = ""
  private staged: EntryRow[] = []
  private readonly stagedByRequest = new Map<string, number>()
  private facts: string[] = []
  private hasFacts = false
  private readonly newest
  private readonly rowAt
  private readonly rowAfter
  private readonly request
  private readonly event
  private readonly insertJournal
  private readonly insertRequest
  private readonly insertRequests
  private readonly insertEvent
  private readonly insertFacts

  constructor(database: Database) {
    this.newest = database.query<{ request: string | null }, []>("SELECT max(request) AS request FROM requests")
    const row = "SELECT first, entries FROM journal WHERE first"
    this.rowAt = database.query<JournalColumns, [bigint]>(`${row} <= ?1 ORDER BY first DESC LIMIT 1`)
    this.rowAfter = database.query<JournalColumns, [number | bigint]>(`${row} > ?1 ORDER BY first LIMIT 1`)
    this.request = database.query<{ entry: bigint }, [string]>("SELECT entry FROM requests WHERE request = ?1")
    this.event = database.query<{ entry: bigint }, [string]>("SELECT entry FROM top_ups WHERE event = ?1")
    this.insertJournal = database.query("INSERT INTO journal VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)")
    this.insertRequest = database.query("INSERT INTO requests VALUES (?1, ?2)")
    this.insertRequests = database.query<unknown, SQLQueryBindings[]>(
      `INSERT INTO requests VALUES ${Array(ROWS_AT_ONCE).fill("(?, ?)").join(", ")}`,
    )
    this.insertEvent = database.query("INSERT INTO top_ups VALUES (?1, ?2)")
    this.insertFacts = database.query("INSERT INTO receipt_groups VALUES (?1, ?2, ?3)")
  }

  get last(): number {
    return this.lastId
  }

  insert(row: EntryRow, facts: string | null): number {
    const { requestId } = row
    if (requestId !== null) {
      if (this.stagedByRequest.has(requestId)) throw new Error(`request ${requestId} was to be ended twice`)
      this.stagedByRequest.set(requestId, this.staged.length)
    }
    this.staged.push(row)
    this.facts.push(facts ?? NO_FACTS)
    if (facts !== null) this.hasFacts = true
    return this.lastId + this.staged.length
  }

  /** Those that the transaction has booked so far. */
  get unwritten(): readonly EntryRow[] {
    return this.staged
  }

  /** Whether the request has not ended. Requests are named as time goes, so that one behind all others is new for sure. */
  isNew(requestId: string): boolean {
    // Another character might sort elsewhere in SQLite.
    const isBehind = requestId > this.newestRequest && plain(requestId) === requestId
    if (isBehind) this.newestRequest = requestId
    return isBehind || (!this.stagedByRequest.has(requestId) && this.request.get(requestId) === null)
  }

  ofRequest(requestId: string): BookedEntry | undefined {
    return this.stagedAt(this.stagedByRequest.get(requestId)) ?? this.booked(this.request.get(requestId))
  }

  ofEvent(eventId: string): BookedEntry | undefined {
    const at = this.staged.findIndex((row) => row.eventId === eventId)
    return this.stagedAt(at) ?? this.booked(this.event.get(eventId))
  }

  /** At the end of a transaction. */
  write(): void {
    if (this.staged.length === 0) return
    let [account, funding, revenue, suspense, writeOff] = [0n, 0n, 0n, 0n, 0n]
    for (const { nano } of this.staged) {
      account += nano.account
      revenue += nano.revenue
      // To add nothing takes as long as to add something.
      if (nano.funding !== 0n) funding += nano.funding
      if (nano.suspense !== 0n) suspense += nano.suspense
      if (nano.writeOff !== 0n) writeOff += nano.writeOff
    }
    const first = this.lastId + 1
    this.insertJournal.run(first, account, funding, revenue, suspense, writeOff, journalText(this.staged))
    this.writeCauses(first)
    if (this.hasFacts) this.insertFacts.run(first, this.staged.at(-1)?.at ?? 0, this.facts.join("\n"))
  }

  /** Adds to the tail what has become durable. */
  committed({ fresh }: Tails): void {
    if (this.staged.length === 0) return
    for (const row of this.staged) fresh.add(row)
    this.lastId += this.staged.length
    this.reset()
  }

  /** What was not written was never booked. */
  reset(): void {
    this.staged = []
    this.stagedByRequest.clear()
    this.facts = []
    this.hasFacts = false
  }

  /** Adds to the tail what was booked after an entry; where that fails, the rest of it the next time. */
  load({ fresh }: Tails, after: number): void {
    this.reset()
    this.lastId = after
    this.newestRequest = this.newest.get()?.request ?? ""
    for (let row = this.rowAfter.get(after); row; row = this.rowAfter.get(row.first)) {
      for (const entry of entriesOf(row.entries)) {
        fresh.add(entry)
        this.lastId += 1
      }
    }
  }

  private writeCauses(first: number): void {
    let bindings: SQLQueryBindings[] = []
    let id = first
    for (const { eventId, requestId } of this.staged) {
      if (eventId !== null) this.insertEvent.run(eventId, id)
      if (requestId !== null) bindings.push(requestId, id)
      if (bindings.length === 2 * ROWS_AT_ONCE) {
        this.insertRequests.run(bindings as unknown as SQLQueryBindings)
        bindings = []
      }
      id += 1
    }
    for (let at = 0; at < bindings.length; at += 2)
      this.insertRequest.run(bindings[at] as string, bindings[at + 1] as number)
  }

  private stagedAt(at: number | undefined): BookedEntry | undefined {
    const staged = at === undefined ? undefined : this.staged[at]
    return staged && at !== undefined ? { ...staged, id: BigInt(this.lastId + at + 1) } : undefined
  }

  private booked(found: { readonly entry: bigint } | null): BookedEntry | undefined {
    const row = found && this.rowAt.get(found.entry)
    const booked = row && entriesOf(row.entries)[Number(found.entry - row.first)]
    return booked ? { ...booked, id: found.entry } : undefined
  }
}
