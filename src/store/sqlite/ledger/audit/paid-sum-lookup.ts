// Looks up paid sums of many keys of a tree. In sorted order, each block is read once.
import { paidOf } from "../runs/run-lines.ts"
import type { RunBlock, SortedRuns } from "../runs/sorted-runs.ts"

/** Its position in a run. */
interface RunCursor {
  readonly run: number
  block: RunBlock | undefined
  lines: readonly string[]
  at: number
}

export class PaidSumLookup {
  private readonly parts = new Map<number, RunCursor[]>()

  constructor(private readonly runs: SortedRuns) {}

  /** The paid sum of all lines that begin with `text`. */
  paid(part: number, text: string): bigint {
    let cursors = this.parts.get(part)
    if (!cursors) {
      cursors = this.runs.runsOf(part).map((run) => ({ run, block: undefined, lines: [], at: 0 }))
      this.parts.set(part, cursors)
    }
    let nano = 0n
    for (const cursor of cursors) nano += this.paidIn(cursor, { part, text })
    return nano
  }

  private paidIn(cursor: RunCursor, { part, text }: { readonly part: number; readonly text: string }): bigint {
    const { run, lines, at } = cursor
    const isPast = (lines[at - 1] ?? "") >= text
    if (isPast || (lines.at(-1) ?? "") < text) enterBlock(cursor, this.runs.blockAt(part, { run, text }))
    let nano = 0n
    for (;;) {
      const line = cursor.lines[cursor.at]
      if (line === undefined) {
        const next = this.runs.blockAfter(part, { run, text: cursor.block?.first ?? "" })
        if (!next) return nano
        enterBlock(cursor, next)
      } else if (line < text) cursor.at += 1
      else if (line.startsWith(text)) {
        nano += paidOf(line)
        cursor.at += 1
      } else return nano
    }
  }
}

function enterBlock(cursor: RunCursor, block: RunBlock | undefined): void {
  cursor.block = block
  cursor.lines = block ? block.lines.split("\n") : []
  cursor.at = 0
}
