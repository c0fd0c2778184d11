// Pages of usage: the runs of each day merged with the memtables.
import type { Database } from "bun:sqlite"
import { USE_COUNTS, type UsageFilter, type UsageRow, type UsageTable } from "../../contract.ts"
import type { LedgerState } from "./ledger-state.ts"
import { type Memtable, type MemtablePair, usageLine } from "./memtable.ts"
import { afterLineKey, escapeName, lineKeyOf, numbersOf, unescapeName, usageLineKey } from "./runs/run-lines.ts"
import { mergeSortedLines, type SortedRuns, sumEqualKeys } from "./runs/sorted-runs.ts"

interface UsageSources {
  readonly runs: SortedRuns
  readonly memtables: MemtablePair
}

export function usageTable(database: Database, standing: LedgerState): UsageTable {
  return {
    page: (filter) => {
      const { usage: runs, memtables } = standing.ready()
      const rows: UsageRow[] = []
      const days = daysFrom(filter.after?.day ?? filter.from, { runs, memtables })
      for (let next = days.next(); !next.done && next.value <= filter.to; next = days.next())
        for (const row of dayRows(next.value, { filter, runs, memtables })) {
          if (filter.model === undefined || row.model === filter.model) rows.push(row)
          if (rows.length === filter.limit) return rows
        }
      return rows
    },
    dropBefore: createDropBefore(database),
  }
}

/** Every day from this one on that has usage. */
function* daysFrom(first: number, { runs, memtables }: UsageSources): Generator<number> {
  const unflushed = memtables.all().flatMap((memtable) => [...memtable.days()])
  for (let day = first; ; day++) {
    day = Math.min(runs.partFrom(day) ?? Number.POSITIVE_INFINITY, ...unflushed.filter((each) => each >= day))
    if (day === Number.POSITIVE_INFINITY) return
    yield day
  }
}

interface UsageDayOptions extends UsageSources {
  readonly filter: UsageFilter
}

function* dayRows(day: number, { filter, runs, memtables }: UsageDayOptions): Generator<UsageRow> {
  const { tenant, keyId, after } = filter
  const whose =
    tenant === undefined ? "" : `${escapeName(tenant)}\t${keyId === undefined ? "" : `${escapeName(keyId)}\t`}`
  const last = after?.day === day ? afterLineKey(usageLineKey(after)) : ""
  const start = [whose, last].sort().at(-1) ?? ""
  const flushed = runs.runsOf(day).map((run) => runs.linesFrom(day, { run, text: start }))
  const unflushed = memtables.all().map((memtable) => memtableLines(memtable, { day, start }))
  for (const line of sumEqualKeys(mergeSortedLines([...flushed, ...unflushed]))) {
    if (!line.startsWith(whose)) return
    yield parseUsageLine(day, line)
  }
}

/** Lines are built only for the requested rows, usually few of many. */
function* memtableLines(
  { usage }: Memtable,
  { day, start }: { readonly day: number; readonly start: string },
): Generator<string> {
  const prefixes: string[] = []
  for (const [keyId, first] of usage)
    for (let sum: typeof first | undefined = first; sum; sum = sum.next) {
      if (sum.day !== day) continue
      const prefix = `${escapeName(sum.tenant)}\t${escapeName(keyId)}`
      // The full key begins with the prefix, so a prefix sorts before `start` only if all of its lines do.
      if (prefix >= start || start.startsWith(prefix)) prefixes.push(prefix)
    }
  prefixes.sort()
  let before: string | undefined
  for (const prefix of prefixes) {
    if (prefix === before) continue
    before = prefix
    const [tenant = "", key = ""] = prefix.split("\t").map(unescapeName)
    const lines: string[] = []
    for (let sum = usage.get(key); sum; sum = sum.next)
      if (sum.day === day && sum.tenant === tenant) lines.push(usageLine(key, sum))
    for (const line of lines.sort()) if (line >= start) yield line
  }
}

function parseUsageLine(day: number, line: string): UsageRow {
  const [tenant = "", keyId = "", model = "", provider = ""] = lineKeyOf(line).split("\t").map(unescapeName)
  const numbers = numbersOf(line)
  const counts = Object.fromEntries(USE_COUNTS.map((name, at) => [name, Number(numbers[at])]))
  const key = { day, tenant, keyId, model, provider, requests: Number(numbers[USE_COUNTS.length]) }
  return { ...key, ...(counts as Record<(typeof USE_COUNTS)[number], number>), paidNano: BigInt(numbers.at(-1) ?? "") }
}

function createDropBefore(database: Database): UsageTable["dropBefore"] {
  const oldest = database.query<{ id: bigint; part: bigint; lines: string }, [number]>(
    "SELECT id, part, lines FROM usage WHERE part < ?1 ORDER BY part, run, first LIMIT 1",
  )
  const remove = database.query("DELETE FROM usage WHERE id = ?1")
  const cut = database.query("UPDATE usage SET first = ?2, lines = ?3 WHERE id = ?1")
  const unregister = database.query(
    "DELETE FROM sum_runs WHERE tree = 'usage' AND part = ?1 AND NOT EXISTS (SELECT 1 FROM usage WHERE part = ?1)",
  )
  const dropped = database.query("UPDATE ledger_marks SET value = max(value, ?1) WHERE name = 'usage-from-day'")
  return (day, limit) => {
    dropped.run(day)
    let went = 0
    for (let block = oldest.get(day); block && went < limit; block = oldest.get(day)) {
      const lines = block.lines.split("\n")
      const rest = lines.slice(limit - went)
      went += lines.length - rest.length
      if (rest.length > 0) cut.run(block.id, lineKeyOf(rest[0] ?? ""), rest.join("\n"))
      else remove.run(block.id)
      unregister.run(block.part)
    }
    return went
  }
}
