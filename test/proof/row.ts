// A row of the proof table: a fault or an attack on real processes, and the figures that show whether the promise held.

/** One promise: what was seen, against its bound. */
export interface ProofFigure {
  readonly what: string
  readonly seen: number
  /** The most, or the least, that keeps the promise. */
  readonly atMost?: number
  readonly atLeast?: number
  /** Such as `ms`, `MB`, `of 150`. */
  readonly unit?: string
  /** Whether it is meaningful only on an idle machine; figures in `ms` and `s` always are such. */
  readonly needsQuiet?: true
}

/** Whether a busy machine may break it: then `npm run proof` judges it, and the tests do not. */
export function needsQuiet({ unit, needsQuiet: isMarked }: ProofFigure): boolean {
  return isMarked === true || unit === "ms" || unit === "s"
}

interface RunOptions {
  /** A form that takes seconds, for the tests; else the whole row. */
  readonly short: boolean
  /** Prints progress of a long run. */
  readonly print: (text: string) => void
}

export interface ProofRow {
  /** The number in the proof table. */
  readonly number: number
  readonly title: string
  run(options: RunOptions): Promise<ProofFigure[]>
}

export function isKept({ seen, atMost, atLeast }: ProofFigure): boolean {
  if (Number.isNaN(seen) || (atMost === undefined && atLeast === undefined)) return false
  return (atMost === undefined || seen <= atMost) && (atLeast === undefined || seen >= atLeast)
}

/** One line for people. */
export function describeFigure(figure: ProofFigure): string {
  const { what, seen, atMost, atLeast, unit } = figure
  const written = (value: number) => (Number.isInteger(value) ? String(value) : value.toFixed(1))
  const bounds = [...(atLeast === undefined ? [] : [`≥ ${written(atLeast)}`])]
  if (atMost !== undefined) bounds.push(`≤ ${written(atMost)}`)
  const verdict = isKept(figure) ? "kept" : "BROKEN"
  return `  ${what}: ${written(seen)}${unit ? ` ${unit}` : ""} (${bounds.join(", ")}) ${verdict}`
}
