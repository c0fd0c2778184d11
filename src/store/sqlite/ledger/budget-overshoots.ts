// Budgets that reported usage has exceeded. There are few, and all of them are in memory, because every hold with a
// budget reads its own.
import type { Database } from "bun:sqlite"
import type { OvershootRow } from "../../contract.ts"

interface OvershootColumns {
  readonly holder: string
  readonly period: OvershootRow["period"]
  readonly first_day: bigint
  readonly limit_nano: bigint
  readonly carried: bigint
  readonly over: bigint
}

export class BudgetOvershoots {
  private readonly rows = new Map<string, OvershootRow>()
  private readonly all
  private readonly replace

  constructor(database: Database) {
    this.all = database.query<OvershootColumns, []>("SELECT * FROM overshoots")
    this.replace = database.query("REPLACE INTO overshoots VALUES (?1, ?2, ?3, ?4, ?5, ?6)")
  }

  find(holder: string, period: OvershootRow["period"]): OvershootRow | undefined {
    return this.rows.size === 0 ? undefined : this.rows.get(nameOf({ holder, period }))
  }

  put(row: OvershootRow): void {
    const { holder, period, from, limitNano, carriedNano, overNano } = row
    this.replace.run(holder, period, from, limitNano, carriedNano, overNano)
    this.rows.set(nameOf(row), row)
  }

  /** Loads the overshoots, also after a failed transaction. */
  load(): void {
    this.rows.clear()
    for (const { holder, period, first_day, limit_nano, carried, over } of this.all.all()) {
      const nano = { limitNano: limit_nano, carriedNano: carried, overNano: over }
      const row = { holder, period, from: Number(first_day), ...nano }
      this.rows.set(nameOf(row), row)
    }
  }
}

function nameOf({ holder, period }: Pick<OvershootRow, "holder" | "period">): string {
  return `${period} ${holder}`
}
