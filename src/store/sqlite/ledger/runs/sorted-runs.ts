// Totals that are too many to be updated one by one. A flush writes a run: sorted lines in consecutive blocks, so that
// each page of the file is written once. A key may be in several runs; its total is the sum of all.
import type { Database } from "bun:sqlite"
import { addLines, lineKeyOf } from "./run-lines.ts"

/** `usage` has a part for every day, `spend` for every month. */
export type SumTree = "usage" | "spend"

/** A position in a run: from a text on, or after it. */
interface RunPosition {
  readonly run: number
  readonly text: string
}

export interface RunBlock {
  readonly id: bigint
  readonly first: string
  readonly lines: string
}

export class SortedRuns {
  private readonly registered
  private readonly nextPart
  private readonly at
  private readonly after
  private readonly insert
  private readonly remove
  private readonly registration

  constructor(
    database: Database,
    readonly tree: SumTree,
  ) {
    const registered = `FROM sum_runs WHERE tree = '${tree}'`
    this.registered = database.query<{ run: bigint }, [number]>(`SELECT run ${registered} AND part = ?1`)
    this.nextPart = database.query<{ part: bigint }, [number]>(
      `SELECT part ${registered} AND part >= ?1 ORDER BY part LIMIT 1`,
    )
    const block = `SELECT id, first, lines FROM ${tree} WHERE part = ?1 AND run = ?2`
    this.at = database.query<RunBlock, [number, number, string]>(`${block} AND first <= ?3 ORDER BY first DESC LIMIT 1`)
    this.after = database.query<RunBlock, [number, number, string]>(`${block} AND first > ?3 ORDER BY first LIMIT 1`)
    this.insert = database.query(`INSERT INTO ${tree} (part, run, first, lines) VALUES (?1, ?2, ?3, ?4)`)
    this.remove = database.query(`DELETE FROM ${tree} WHERE part = ?1 AND run = ?2`)
    this.registration = database.query(`INSERT INTO sum_runs VALUES ('${tree}', ?1, ?2, ?3)`)
  }

  /** The first part from this one on that has lines. */
  partFrom(part: number): number | undefined {
    const next = this.nextPart.get(part)
    return next ? Number(next.part) : undefined
  }

  runsOf(part: number): number[] {
    return this.registered.all(part).map(({ run }) => Number(run))
  }

  /** The block that would contain a text. */
  blockAt(part: number, { run, text }: RunPosition): RunBlock | undefined {
    return this.at.get(part, run, text) ?? undefined
  }

  blockAfter(part: number, { run, text }: RunPosition): RunBlock | undefined {
    return this.after.get(part, run, text) ?? undefined
  }

  *linesFrom(part: number, { run, text }: RunPosition): Generator<string> {
    let block = this.blockAt(part, { run, text }) ?? this.blockAfter(part, { run, text })
    for (; block; block = this.blockAfter(part, { run, text: block.first }))
      for (const line of block.lines.split("\n")) if (line >= text) yield line
  }

  /** Every line of any run that begins with `text`. */
  *linesWithPrefix(part: number, text: string): Generator<string> {
    for (const run of this.runsOf(part))
      for (const line of this.linesFrom(part, { run, text })) {
        if (!line.startsWith(text)) break
        yield line
      }
  }

  /** Removes what an interrupted flush wrote. */
  clear(part: number, run: number): void {
    this.remove.run(part, run)
  }

  write(part: number, { run, lines }: { readonly run: number; readonly lines: readonly string[] }): void {
    this.insert.run(part, run, lineKeyOf(lines[0] ?? ""), lines.join("\n"))
  }

  /** Makes a run count. */
  register(part: number, { run, level }: { readonly run: number; readonly level: number }): void {
    this.registration.run(part, run, level)
  }
}

/** A block and its row fit one page of the file. */
const BLOCK_LENGTH = 3900

/** Collects sorted lines and writes them block by block. */
export class BlockWriter {
  private lines: string[] = []
  private length = 0

  constructor(
    private readonly runs: SortedRuns,
    private readonly into: { readonly part: number; readonly run: number },
  ) {}

  /** True if a block was written. */
  add(line: string): boolean {
    const isFull = this.length + line.length > BLOCK_LENGTH
    if (isFull) this.flush()
    this.lines.push(line)
    this.length += line.length + 1
    return isFull
  }

  flush(): void {
    const { part, run } = this.into
    if (this.lines.length > 0) this.runs.write(part, { run, lines: this.lines })
    this.lines = []
    this.length = 0
  }
}

/** Sums lines with equal keys; the input is sorted. */
export function* sumEqualKeys(lines: Iterable<string>): Generator<string> {
  let current: string | undefined
  for (const line of lines) {
    if (current !== undefined && hasSameKey(current, line)) current = addLines(current, line)
    else {
      if (current !== undefined) yield current
      current = line
    }
  }
  if (current !== undefined) yield current
}

function hasSameKey(a: string, b: string): boolean {
  const length = a.lastIndexOf("\t") + 1
  return b.lastIndexOf("\t") + 1 === length && b.startsWith(a.slice(0, length))
}

/** Merges the sorted lines of several sources. */
export function* mergeSortedLines(sources: readonly Iterator<string>[]): Generator<string> {
  const heads = sources.flatMap((source) => {
    const { done, value } = source.next()
    return done ? [] : [{ source, line: value }]
  })
  while (heads.length > 0) {
    let least = 0
    for (let at = 1; at < heads.length; at++) if (lineAt(heads, at) < lineAt(heads, least)) least = at
    yield lineAt(heads, least)
    const head = heads[least] as (typeof heads)[number]
    const { done, value } = head.source.next()
    if (done) heads.splice(least, 1)
    else head.line = value
  }
}

function lineAt(heads: readonly { readonly line: string }[], at: number): string {
  return heads[at]?.line ?? ""
}
