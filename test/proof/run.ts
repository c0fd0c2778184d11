// npm run proof [-- ROW …]: the whole proof table, each figure against its bound. Exits with 1 if one is broken.
import { describeFigure, isKept } from "./row.ts"
import { rows } from "./rows.ts"

const wanted = process.argv.slice(2).map(Number)
const unknown = wanted.filter((number) => !rows.some((row) => row.number === number))
if (unknown.length > 0) {
  console.error(`There is no row ${unknown.join(", ")}. There are: ${rows.map(({ number }) => number).join(", ")}.`)
  process.exit(2)
}

let broken = 0
for (const row of rows.filter(({ number }) => wanted.length === 0 || wanted.includes(number))) {
  const startedAt = performance.now()
  console.log(`row ${row.number}: ${row.title}`)
  try {
    const figures = await row.run({ short: false, print: (text) => console.log(`    ${text}`) })
    for (const figure of figures) console.log(describeFigure(figure))
    broken += figures.length === 0 ? 1 : figures.filter((figure) => !isKept(figure)).length
  } catch (thrown) {
    console.log(`  BROKEN: ${thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown)}`)
    broken++
  }
  console.log(`  took ${Math.round((performance.now() - startedAt) / 1000)} s`)
}
console.log(broken === 0 ? "Every bound was kept." : `BROKEN: ${broken}.`)
process.exit(broken === 0 ? 0 : 1)
