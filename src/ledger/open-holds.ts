// The holds that this process has open, so that ending one costs no query. What is here is as it is in the store: a row
// comes in when it is durable, and goes as soon as an operation touches it.
import type { HoldRow, HoldTable } from "../store/contract.ts"

export class OpenHolds {
  private readonly known = new Map<string, HoldRow>()
  private readonly written = new Map<string, HoldRow>()

  constructor(private readonly table: HoldTable) {}

  reset(): void {
    this.written.clear()
  }

  committed(): void {
    for (const [requestId, row] of this.written) this.known.set(requestId, row)
  }

  find(requestId: string): HoldRow | undefined {
    return this.known.get(requestId) ?? this.table.find(requestId)
  }

  insert(row: HoldRow): void {
    if (!this.table.insert(row)) throw new Error(`request ${row.requestId} is held already, or has ended`)
    this.written.set(row.requestId, row)
  }

  grow(requestId: string, byNano: bigint): void {
    this.forget(requestId)
    this.table.grow(requestId, byNano)
  }

  remove(requestId: string): void {
    this.forget(requestId)
    if (!this.table.remove(requestId)) throw new Error(`request ${requestId} was to be ended twice`)
  }

  private forget(requestId: string): void {
    this.known.delete(requestId)
    this.written.delete(requestId)
  }
}
