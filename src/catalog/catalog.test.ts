import { describe, expect, test } from "bun:test"
import fc from "fast-check"
import { Catalog } from "./catalog.ts"
import { model, target } from "./model.fixture.ts"

const llama = model("meta/llama-3.3-70b", {
  aliases: ["llama-3.3-70b", "meta-llama/Llama-3.3-70B-Instruct"],
  pricing: { input: "0.59" },
  targets: [
    target("groq", "llama-3.3-70b-versatile"),
    target("together", "meta-llama/Llama-3.3-70B-Instruct-Turbo", { pricing: { input: "1.04" } }),
  ],
})

describe("a model is found", () => {
  const catalog = new Catalog([llama])

  test.each(["meta/llama-3.3-70b", "llama-3.3-70b", "meta-llama/Llama-3.3-70B-Instruct"])(
    "a model is found by its name %p",
    (name) => {
      expect(catalog.find(name)).toBe(catalog.models[0])
    },
  )

  test("a model is not found by half a name, another case or an empty name", () => {
    for (const name of ["meta/llama", "llama-3.3", "Meta/llama-3.3-70b", "", "/", "meta/", "/llama-3.3-70b"]) {
      expect(catalog.find(name)).toBeUndefined()
    }
  })

  test("a model is not found by names such as constructor or __proto__", () => {
    for (const name of ["__proto__", "constructor", "groq/__proto__", "groq/constructor"]) {
      expect(catalog.find(name)).toBeUndefined()
    }
  })
})

describe("an alias", () => {
  const theirs = model("acme/tuned", { aliases: ["tuned", "chat"] })

  test("an alias prefers the model whose author uses it", () => {
    const own = model("meta/chat", { aliases: ["chat"] })
    expect(new Catalog([theirs, own]).find("chat")?.id).toBe("meta/chat")
    expect(new Catalog([own, theirs]).find("chat")?.id).toBe("meta/chat")
  })

  test("an alias of two models names neither", () => {
    const rival = model("other/tuned", { aliases: ["tuned", "chat"] })
    const catalog = new Catalog([theirs, rival])
    expect(catalog.find("chat")).toBeUndefined()
    expect(catalog.find("tuned")).toBeUndefined()
    expect(catalog.find("other/tuned")?.id).toBe("other/tuned")
  })

  test("an alias never hides an id", () => {
    const thief = model("acme/thief", { aliases: ["acme/tuned"] })
    expect(new Catalog([thief, theirs]).find("acme/tuned")?.id).toBe("acme/tuned")
  })
})

describe("a host prefix", () => {
  const catalog = new Catalog([llama])

  test.each([
    ["groq/llama-3.3-70b", "llama-3.3-70b-versatile"],
    ["groq/meta/llama-3.3-70b", "llama-3.3-70b-versatile"],
    ["groq/llama-3.3-70b-versatile", "llama-3.3-70b-versatile"],
    ["together/llama-3.3-70b", "meta-llama/Llama-3.3-70B-Instruct-Turbo"],
    ["together/meta-llama/Llama-3.3-70B-Instruct-Turbo", "meta-llama/Llama-3.3-70B-Instruct-Turbo"],
  ])("the name %p pins the host", (name, there) => {
    const found = catalog.find(name)
    expect(found?.id).toBe(name)
    expect(found?.targets.map((each) => each.model)).toEqual([there])
  })

  test("a model pinned to a host has that host's price", () => {
    expect(catalog.find("groq/llama-3.3-70b")?.pricing).toEqual({ input: "0.59" })
    expect(catalog.find("together/llama-3.3-70b")?.pricing).toEqual({ input: "1.04" })
  })

  test("a model is not found at a host that does not serve it, nor by a host's model name without the host", () => {
    expect(catalog.find("openai/llama-3.3-70b")).toBeUndefined()
    expect(catalog.find("groq/meta-llama/Llama-3.3-70B-Instruct-Turbo")).toBeUndefined()
    expect(catalog.find("llama-3.3-70b-versatile")).toBeUndefined()
  })

  test("a model pinned to a host is not listed separately", () => {
    expect(catalog.models.map(({ id }) => id)).toEqual(["meta/llama-3.3-70b"])
  })

  test("a pinned name selects one target if a host serves a model under two names", () => {
    const twice = model("a/m", { aliases: ["m"], targets: [target("h", "m-fast"), target("h", "m-slow")] })
    const found = new Catalog([twice])
    expect(found.find("h/m")?.targets.map((each) => each.model)).toEqual(["m-fast", "m-slow"])
    expect(found.find("h/m-slow")?.targets.map((each) => each.model)).toEqual(["m-slow"])
  })
})

describe("a catalogue of any models", () => {
  const name: fc.Arbitrary<string> = fc.constantFrom("a", "b", "c", "d", "a/b", "b/c")
  const models = fc.uniqueArray(
    fc.record({
      id: fc.tuple(fc.constantFrom("x", "y", "z"), name).map((parts) => parts.join("/")),
      aliases: fc.array(name, { maxLength: 3 }),
      targets: fc.array(fc.tuple(fc.constantFrom("x", "h", "g"), name), { maxLength: 3 }),
    }),
    { selector: ({ id }) => id, maxLength: 6 },
  )
  const requestedName = fc.oneof(
    name,
    fc.tuple(fc.constantFrom("x", "y", "h", "g"), name).map((parts) => parts.join("/")),
  )
  const catalogOf = (rows: { id: string; aliases: string[]; targets: [string, string][] }[]) =>
    new Catalog(
      rows.map(({ id, aliases, targets }) => model(id, { aliases, targets: targets.map((each) => target(...each)) })),
    )

  test("every id finds its own model, whatever the other models are called", () => {
    fc.assert(
      fc.property(models, (rows) => {
        const catalog = catalogOf(rows)
        for (const { id } of rows) expect(catalog.find(id)).toMatchObject({ id })
      }),
    )
  })

  test("a found model has the id, is the only one with the alias, or is pinned to the host prefix", () => {
    fc.assert(
      fc.property(models, requestedName, (rows, wanted) => {
        const found = catalogOf(rows).find(wanted)
        if (!found || found.id === wanted) {
          const host = wanted.slice(0, wanted.indexOf("/"))
          const isListed = rows.some(({ id }) => id === wanted)
          expect(!found || isListed || found.targets.every(({ provider }) => provider === host)).toBe(true)
          return
        }
        const bearers = rows.filter(({ aliases }) => aliases.includes(wanted))
        const own = bearers.filter(({ id }) => id.slice(id.indexOf("/") + 1) === wanted)
        expect((own.length > 0 ? own : bearers).map(({ id }) => id)).toEqual([found.id])
      }),
    )
  })

  test("the order of the given models does not matter", () => {
    fc.assert(
      fc.property(models, requestedName, (rows, wanted) => {
        expect(catalogOf(rows.toReversed()).find(wanted)).toEqual(catalogOf(rows).find(wanted))
      }),
    )
  })
})
