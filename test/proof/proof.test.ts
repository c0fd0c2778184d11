// The proof table in its short form; `npm run proof` runs it whole.
import { describe, expect, test } from "bun:test"
import { describeFigure, isKept, needsQuiet } from "./row.ts"
import { rows } from "./rows.ts"

describe("the proof rows in their short form", () => {
  test.each(rows.map((row) => [`row ${row.number}: ${row.title}`, row] as const))(
    "the proof row passes: %s",
    async (_, row) => {
      const figures = await row.run({ short: true, print: () => {} })
      const judged = figures.filter((figure) => !needsQuiet(figure))
      expect(judged).not.toBeEmpty()
      expect(judged.filter((figure) => !isKept(figure)).map(describeFigure)).toEqual([])
    },
    // Ends a row that hangs; a busy machine needs several times what an idle one does.
    300_000,
  )
})
