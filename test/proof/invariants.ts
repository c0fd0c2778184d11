// The money invariants by name, over the clients' answers, the upstream's bills, and the stopped gateway's ledger.
import { nanoOfUsd } from "../../src/canonical/usd.ts"
import type { SimulatedCharge } from "../../src/simulator/simulated-charge.ts"
import type { BookedEntry, OfflineLedger, OpenHold } from "./offline-ledger.ts"
import type { ProofFigure } from "./row.ts"
import { FRUGAL, INPUT_NANO, OUTPUT_NANO, SHARED_NANO, type TracedRequest } from "./traced-requests.ts"

export interface InvariantEvidence {
  readonly tracedRequests: readonly TracedRequest[]
  readonly bills: readonly SimulatedCharge[]
  readonly books: OfflineLedger
  /** Open holds of killed processes, before their recovery. */
  readonly leftOpen: readonly OpenHold[]
  /** The process ended before its store worked again: what it could not settle had to be recovered. */
  readonly endedUnsettled?: true
}

const NAMES: Readonly<Record<string, string>> = {
  I1: "entries sum to zero",
  I2: "a balance is the sum of its entries",
  I3: "held is the sum of the open holds",
  I4: "no account below its floor",
  I5: "a request settles at most once",
  I6: "every hold ends",
  I7: "every request that was billed has one entry",
  I8: "a whole answer's cost is what was booked",
  I9: "no charge without a hold",
  I10: "a charge beyond its hold is owed or written off only where nothing is free",
}

/** The violations of each invariant. */
function violationsOf(evidence: InvariantEvidence): ReadonlyMap<string, readonly string[]> {
  const { problems } = evidence.books
  const seen = new EvidenceIndex(evidence)
  const own: Readonly<Record<string, readonly string[]>> = {
    I1: seen.unbalanced(),
    I4: seen.belowFloor(),
    I5: seen.settledTwice(),
    I6: seen.stillHeld(),
    I7: seen.billedOtherwise(),
    I8: seen.costOtherwise(),
    I9: seen.chargedUnheld(),
    I10: seen.uncovered(),
  }
  return new Map(
    Object.keys(NAMES).map((name) => {
      const proved = problems.filter(({ invariant }) => invariant === name).map(({ what }) => what)
      return [name, [...proved, ...(own[name] ?? [])]]
    }),
  )
}

/** One figure per invariant over all the evidence; violations are printed. */
export function invariantFigures(evidence: readonly InvariantEvidence[], print: (text: string) => void): ProofFigure[] {
  const found = evidence.map(violationsOf)
  const others = evidence
    .flatMap(({ books }) => books.problems)
    .filter(({ invariant }) => NAMES[invariant] === undefined)
    .map(({ invariant, what }) => `${invariant}: ${what}`)
  return [
    ...Object.entries(NAMES).map(([name, what]) => {
      const violations = found.flatMap((each) => each.get(name) ?? [])
      return problemFigure(`${name}, ${what}: violations`, { problems: violations, print })
    }),
    problemFigure("other problems that the ledger's own verification finds", { problems: others, print }),
  ]
}

/** The figure must be zero; the first problems are printed. */
export function problemFigure(
  what: string,
  { problems, print }: { problems: readonly string[]; print: (text: string) => void },
): ProofFigure {
  for (const problem of problems.slice(0, MAX_PRINTED)) print(`${what}: ${problem}`)
  return { what, seen: problems.length, atMost: 0 }
}

const MAX_PRINTED = 5

/** Billed by the upstream, and nowhere in the ledger: what only the upstream's own bill can show. */
export function billedUnbooked(evidence: InvariantEvidence): number {
  const seen = new EvidenceIndex(evidence)
  return evidence.bills.filter((bill) => seen.chargesOf(bill.model).length === 0).length
}

/** A killed request is charged the known lower bound, with the rest in suspense; and the bound is a lower one. */
export function recoveredOtherwise(evidence: InvariantEvidence): string[] {
  return new EvidenceIndex(evidence).recoveredOtherwise()
}

/** Tenants that have spent more than their budget. */
export function overBudget({ books }: InvariantEvidence): string[] {
  const spent = new Map<string, bigint>()
  for (const { tenant, amount, debt } of books.entries)
    if (tenant?.startsWith(FRUGAL)) spent.set(tenant, (spent.get(tenant) ?? 0n) - amount - debt)
  return [...spent].filter(([, nano]) => nano > SHARED_NANO).map(([tenant, nano]) => `${tenant} has spent ${nano}`)
}

class EvidenceIndex {
  private readonly entries = new Map<string, BookedEntry[]>()
  private readonly bills = new Map<string, SimulatedCharge[]>()
  private readonly keys: ReadonlyMap<string, string>

  constructor(private readonly evidence: InvariantEvidence) {
    this.keys = new Map(evidence.tracedRequests.map(({ name, keyId }) => [name, keyId]))
    for (const entry of evidence.books.entries) if (entry.key !== null) put(this.entries, entry.key, entry)
    for (const bill of evidence.bills) put(this.bills, bill.model, bill)
  }

  /** The entries of an traced request under which something may have been paid. */
  chargesOf(name: string): BookedEntry[] {
    const entries = this.entries.get(this.keys.get(name) ?? "") ?? []
    return entries.filter(({ kind }) => kind === "settled" || kind === "recovered")
  }

