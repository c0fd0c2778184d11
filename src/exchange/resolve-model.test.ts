import { describe, expect, test } from "bun:test"
import fc from "fast-check"
import { bundledModels } from "../catalog/bundled-models.ts"
import { Catalog, type CatalogModel } from "../catalog/catalog.ts"
import { resolveModel, suggestModels } from "./resolve-model.ts"

const catalog = new Catalog(bundledModels())
const names = catalog.models.flatMap(({ id, aliases }) => [id, ...aliases])
const anyName = fc.constantFrom(...names)
const randomCase = (name: string) =>
  fc
    .array(fc.boolean(), { minLength: name.length, maxLength: name.length })
    .map((upper) => [...name].map((letter, at) => (upper[at] ? letter.toUpperCase() : letter.toLowerCase())).join(""))

describe("a model name", () => {
  test("an exact model name resolves to its catalogue entry in any scope", () => {
    fc.assert(
      fc.property(anyName, (name) => {
        expect(resolveModel(name, { catalog, scope: ["none/*"] })).toBe(catalog.find(name))
      }),
    )
  })

  test("a model name in any letter case resolves to one model of the scope or to none", () => {
    fc.assert(
      fc.property(
        anyName.chain(randomCase),
        fc.constantFrom(null, ["openai/*"], ["meta/*", "google/*"]),
        (name, scope) => {
          if (catalog.find(name)) return
          const model = resolveModel(name, { catalog, scope })
          if (!model) return
          expect(scope === null || scope.some((each) => model.id.startsWith(each.slice(0, -1)))).toBe(true)
          expect([model.id, ...model.aliases].map((each) => each.toLowerCase())).toContain(name.toLowerCase())
        },
      ),
    )
  })

  test("a model name in lower case always resolves in the bundled catalogue", () => {
    for (const name of names)
      expect([name, resolveModel(name.toLowerCase(), { catalog, scope: null })?.id]).toEqual([
        name,
        catalog.find(name)?.id,
      ])
  })

  test("a name of an object's built-in member resolves to no model", () => {
    for (const name of ["__proto__", "constructor", "toString:nitro", ":nitro", "", "/"]) {
      expect(resolveModel(name, { catalog, scope: null })).toBeUndefined()
    }
  })
})

const suggest = (name: string, isCallable: (model: CatalogModel) => boolean = () => true) =>
  suggestModels(name, { models: catalog.models, isCallable })

describe("suggestions", () => {
  test("suggestions omit models that cannot be called", () => {
    expect(suggest("gpt4o")[0]).toBe("openai/gpt-4o")
    expect(suggest("gpt4o", ({ id }) => id !== "openai/gpt-4o")).not.toContain("openai/gpt-4o")
    expect(suggest("gpt4o", () => false)).toEqual([])
  })

  test("suggestions are at most three of the models given, for any text", () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 300 }), (name) => {
        const suggested = suggest(name)
        expect(suggested.length).toBeLessThanOrEqual(3)
        for (const id of suggested) expect(catalog.find(id)?.id).toBe(id)
      }),
    )
  })

  test("a model name with one wrong letter gets a suggestion", () => {
    for (const { id } of catalog.models) {
      const slipped = `${id.slice(0, -1)}~`
      expect([id, suggest(slipped).length > 0]).toEqual([id, true])
    }
  })
})
