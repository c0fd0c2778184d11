// Whether the store takes writes: by the last one, or by a small one of its own where that is a while ago.
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
    // A clock that was set back makes no old write fresh.
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
