import { expect, test } from "bun:test"
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { errorsPage, providersPage } from "../../scripts/docs-pages.ts"
import { fidelityPage } from "../../scripts/fidelity-page.ts"
import { specificationPage } from "../../scripts/specification-page.ts"

const root = join(import.meta.dir, "..", "..")
const read = (path: string) => readFileSync(join(root, path), "utf8")

test("the errors page matches the code; npm run docs writes it", () => {
  expect(read("docs/errors.md")).toBe(errorsPage())
})

test("the fidelity page matches the codecs; npm run docs writes it", () => {
  expect(read("docs/fidelity.md")).toBe(fidelityPage())
})

test("the specification page matches the tests' table; npm run docs writes it", () => {
  expect(read("docs/specification.md")).toBe(specificationPage())
})

test("the providers page matches the provider table; npm run docs writes it", () => {
  expect(read("docs/providers.md")).toBe(providersPage())
})

test("ARCHITECTURE.md names every module of src/, and no other", () => {
  const rooms = readdirSync(join(root, "src"), { withFileTypes: true }).filter((entry) => entry.isDirectory())
  const named = [...read("ARCHITECTURE.md").matchAll(/^ {2}([a-z]+)\/ /gm)].map(([, name]) => name)
  expect(named.sort()).toEqual(rooms.map(({ name }) => name).sort())
})

test("the README's commands are those of package.json", () => {
  const { scripts } = JSON.parse(read("package.json"))
  const named = [...read("README.md").matchAll(/npm run ([a-z]+)/g)].map(([, name = ""]) => name)
  expect(named.filter((name) => !(name in scripts))).toEqual([])
  expect(read("README.md")).toContain("npm ci && npm start")
  expect(read("README.md")).toContain("npm ci && npm test")
})
