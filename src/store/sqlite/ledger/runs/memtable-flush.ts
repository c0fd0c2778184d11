// Flushes the memtable into the durable totals, piece by piece. Nothing counts before the last piece is written, so
// that an interrupted flush, by a crash or a failing store, has no effect.
import type { Database } from "bun:sqlite"
import type { EndedRequests } from "../ended-requests.ts"
import type { ChainMarks, JournalChainLink } from "../journal-chain.ts"
import { type Memtable, type UsageSum, usageLine } from "../memtable.ts"
import { monthOf } from "../spend-totals.ts"
import { escapeName } from "./run-lines.ts"
import { BlockWriter, type SortedRuns } from "./sorted-runs.ts"

interface FlushOutputs {
  readonly ended: EndedRequests
  readonly usage: SortedRuns
  readonly spend: SortedRuns
  readonly chainMarks: ChainMarks
}

interface FlushTarget {
  /** One more than that of the previous flush. */
  readonly run: number
  /** The last entry of the memtable. */
  readonly upTo: JournalChainLink
}

/** Each step writes another piece. */
export type FlushSteps = Generator<void, void>

export class MemtableFlush {
  private readonly post
  private readonly mark

  constructor(
    database: Database,
    private readonly outputs: FlushOutputs,
  ) {
    // Rows of an interrupted flush with the same number do not count.
    const [before, owedBefore] = ["iif(run < ?3, posted, before)", "iif(run < ?3, owed, owed_before)"]
    this.post = database.query(
      `UPDATE account_rows SET before = ${before}, posted = ${before} + ?2,
         owed_before = ${owedBefore}, owed = ${owedBefore} + ?4, run = ?3 WHERE id = ?1`,
    )
    this.mark = database.query("UPDATE ledger_marks SET value = ?2 WHERE name = ?1")
  }

  /** Each step is within a transaction; after a failed one, everything begins again. */
  *steps(memtable: Memtable, { run, upTo }: FlushTarget): FlushSteps {
    const { usage, spend, ended } = this.outputs
    const days = memtable.days()
    const months = new Set([...days].map(monthOf))
    // The interrupted flush had no other days: its entries are all in this memtable.
    for (const day of days) usage.clear(day, run)
    for (const month of months) spend.clear(month, run)
    for (const [id, { nano, owedNano }] of memtable.posted) yield void this.post.run(id, nano, run, owedNano)
    yield* writeRuns(spendLines(memtable), { runs: spend, run })
    yield* writeRuns(usageLines(memtable), { runs: usage, run })
    yield* ended.writeSteps(memtable.ended, run)
    for (const day of days) usage.register(day, { run, level: 0 })
    for (const month of months) spend.register(month, { run, level: 0 })
    this.mark.run("folded-run", run)
    this.mark.run("folded-entry", upTo.entry)
    this.outputs.chainMarks.put(upTo)
  }
}

interface PartLine {
  readonly part: number
  readonly line: string
}

/** Lines per piece; also the number sorted or merged in one step. */
const LINES_AT_ONCE = 256
const SORTED_AT_ONCE = 4096

function* writeRuns(
  lines: Iterable<PartLine>,
  { runs, run }: { readonly runs: SortedRuns; readonly run: number },
): FlushSteps {
  const parts = new Map<number, string[]>()
  let made = 0
  for (const { part, line } of lines) {
    const known = parts.get(part)
    if (known) known.push(line)
    else parts.set(part, [line])
    made += 1
    if (made % LINES_AT_ONCE === 0) yield
  }
  for (const [part, unsorted] of parts) {
    const sorted = yield* sortInSteps(unsorted)
    const writer = new BlockWriter(runs, { part, run })
    for (const line of sorted) if (writer.add(line)) yield
    writer.flush()
  }
}

function* sortInSteps(lines: readonly string[]): Generator<void, readonly string[]> {
  let runs: (readonly string[])[] = []
  for (let from = 0; from < lines.length; from += SORTED_AT_ONCE) {
    runs.push(lines.slice(from, from + SORTED_AT_ONCE).sort())
    yield
  }
  while (runs.length > 1) {
    const merged: (readonly string[])[] = []
    for (let at = 0; at < runs.length; at += 2) merged.push(yield* mergeSortedPair(runs[at] ?? [], runs[at + 1] ?? []))
    runs = merged
  }
  return runs[0] ?? []
}

function* mergeSortedPair(a: readonly string[], b: readonly string[]): Generator<void, readonly string[]> {
  const all: string[] = []
  let [atA, atB] = [0, 0]
  while (all.length < a.length + b.length) {
    const [headA, headB] = [a[atA], b[atB]]
    if (headB === undefined || (headA !== undefined && headA < headB)) {
      all.push(headA as string)
      atA += 1
    } else {
      all.push(headB)
      atB += 1
    }
    if (all.length % SORTED_AT_ONCE === 0) yield
  }
  return all
}

function* usageLines({ usage }: Memtable): Generator<PartLine> {
  for (const [keyId, first] of usage)
    for (let sum: UsageSum | undefined = first; sum; sum = sum.next)
      yield { part: sum.day, line: usageLine(keyId, sum) }
}

function* spendLines({ usage, tenants }: Memtable): Generator<PartLine> {
  const partLine = (holder: string, { day, nano }: { readonly day: number; readonly nano: bigint }) => ({
    part: monthOf(day),
    line: `${escapeName(holder)}\t${day}\t${nano}`,
  })
  for (const [keyId, first] of usage) {
    if (first.next) for (const [day, nano] of paidByDay(first)) yield partLine(`key:${keyId}`, { day, nano })
    else yield partLine(`key:${keyId}`, { day: first.day, nano: first.paidNano })
  }
  for (const [tenant, days] of tenants)
    for (const [day, { nano }] of days) yield partLine(`tenant:${tenant}`, { day, nano })
}

function paidByDay(first: UsageSum): ReadonlyMap<number, bigint> {
  const paid = new Map<number, bigint>()
  for (let sum: UsageSum | undefined = first; sum; sum = sum.next)
    paid.set(sum.day, (paid.get(sum.day) ?? 0n) + sum.paidNano)
  return paid
}
