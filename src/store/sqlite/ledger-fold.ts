// Folds what was booked into the durable sums, piece by piece. Nothing of a fold counts before its last piece is
// written, so that one which is cut short, by a crash or a failing store, has never been.
import type { Database } from "bun:sqlite"
import type { ChainLink, ChainMarks } from "./ledger-chain.ts"
import type { EndedRequests } from "./ledger-ended.ts"
import { plain } from "./ledger-lines.ts"
import { BlockWriter, type Runs } from "./ledger-runs.ts"
import { monthOf } from "./ledger-spending.ts"
import { type Tail, type UsageSum, usageLine } from "./ledger-tail.ts"

interface Sums {
  readonly ended: EndedRequests
  readonly usage: Runs
  readonly spend: Runs
  readonly chainMarks: ChainMarks
}

interface Target {
  /** One more than that of the fold before. */
  readonly run: number
  /** The last entry that is in the tail. */
  readonly upTo: ChainLink
}

/** Every step writes another piece. */
export type Pieces = Generator<void, void>

export class Fold {
  private readonly post
  private readonly mark

  constructor(
    database: Database,
    private readonly sums: Sums,
  ) {
    // What a fold of the same number wrote that was cut short does not count.
    const [before, owedBefore] = ["iif(run < ?3, posted, before)", "iif(run < ?3, owed, owed_before)"]
    this.post = database.query(
      `UPDATE account_rows SET before = ${before}, posted = ${before} + ?2,
         owed_before = ${owedBefore}, owed = ${owedBefore} + ?4, run = ?3 WHERE id = ?1`,
    )
    this.mark = database.query("UPDATE ledger_marks SET value = ?2 WHERE name = ?1")
  }

  /** Each step is within a transaction; when one has failed, all begins anew. */
  *pieces(tail: Tail, { run, upTo }: Target): Pieces {
    const { usage, spend, ended } = this.sums
    const days = tail.days()
    const months = new Set([...days].map(monthOf))
    // What was cut short had no other days: all that it folded is in this tail too.
    for (const day of days) usage.clear(day, run)
    for (const month of months) spend.clear(month, run)
    for (const [id, { nano, owedNano }] of tail.posted) yield void this.post.run(id, nano, run, owedNano)
    yield* written(spendLines(tail), { runs: spend, run })
    yield* written(usageLines(tail), { runs: usage, run })
    yield* ended.pieces(tail.ended, run)
    for (const day of days) usage.register(day, { run, level: 0 })
    for (const month of months) spend.register(month, { run, level: 0 })
    this.mark.run("folded-run", run)
    this.mark.run("folded-entry", upTo.entry)
    this.sums.chainMarks.put(upTo)
  }
}

interface PartLine {
  readonly part: number
  readonly line: string
}

/** So many lines are a piece, and so many are sorted or merged in one. */
const LINES_AT_ONCE = 256
const SORTED_AT_ONCE = 4096

function* written(lines: Iterable<PartLine>, { runs, run }: { readonly runs: Runs; readonly run: number }): Pieces {
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
    const sorted = yield* sortedInPieces(unsorted)
    const writer = new BlockWriter(runs, { part, run })
    for (const line of sorted) if (writer.add(line)) yield
    writer.flush()
  }
}

function* sortedInPieces(lines: readonly string[]): Generator<void, readonly string[]> {
  let runs: (readonly string[])[] = []
  for (let from = 0; from < lines.length; from += SORTED_AT_ONCE) {
    runs.push(lines.slice(from, from + SORTED_AT_ONCE).sort())
    yield
  }
  while (runs.length > 1) {
    const merged: (readonly string[])[] = []
    for (let at = 0; at < runs.length; at += 2) merged.push(yield* mergedPair(runs[at] ?? [], runs[at + 1] ?? []))
    runs = merged
  }
  return runs[0] ?? []
}

function* mergedPair(a: readonly string[], b: readonly string[]): Generator<void, readonly string[]> {
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

function* usageLines({ usage }: Tail): Generator<PartLine> {
  for (const [keyId, first] of usage)
    for (let sum: UsageSum | undefined = first; sum; sum = sum.next)
      yield { part: sum.day, line: usageLine(keyId, sum) }
}

function* spendLines({ usage, tenants }: Tail): Generator<PartLine> {
  const partLine = (holder: string, { day, nano }: { readonly day: number; readonly nano: bigint }) => ({
    part: monthOf(day),
    line: `${plain(holder)}\t${day}\t${nano}`,
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
