import { expect, test } from "bun:test"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { directiveRows } from "../../src/simulator/directives.ts"

const page = readFileSync(join(import.meta.dir, "..", "..", "docs", "simulator.md"), "utf8")

test("the words in the simulator page are those of the grammar", () => {
  const [, table = ""] = page.split("| word | N | what happens |\n|---|---|---|\n")
  expect(table.split("\n\n", 1)[0]?.split("\n")).toEqual(directiveRows())
})
