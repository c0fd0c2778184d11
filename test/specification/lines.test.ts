// The table of requirements, the files of this folder and their tests name the same requirements.
import { expect, test } from "bun:test"
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { TABLES, WAITING } from "./lines.ts"

const suites = [...new Set(TABLES.map(({ suite }) => suite))]
/** Tests of this folder that are not about lines of the specification. */
const OTHER_TESTS = ["lines.test.ts", "machine-names.test.ts"]
const ids = TABLES.flatMap(({ lines }) => Object.keys(lines))

test("every requirement has an id of its own, and no id is the beginning of another test's name", () => {
  expect(new Set(ids).size).toBe(ids.length)
  expect(ids.filter((id) => !/^[a-z-]+\.[\w.[\]-]+$/.test(id))).toEqual([])
})

test("every waiting id is a requirement", () => {
  expect(Object.keys(WAITING).filter((id) => !ids.includes(id))).toEqual([])
})

test("every suite of the table is a file here, and every file is a suite", () => {
  const files = readdirSync(import.meta.dir).filter((name) => name.endsWith(".test.ts") && !OTHER_TESTS.includes(name))
  expect(files.sort()).toEqual(suites.map((suite) => `${suite}.test.ts`).sort())
})

test.each(suites)("%s names a requirement in each of its tests, and checks that none is missing", (suite) => {
  const text = readFileSync(join(import.meta.dir, `${suite}.test.ts`), "utf8")
  expect(text).toEndWith(`\nnothingForgotten("${suite}")\n`)
  const [, imported = ""] = /^import \{ ([^}]*) \} from "bun:test"$/m.exec(text) ?? []
  expect(
    imported.split(", ").filter((name) => !["afterAll", "beforeAll", "beforeEach", "expect"].includes(name)),
  ).toEqual([])
})
