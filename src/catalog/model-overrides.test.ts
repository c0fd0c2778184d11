import { describe, expect, test } from "bun:test"
import { Catalog } from "./catalog.ts"
import { model, target } from "./model.fixture.ts"
import { joinModels } from "./model-overrides.ts"

const gpt = model("openai/gpt-4o", {
  displayName: "GPT-4o",
  aliases: ["gpt-4o"],
  created: 1715558400,
  contextWindow: 128_000,
  capabilities: ["tools"],
  pricing: { input: "2.5", output: "10", cacheRead: "1.25" },
  targets: [target("openai", "gpt-4o")],
})

describe("an entry with the id of a bundled model", () => {
  const join = (override: object) => joinModels([gpt], [{ id: "openai/gpt-4o", ...override }])[0]

  test("an entry with the id of a bundled model changes only the members it names", () => {
    expect(join({})).toEqual(gpt)
    expect(join({ contextWindow: 64_000 })).toEqual({ ...gpt, contextWindow: 64_000 })
    expect(join({ targets: [target("mine", "x")] })).toEqual({ ...gpt, targets: [target("mine", "x")] })
  })

  test("an entry with the id of a bundled model replaces the price as a whole", () => {
    expect(join({ pricing: { input: "2", output: "8" } })?.pricing).toEqual({ input: "2", output: "8" })
  })

  test("an entry with the id of a bundled model adds aliases", () => {
    expect(join({ aliases: ["best"] })?.aliases).toEqual(["gpt-4o", "best"])
  })

  test("an entry makes a bundled model reason by `reasoning` or by capability, and `reasoning` takes precedence", () => {
    const reasoningOf = (override: object) => {
      const joined = join(override)
      return [joined?.reasoning, joined?.capabilities.includes("reasoning")]
    }
    expect(reasoningOf({ reasoning: true })).toEqual([true, true])
    expect(reasoningOf({ capabilities: ["reasoning"] })).toEqual([true, true])
    expect(reasoningOf({ capabilities: ["reasoning"], reasoning: false })).toEqual([false, false])
  })
})

describe("an entry with an id of its own", () => {
  test("an entry with a new id is added to the bundled models", () => {
    const mine = { id: "acme/chat", targets: [target("mine", "x")] }
    const known = { targets: mine.targets, guessedModalities: true } as const
    expect(joinModels([gpt], [mine])).toEqual([gpt, model("acme/chat", known)])
  })

  test("an entry with a new id has its own modalities, or the usual ones marked as guessed", () => {
    const modalities = { input: ["text"], output: ["text", "audio"] } as const
    expect(joinModels([], [{ id: "a/b", modalities }])[0]).toMatchObject({ modalities })
    expect(joinModels([], [{ id: "a/b", modalities }])[0]?.guessedModalities).toBeUndefined()
  })

  test("an entry with a new id has the usual modalities of its kind", () => {
    const kinds = (["embedding", "image"] as const).map((kind) => joinModels([], [{ id: "a/b", kind }])[0]?.modalities)
    expect(kinds).toEqual([
      { input: ["text"], output: ["embedding"] },
      { input: ["text"], output: ["image"] },
    ])
  })

  test("an entry with a new id may take over an alias of a bundled model", () => {
    const mine = { id: "acme/chat", aliases: ["gpt-4o"], targets: [target("mine", "x")] }
    const catalog = new Catalog(joinModels([gpt], [mine]))
    expect(catalog.find("gpt-4o")?.id).toBe("acme/chat")
    expect(catalog.find("openai/gpt-4o")?.id).toBe("openai/gpt-4o")
  })

  test("an entry with a new id does not take over an alias by its bare name", () => {
    const mine = { id: "acme/gpt-4o", targets: [target("mine", "x")] }
    expect(new Catalog(joinModels([gpt], [mine])).find("gpt-4o")?.id).toBe("openai/gpt-4o")
  })
})
