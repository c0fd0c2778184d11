// Verifies the ledger's invariants over all entries, in steps that let requests run in between.
import { setImmediate } from "node:timers/promises"
import type { LedgerProblem, LedgerTable, PriceTable } from "../store/contract.ts"
import { priceVersion } from "./cost.ts"

const ROWS_AT_ONCE = 2000
/** The longest duration of a stream, and the time to settle it. */
const LONGEST_HOLD_MS = 30 * 60_000 + 90_000

export async function verifyLedger(table: LedgerTable, now: number): Promise<LedgerProblem[]> {
  const audit = table.audit(now - LONGEST_HOLD_MS)
  try {
    while (audit.sum(ROWS_AT_ONCE)) await setImmediate()
    while (audit.compare(ROWS_AT_ONCE)) await setImmediate()
    return [...audit.problems, ...findPriceProblems(table.prices)]
  } finally {
    audit.close()
  }
}

function findPriceProblems(table: PriceTable): LedgerProblem[] {
  const problems: LedgerProblem[] = []
  let after = ""
  for (;;) {
    const page = table.page(after, ROWS_AT_ONCE)
    for (const { version, pricing } of page) {
      if (priceVersion(JSON.parse(pricing)) === version) continue
      problems.push({ invariant: "I14", what: `The prices of version ${version} have changed since they were booked.` })
    }
    const last = page.at(-1)
    if (!last) return problems
    after = last.version
  }
}
