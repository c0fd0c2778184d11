// A ledger table that fails on demand: at its n-th call, where a commit is the last call of its transaction.
import { type LedgerTable, StoreError } from "../../src/store/contract.ts"

export class TableFaults {
  /** Calls since the failure was last set. */
  happened = false
  calls = 0
  private at: number | undefined

  /** The n-th call from now, the first being 0; undefined is none. */
  failAt(call: number | undefined): void {
    this.happened = false
    this.calls = 0
    this.at = call
  }

  /** One call more. */
  count(): void {
    if (this.calls++ !== this.at) return
    this.happened = true
    throw new StoreError("The store rejects writes: database or disk is full")
  }
}

export function faultyTable(table: LedgerTable, faults: TableFaults): LedgerTable {
  return {
    ...wrapped(table, faults),
    // Asks nothing of the store.
    flushIsDue: table.flushIsDue,
    transaction: (work) =>
      table.transaction(() => {
        faults.count()
        const result = work()
        faults.count()
        return result
      }),
  }
}

/** The same functions at the same places, each of them counted. */
function wrapped<Functions extends object>(functions: Functions, faults: TableFaults): Functions {
  const entries = Object.entries(functions).map(([name, value]) => {
    if (typeof value !== "function") return [name, wrapped(value, faults)]
    const counted = (...given: unknown[]) => {
      faults.count()
      return value(...given)
    }
    return [name, counted]
  })
  return Object.fromEntries(entries)
}
