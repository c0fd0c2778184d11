// Reports if the store accepts writes: by the last write, or by a probe if that is too old.
import type { Ledger } from "./ledger.ts"

/** How long the outcome of a write counts: readiness checks probe the store at most this often. */
const FRESH_MS = 1000

export class StoreReadiness {
  constructor(
    private readonly ledger: Pick<Ledger, "lastWrite" | "probe">,
    private readonly now: () => number = Date.now,
  ) {}

  isWritable(): boolean {
    const { at, succeeded } = this.ledger.lastWrite
    // If the clock was set back, an old write is not fresh.
    const age = this.now() - at
    if (age >= 0 && age < FRESH_MS) return succeeded
    try {
      this.ledger.probe()
      return true
    } catch {
      return false
    }
  }
}