  private shown(name: string): string {
    const tracedRequest = this.evidence.tracedRequests.find((each) => each.name === name)
    const { protocol, upstream = protocol, stream, seen, words } = tracedRequest ?? {}
    return `${name} (${protocol} over ${upstream}, ${stream ? "streamed" : "unary"}, ${words}, ${seen?.how})`
  }

  unbalanced(): string[] {
    const { entries, postedNano } = this.evidence.books
    const odd = entries.filter((entry) => sumOf(entry) !== 0n).map(({ id }) => `entry ${id} does not sum to zero`)
    return postedNano === 0n ? odd : [...odd, `the sum of all accounts is ${postedNano}`]
  }

  /** Checked over time, as booked: the current balances are in the ledger's own verification. */
  belowFloor(): string[] {
    const posted = new Map<string, bigint>()
    return this.evidence.books.entries.flatMap(({ id, account, floor, amount }) => {
      const balance = (posted.get(account) ?? 0n) + amount
      posted.set(account, balance)
      return floor !== null && balance < floor ? [`${account} was at ${balance} after entry ${id}`] : []
    })
  }

  settledTwice(): string[] {
    const requests = new Map<string, BookedEntry[]>()
    for (const entry of this.evidence.books.entries) if (entry.request !== null) put(requests, entry.request, entry)
    return [...requests].filter(([, each]) => each.length > 1).map(([id, each]) => `${id} has ${each.length} entries`)
  }

  stillHeld(): string[] {
    const { books, leftOpen } = this.evidence
    const forgotten = leftOpen.filter(({ isForgotten }) => isForgotten)
    return [
      ...books.holds.map(({ request }) => `${request} is held although no gateway runs`),
      ...forgotten.map(({ request }) => `${request} was not recovered by the start after its process was killed`),
    ]
  }

  billedOtherwise(): string[] {
    return [...this.bills].flatMap(([name, bills]) => {
      const entries = this.chargesOf(name)
      return entries.length === 1 && bills.length === 1
        ? []
        : [
            `${this.shown(name)} was billed ${bills.length} times (${bills[0]?.ended}) and has ${entries.length} entries`,
          ]
    })
  }

  costOtherwise(): string[] {
    return this.evidence.tracedRequests.flatMap(({ name, seen, stream }) => {
      if (seen.how !== "whole") return []
      const [entry] = this.chargesOf(name)
      const [bill] = this.bills.get(name) ?? []
      if (this.evidence.endedUnsettled && entry?.kind === "recovered") return []
      const booked = entry?.kind === "settled" ? entry.revenue : undefined
      const expected = stream ? booked : nanoOfUsd(seen.cost ?? "")
      if (bill && booked !== undefined && booked === expected && booked === costOf(bill)) return []
      return [`${name}: booked ${booked}, reported ${expected}, billed ${bill && costOf(bill)}, as ${entry?.kind}`]
    })
  }

  chargedUnheld(): string[] {
    const known = new Set(this.keys.values())
    const refused = this.evidence.tracedRequests.filter(({ seen }) => seen.how === "refused" || seen.how === "unasked")
    const booked = refused.filter(({ keyId }) => this.entries.has(keyId))
    return [
      ...booked.map(({ name, seen }) => `${name} was ${seen.how} (${seen.status} ${seen.code}) and has an entry`),
      ...[...this.entries.keys()].filter((key) => !known.has(key)).map((key) => `no request used the key ${key}`),
    ]
  }

  /** The sign distinguishes a new debt from a payment of one. */
  uncovered(): string[] {
    return this.evidence.books.entries.flatMap(({ id, kind, revenue, suspense, writeOff, debt, held, floor }) => {
      if (writeOff > 0n) return [`entry ${id} gives ${writeOff} back by a write-off`]
      if (debt < 0n && kind !== "settled") return [`entry ${id} makes a debt and is ${kind}`]
      const uncovered = debt < 0n ? -writeOff - debt : -writeOff
      if (uncovered === 0n) return []
      return floor === null || revenue + suspense <= (held ?? 0n) ? [`entry ${id} leaves ${uncovered} unpaid`] : []
    })
  }

  recoveredOtherwise(): string[] {
    const byRequest = new Map(this.evidence.books.entries.map((entry) => [entry.request, entry]))
    const names = new Map([...this.keys].map(([name, keyId]) => [keyId, name]))
    return this.evidence.leftOpen.flatMap(({ request, key, amount, lowerBound }) => {
      const entry = byRequest.get(request)
      const [bill] = this.bills.get(names.get(key) ?? "") ?? []
      const rest = amount > lowerBound ? amount - lowerBound : 0n
      const isSo = entry?.kind === "recovered" && entry.revenue === lowerBound && entry.suspense === rest
      const isBound = lowerBound === 0n || (bill !== undefined && lowerBound <= costOf(bill))
      if (isSo && isBound) return []
      return [
        `${request}: held ${amount}, owed ${lowerBound}, billed ${bill && costOf(bill)}, booked ${entry?.kind} ${entry?.revenue} and ${entry?.suspense}`,
      ]
    })
  }
}

function costOf({ input_tokens, output_tokens }: SimulatedCharge): bigint {
  return BigInt(input_tokens) * INPUT_NANO + BigInt(output_tokens) * OUTPUT_NANO
}

function sumOf({ amount, funding, revenue, suspense, writeOff, debt }: BookedEntry): bigint {
  return amount + funding + revenue + suspense + writeOff + debt
}

function put<Item>(groups: Map<string, Item[]>, name: string, item: Item): void {
  const group = groups.get(name)
  if (group) group.push(item)
  else groups.set(name, [item])
}
