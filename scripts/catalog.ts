// Compares the bundled catalogue with a file of facts: node scripts/bun.mjs scripts/catalog.ts FACTS [--write] [AUTHOR …]
// Prints what differs. With --write, prices and limits are taken over; what is gone or new stays for you to decide.
import { readdirSync, readFileSync, writeFileSync } from "node:fs"
import { compare, type ModelFile, printModelFile } from "./catalog-compare.ts"
import { readFacts } from "./catalog-facts.ts"

const folder = new URL("../src/catalog/models/", import.meta.url)
const words = process.argv.slice(2)
const [facts, ...authors] = words.filter((word) => !word.startsWith("--"))
const writes = words.includes("--write")

if (facts === undefined || words.some((word) => word.startsWith("--") && word !== "--write")) {
  console.error("usage: node scripts/bun.mjs scripts/catalog.ts FACTS [--write] [AUTHOR …]")
  process.exit(2)
}

const files = readdirSync(folder)
  .map((name) => JSON.parse(readFileSync(new URL(name, folder), "utf8")) as ModelFile)
  .filter(({ author }) => authors.length === 0 || authors.includes(author))
const differences = compare(files, readFacts(JSON.parse(readFileSync(facts, "utf8"))))
for (const { message } of differences) console.log(message)

if (writes) {
  for (const { apply } of differences) apply?.()
  const touched = files.filter(({ author }) => differences.some((each) => each.author === author && each.apply))
  for (const file of touched) writeFileSync(new URL(`${file.author}.json`, folder), printModelFile({ ...file }))
  console.log(`${touched.length} files written. Now: npm run format && npm test -- catalog`)
} else console.log(`${differences.length} differences. Nothing was written.`)
