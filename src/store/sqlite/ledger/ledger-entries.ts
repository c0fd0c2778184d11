// Ledger entries: those of one transaction are one row of the journal, with the facts of their receipts.
import type { Database } from "bun:sqlite"
import type { BookedEntry, EntryRow } from "../../contract.ts"
import { EndedRequests, findEntryIn, groupEndedRequests, namesIn } from "./ended-requests.ts"
import { endsSuspense, entriesOf, type JournalRow, journalText } from "./journal.ts"
import { ChainMarks, nextChain } from "./journal-chain.ts"
import type { MemtablePair } from "./memtable.ts"
import { escapeName } from "./runs/run-lines.ts"
import { SuspenseIndex } from "./suspense-index.ts"

interface JournalEntryColumns extends JournalRow {
  readonly first: bigint
}

export class LedgerEntries {
  readonly ended: EndedRequests
  readonly suspense: SuspenseIndex
  readonly chainMarks: ChainMarks
  /** The chained hash of all durable entries, once loaded, and that including the entries of the transaction. */
  private lastChain: bigint | undefined
  private writtenChain = 0n
  /** The last durable entry. */
  private lastId = 0
  /** Request ids sort by time; no held or ended request sorts after this name. */
  private newest = ""
  private staged: EntryRow[] = []
  /** Facts by the index of their entry. */
  private facts: string[] = []
  private readonly rowAt
  private readonly rowAfter
  private readonly event
  private readonly insertJournal
  private readonly insertEvent

  constructor(
    database: Database,
    private readonly memtables: MemtablePair,
  ) {
    this.ended = new EndedRequests(database)
    this.chainMarks = new ChainMarks(database)
    this.suspense = new SuspenseIndex(database, (requestId) => this.stagedEnd(requestId))
    const row = "SELECT first, at, entries FROM journal WHERE first"
    this.rowAt = database.query<JournalEntryColumns, [number]>(`${row} <= ?1 ORDER BY first DESC LIMIT 1`)
    this.rowAfter = database.query<JournalEntryColumns, [number | bigint]>(`${row} > ?1 ORDER BY first LIMIT 1`)
    this.event = database.query<{ entry: bigint }, [string]>("SELECT entry FROM top_ups WHERE event = ?1")
    this.insertJournal = database.query("INSERT INTO journal VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)")
    this.insertEvent = database.query("INSERT INTO top_ups VALUES (?1, ?2)")
  }

  get last(): number {
    return this.lastId
  }

  /** The chain up to the last entry. */
  get chain(): bigint {
    return this.lastChain ?? 0n
  }

  /** Inserts the entry of a request that has not ended. */
  insert(row: EntryRow, facts: string | null): void {
    if (facts !== null) this.facts[this.staged.length] = facts
    this.staged.push(row)
  }

  /** The entries of the current transaction. */
  get unwritten(): readonly EntryRow[] {
    return this.staged
  }

  /** True if the request has not ended. */
  isNew(requestId: string): boolean {
    const name = escapeName(requestId)
    if (name > this.newest) {
      this.newest = name
      return true
    }
    return !this.staged.some((row) => row.requestId === requestId) && this.endedAs(requestId) === undefined
  }

  /** Those of these requests that have ended, in one pass over the unflushed entries. */
  endedAmong(requestIds: readonly string[]): ReadonlySet<string> {
    const wanted = new Map<string, string>()
    for (const requestId of requestIds) wanted.set(escapeName(requestId), requestId)
    const ended = new Set<string>()
    for (const memtable of this.memtables.all())
      for (const name of namesIn(memtable.ended)) {
        const requestId = wanted.get(name)
        if (requestId === undefined) continue
        ended.add(requestId)
        wanted.delete(name)
      }
    for (const name of wanted.keys()) if (name > this.newest) wanted.delete(name)
    for (const name of this.ended.among(wanted.keys())) ended.add(wanted.get(name) as string)
    for (const requestId of requestIds) this.noteName(escapeName(requestId))
    return ended
  }

  ofRequest(requestId: string): BookedEntry | undefined {
    const staged = this.stagedAt(this.staged.findIndex((row) => row.requestId === requestId))
    return staged ?? this.readEntry(this.endedAs(requestId))
  }

  ofEvent(eventId: string): BookedEntry | undefined {
    const isTopUp = ({ kind, eventId: event }: EntryRow) => kind === "top-up" && event === eventId
    const staged = this.stagedAt(this.staged.findIndex(isTopUp))
    if (staged) return staged
    const found = this.event.get(eventId)
    return this.readEntry(found ? Number(found.entry) : undefined)
  }

