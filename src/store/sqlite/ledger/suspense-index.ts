// The suspense of recovered requests, and the entries that ended it. A row is written with the entry that recovers, and
// changed once, with the entry that ends it.
import type { Database } from "bun:sqlite"
import type { EntryRow, SuspenseRow } from "../../contract.ts"
import { endsSuspense } from "./journal.ts"

interface SuspenseColumns {
  readonly request: string
  readonly entry: bigint
  readonly at: bigint
  readonly ended_by: bigint | null
}

export class SuspenseIndex {
  private readonly byRequest
  private readonly open
  private readonly count
  private readonly insert
  private readonly end

  constructor(
    database: Database,
    /** The entry of the current transaction that ends a request's suspense. */
    private readonly stagedEnd: (requestId: string) => bigint | undefined,
  ) {
    this.byRequest = database.query<SuspenseColumns, [string]>("SELECT * FROM suspended WHERE request = ?1")
    this.open = database.query<SuspenseColumns, [bigint, number]>(
      "SELECT * FROM suspended WHERE ended_by IS NULL AND entry > ?1 ORDER BY entry LIMIT ?2",
    )
    this.count = database.query<{ n: bigint }, []>("SELECT count(*) AS n FROM suspended WHERE ended_by IS NULL")
    this.insert = database.query("INSERT INTO suspended VALUES (?1, ?2, ?3, NULL)")
    this.end = database.query("UPDATE suspended SET ended_by = ?2 WHERE request = ?1 AND ended_by IS NULL")
  }

  find(requestId: string): SuspenseRow | undefined {
    const found = this.byRequest.get(requestId)
    if (!found) return undefined
    const row = toSuspenseRow(found)
    return row.endedBy === null ? { ...row, endedBy: this.stagedEnd(requestId) ?? null } : row
  }

  page(after: bigint, limit: number): SuspenseRow[] {
    return this.open.all(after, limit).map(toSuspenseRow)
  }

  countOpen(): number {
    return Number(this.count.get()?.n ?? 0)
  }

  /** Writes the row of an entry that moves suspense. */
  write({ kind, requestId, eventId, at }: EntryRow, id: number): void {
    if (!endsSuspense(kind)) this.insert.run(requestId, id, at)
    else if (this.end.run(eventId, id).changes !== 1)
      throw new Error(`what request ${eventId} has in suspense was to be ended twice`)
  }
}

function toSuspenseRow({ request, entry, at, ended_by }: SuspenseColumns): SuspenseRow {
  return { requestId: request, entry, at: Number(at), endedBy: ended_by }
}
