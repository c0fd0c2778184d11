// The checks of the invariants detect a broken one: sound evidence, spoilt in one place at a time.
import { describe, expect, test } from "bun:test"
import type { SimulatedCharge } from "../../src/simulator/simulated-charge.ts"
import {
  billedUnbooked,
  type InvariantEvidence,
  invariantFigures,
  overBudget,
  recoveredOtherwise,
} from "./invariants.ts"
import type { BookedEntry, OpenHold } from "./offline-ledger.ts"
import { isKept } from "./row.ts"
import type { TracedRequest } from "./traced-requests.ts"

function tracedRequest(name: string, seen: TracedRequest["seen"], stream = false): TracedRequest {
  const request = {
    protocol: "openai-chat",
    text: "",
    words: "",
    upstream: undefined,
    leavesAfterMs: undefined,
  } as const
  return { ...request, name, keyId: `key-${name}`, key: "", stream, seen }
}

function bill(name: string, ended: SimulatedCharge["ended"] = "complete"): SimulatedCharge {
  const whose = { id: name, request_id: name, path: "/", model: name, time: "" }
  return { ...whose, input_tokens: 10, output_tokens: 20, ended }
}

/** 10 and 20 tokens at 1000 and 2000 nano-USD. */
const COST = 50_000n

let id = 0n
function entry(name: string, kind: BookedEntry["kind"], change: Partial<BookedEntry> = {}): BookedEntry {
  const paid = kind === "released" ? 0n : COST
  return {
    id: ++id,
    kind,
    request: `request-${name}`,
    tenant: "open",
    key: `key-${name}`,
    account: "tenant:open",
    floor: null,
    amount: -paid,
    funding: 0n,
    revenue: paid,
    suspense: 0n,
    writeOff: 0n,
    debt: 0n,
    held: 100_000n,
    ...change,
  }
}

const leftOpen: OpenHold = {
  request: "request-killed",
  key: "key-killed",
  amount: 100_000n,
  lowerBound: 30_000n,
  isForgotten: false,
}

const sound: InvariantEvidence = {
  tracedRequests: [
    tracedRequest("whole", { how: "whole", status: 200, cost: "0.00005" }),
    tracedRequest("streamed", { how: "whole", status: 200, cost: null }, true),
    tracedRequest("killed", { how: "broken" }),
    tracedRequest("refused", { how: "refused", status: 403, code: "insufficient_balance" }),
    tracedRequest("unasked", { how: "unasked" }),
  ],
  bills: [bill("whole"), bill("streamed"), bill("killed", "client-gone")],
  books: {
    entries: [
      entry("whole", "settled"),
      entry("streamed", "settled"),
      entry("killed", "recovered", { amount: -100_000n, revenue: 30_000n, suspense: 70_000n }),
    ],
    holds: [],
    postedNano: 0n,
    problems: [],
  },
  leftOpen: [leftOpen],
}

const withEntries = (entries: readonly BookedEntry[]): InvariantEvidence => ({
  ...sound,
  books: { ...sound.books, entries },
})
const withEntry = (each: BookedEntry): InvariantEvidence => withEntries([...sound.books.entries, each])
const changed = (change: Partial<BookedEntry>): InvariantEvidence =>
  withEntries(sound.books.entries.map((each, at) => (at === 0 ? { ...each, ...change } : each)))

function broken(evidence: InvariantEvidence): string[] {
  const figures = invariantFigures([evidence], () => {})
  return figures.filter((figure) => !isKept(figure)).map(({ what }) => what.split(",")[0] ?? "")
}

describe("the money invariants", () => {
  test("the money invariants hold for sound evidence", () => {
    expect(broken(sound)).toEqual([])
    expect(billedUnbooked(sound)).toBe(0)
    expect(recoveredOtherwise(sound)).toEqual([])
    expect(overBudget(sound)).toEqual([])
  })

  const spoilt: readonly [string, InvariantEvidence, string[]][] = [
    ["an entry that does not sum to zero", changed({ amount: -COST - 1n }), ["I1"]],
    ["accounts that do not sum to zero", { ...sound, books: { ...sound.books, postedNano: 1n } }, ["I1"]],
    ["an account that was below its floor for a while", changed({ floor: 0n }), ["I4"]],
    ["a request with two entries", withEntry(entry("whole", "settled")), ["I5", "I7"]],
    ["a hold that is still open", { ...sound, books: { ...sound.books, holds: [leftOpen] } }, ["I6"]],
    ["a hold that a start did not recover", { ...sound, leftOpen: [{ ...leftOpen, isForgotten: true }] }, ["I6"]],
    ["a bill without an entry", { ...sound, bills: [...sound.bills, bill("unasked")] }, ["I7"]],
    ["a bill whose hold was released", changed({ kind: "released", amount: 0n, revenue: 0n }), ["I7", "I8"]],
    ["a call that was billed twice", { ...sound, bills: [...sound.bills, bill("killed")] }, ["I7"]],
    ["a cost other than the one reported to the caller", changed({ amount: -COST + 1n, revenue: COST - 1n }), ["I8"]],
    ["a whole answer that had to be recovered", changed({ kind: "recovered" }), ["I8"]],
    ["an entry for a rejected call", withEntry(entry("refused", "released")), ["I9"]],
    ["an entry without a call", withEntry(entry("unasked", "settled")), ["I9"]],
    ["an entry of an unknown key", withEntry(entry("nobody", "settled")), ["I9"]],
    ["a write-off within the hold", changed({ amount: -COST + 1n, writeOff: -1n }), ["I10"]],
    ["a debt within the hold", changed({ amount: -COST + 1n, debt: -1n }), ["I10"]],
    ["a debt that a recovery made", changed({ kind: "recovered", amount: -COST + 1n, debt: -1n }), ["I8", "I10"]],
    ["a write-off that is a credit", changed({ amount: -COST - 1n, writeOff: 1n }), ["I10"]],
    [
      "a problem that the ledger's own verification finds",
      { ...sound, books: { ...sound.books, problems: [{ invariant: "I2", what: "It is not." }] } },
      ["I2"],
    ],
  ]
  test.each(spoilt)("the money invariants are broken by %s", (_, evidence, names) => {
    expect(broken(evidence)).toEqual(names)
  })

  test("billed calls that are not in the ledger are counted", () => {
    expect(billedUnbooked(withEntries(sound.books.entries.slice(1)))).toBe(1)
  })

  test("an overspent budget is detected", () => {
    const spent = entry("whole", "settled", { tenant: "frugal-1", amount: -50_000_001n, revenue: 50_000_001n })
    expect(overBudget(withEntry(spent))).toHaveLength(1)
  })

  test("a recovery that is not the lower bound with its suspense is detected", () => {
    const [whole, streamed] = sound.books.entries
    const all = [whole, streamed].flatMap((each) => each ?? [])
    const recovered = (change: Partial<BookedEntry>) => withEntries([...all, entry("killed", "recovered", change)])
    expect(recoveredOtherwise(recovered({ amount: -100_000n, revenue: 100_000n }))).toHaveLength(1)
    expect(recoveredOtherwise(recovered({ amount: -30_000n, revenue: 30_000n }))).toHaveLength(1)
    // More than the upstream has billed is no lower bound.
    const beyond = { ...leftOpen, lowerBound: COST + 1n }
    const booked = recovered({ amount: -100_000n, revenue: COST + 1n, suspense: 100_000n - COST - 1n })
    expect(recoveredOtherwise({ ...booked, leftOpen: [beyond] })).toHaveLength(1)
  })
})
