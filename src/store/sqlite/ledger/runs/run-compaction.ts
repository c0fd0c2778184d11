// Merges many runs into one, so that a lookup reads few blocks. A step moves the first lines of all runs into the new
// one: together they hold the same sums before and after.
import type { Database } from "bun:sqlite"
import { afterLineKey, lineKeyOf } from "./run-lines.ts"
import { BlockWriter, type RunBlock, type SortedRuns, sumEqualKeys } from "./sorted-runs.ts"

/** Runs merged at once: with more, each step would have to read the next block of each. */
const RUNS_AT_ONCE = 16

interface CompactionJob {
  readonly part: number
  readonly from: readonly number[]
  readonly into: number
}

/** The next block of a run, and the number of its lines that were moved. */
interface CompactionSource {
  readonly run: number
  readonly block: RunBlock
  readonly lines: readonly string[]
  moved: number
}

export class RunCompaction {
  private job: CompactionJob | undefined
  private readonly crowded
  private readonly ofLevel
  private readonly lowest
  private readonly drop
  private readonly cut
  private readonly unregister

  constructor(
    database: Database,
    private readonly runs: SortedRuns,
  ) {
    const { tree } = runs
    const registered = `FROM sum_runs WHERE tree = '${tree}'`
    this.crowded = database.query<{ part: bigint; level: bigint }, [number]>(
      `SELECT part, level ${registered} GROUP BY part, level HAVING count(*) >= ?1 LIMIT 1`,
    )
    this.ofLevel = database.query<{ run: bigint }, [bigint, bigint]>(
      `SELECT run ${registered} AND part = ?1 AND level = ?2 LIMIT ${RUNS_AT_ONCE}`,
    )
    this.lowest = database.query<{ run: bigint }, [bigint]>(`SELECT min(run) AS run ${registered} AND part = ?1`)
    this.drop = database.query(`DELETE FROM ${tree} WHERE id = ?1`)
    this.cut = database.query(`UPDATE ${tree} SET first = ?2, lines = ?3 WHERE id = ?1`)
    this.unregister = database.query(`DELETE ${registered} AND part = ?1 AND run = ?2`)
  }

  /** True if enough runs of one level exist. */
  isDue(runs: number): boolean {
    return this.crowded.get(runs) !== null
  }

  /** Merges runs of one level into one of the next, within a transaction, as long as `mayGoOn` allows. */
  step(mayGoOn: () => boolean): void {
    this.job ??= this.begin()
    if (!this.job) return
    const { part, from, into } = this.job
    const writer = new BlockWriter(this.runs, { part, run: into })
    let sources = from.flatMap((run) => this.source(part, { run, text: "" }) ?? [])
    do {
      for (const line of sumEqualKeys(takeMergeable(sources))) writer.add(line)
      sources = sources.flatMap((openSource) => this.advanceSource(part, openSource) ?? [])
    } while (sources.length > 0 && mayGoOn())
    writer.flush()
    for (const { block, lines, moved } of sources) {
      if (moved === 0) continue
      const rest = lines.slice(moved)
      this.cut.run(block.id, lineKeyOf(rest[0] ?? ""), rest.join("\n"))
    }
    if (sources.length === 0) this.end(this.job)
  }

  /** Called after a failed transaction: its steps did not happen. */
  forget(): void {
    this.job = undefined
  }

  private begin(): CompactionJob | undefined {
    const crowded = this.crowded.get(RUNS_AT_ONCE)
    if (!crowded) return undefined
    const { part, level } = crowded
    const from = this.ofLevel.all(part, level).map(({ run }) => Number(run))
    // Negative, so that it is never the number of a flush.
    const into = Math.min(0, Number(this.lowest.get(part)?.run)) - 1
    this.runs.register(Number(part), { run: into, level: Number(level) + 1 })
    return { part: Number(part), from, into }
  }

  private end({ part, from }: CompactionJob): void {
    for (const run of from) this.unregister.run(part, run)
    this.job = undefined
  }

  private source(part: number, spot: { readonly run: number; readonly text: string }): CompactionSource | undefined {
    const block = this.runs.blockAfter(part, spot)
    return block && { run: spot.run, block, lines: block.lines.split("\n"), moved: 0 }
  }

  private advanceSource(part: number, source: CompactionSource): CompactionSource | undefined {
    const { run, block, lines, moved } = source
    if (moved < lines.length) return source
    this.drop.run(block.id)
    return this.source(part, { run, text: block.first })
  }
}

/** Takes the lines of each source up to the end of the block that ends first: after it, any source may have more. */
function takeMergeable(sources: readonly CompactionSource[]): string[] {
  const ends = sources.map(({ lines }) => lineKeyOf(lines.at(-1) ?? "")).sort()
  const end = afterLineKey(ends[0] ?? "")
  const all: string[] = []
  for (const source of sources) {
    const { lines } = source
    for (let line = lines[source.moved]; line !== undefined && line < end; line = lines[source.moved]) {
      all.push(line)
      source.moved += 1
    }
  }
  return all.sort()
}