  get(id: number): BookedEntry | undefined {
    return id > this.lastId ? this.stagedAt(id - this.lastId - 1) : this.readEntry(id)
  }

  /** The durable entry that a request ended as. */
  endedAs(requestId: string): number | undefined {
    const name = escapeName(requestId)
    for (const { ended } of this.memtables.newestFirst())
      for (let at = ended.length - 1; at >= 0; at--) {
        const group = ended[at]
        if (!group || group.newest < name) return undefined
        const entry = findEntryIn(group.lines, name)
        if (entry !== undefined) return entry
      }
    return this.ended.entryOf(requestId)
  }

  /** Called at the end of a transaction. */
  write(): void {
    const { staged } = this
    const last = staged.at(-1)
    if (!last) return
    let [account, funding, revenue, suspense, writeOff] = [0n, 0n, 0n, 0n, 0n]
    let id = this.lastId
    for (const row of staged) {
      const { nano, eventId } = row
      id += 1
      account += nano.account
      revenue += nano.revenue
      // Adding zero takes as long as adding an amount.
      if (nano.funding !== 0n) funding += nano.funding
      if (nano.suspense !== 0n) suspense += nano.suspense
      if (nano.writeOff !== 0n) writeOff += nano.writeOff
      // The row's check has five amounts, and debt is not covered either.
      if (nano.debt !== 0n) writeOff += nano.debt
      if (nano.suspense !== 0n) this.suspense.write(row, id)
      if (eventId !== null && !endsSuspense(row.kind)) this.insertEvent.run(eventId, id)
    }
    const [entries, facts] = [journalText(staged, last.at), this.facts.length > 0 ? factsText(this.facts) : null]
    this.writtenChain = nextChain(this.chain, entries)
    this.insertJournal.run(this.lastId + 1, last.at, account, funding, revenue, suspense, writeOff, entries, facts)
  }

  /** Adds durable entries to the memtable; false if there were none. */
  committed(): boolean {
    if (this.staged.length === 0) return false
    this.addToMemtable(this.staged)
    this.lastChain = this.writtenChain
    this.reset()
    return true
  }

  /** Discards entries that were not written. */
  reset(): void {
    if (this.staged.length > 0) this.staged = []
    if (this.facts.length > 0) this.facts = []
  }

  /** Adds the entries after this one to the memtable; if that fails, the rest is added the next time. */
  load(after: number): void {
    this.reset()
    if (after !== this.lastId) this.lastChain = undefined
    this.lastId = after
    this.lastChain ??= this.chainMarks.after(after) ?? 0n
    this.noteName(this.ended.last())
    for (let row = this.rowAfter.get(after); row; row = this.rowAfter.get(row.first)) {
      const entries = entriesOf(row)
      for (const { requestId } of entries) if (requestId !== null) this.noteName(escapeName(requestId))
      this.addToMemtable(entries)
      this.lastChain = nextChain(this.chain, row.entries)
    }
  }

  private addToMemtable(entries: readonly EntryRow[]): void {
    const { active } = this.memtables
    active.add(entries)
    active.ended.push(...groupEndedRequests(entries, { first: this.lastId + 1, newest: this.newest }))
    this.lastId += entries.length
  }

  private noteName(name: string): void {
    if (name > this.newest) this.newest = name
  }

  private stagedEnd(requestId: string): bigint | undefined {
    return this.stagedAt(this.staged.findIndex(({ kind, eventId }) => endsSuspense(kind) && eventId === requestId))?.id
  }

  private stagedAt(at: number): BookedEntry | undefined {
    const staged = this.staged[at]
    return staged && { ...staged, id: BigInt(this.lastId + at + 1) }
  }

  private readEntry(id: number | undefined): BookedEntry | undefined {
    const row = id === undefined ? null : this.rowAt.get(id)
    const booked = row && id !== undefined ? entriesOf(row)[id - Number(row.first)] : undefined
    return booked && { ...booked, id: BigInt(id ?? 0) }
  }
}

/** One object with the facts of each entry under its index in the row. */
function factsText(facts: readonly string[]): string {
  const members: string[] = []
  // Entries without facts have an empty position, which is skipped.
  facts.forEach((text, at) => {
    members.push(`"${at}":${text}`)
  })
  return `{${members.join(",")}}`
}
