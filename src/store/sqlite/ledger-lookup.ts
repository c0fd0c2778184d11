// What was paid at very many places of a tree. Asked for in their order, they cost no more than one look at each block.
import { paidOf } from "./ledger-lines.ts"
import type { Block, Runs } from "./ledger-runs.ts"

/** Where it stands in a run. */
interface Cursor {
  readonly run: number
  block: Block | undefined
  lines: readonly string[]
  at: number
}

export class Lookup {
  private readonly parts = new Map<number, Cursor[]>()

  constructor(private readonly runs: Runs) {}

  /** On all lines that begin so. */
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

  private paidIn(cursor: Cursor, { part, text }: { readonly part: number; readonly text: string }): bigint {
    const { run, lines, at } = cursor
    const isPast = (lines[at - 1] ?? "") >= text
    if (isPast || (lines.at(-1) ?? "") < text) enter(cursor, this.runs.blockAt(part, { run, text }))
    let nano = 0n
    for (;;) {
      const line = cursor.lines[cursor.at]
      if (line === undefined) {
        const next = this.runs.blockAfter(part, { run, text: cursor.block?.first ?? "" })
        if (!next) return nano
        enter(cursor, next)
      } else if (line < text) cursor.at += 1
      else if (line.startsWith(text)) {
        nano += paidOf(line)
        cursor.at += 1
      } else return nano
    }
  }
}

function enter(cursor: Cursor, block: Block | undefined): void {
  cursor.block = block
  cursor.lines = block ? block.lines.split("\n") : []
  cursor.at = 0
}
