import { describe, expect, test } from "bun:test"
import { Catalog } from "./catalog.ts"
import { model, target } from "./model.fixture.ts"
import { joinGroups } from "./model-groups.ts"

const small = model("acme/small", {
  contextWindow: 8000,
  maxOutputTokens: 4000,
  capabilities: ["tools", "json_schema"],
  modalities: { input: ["text", "image"], output: ["text"] },
  pricing: { input: "1" },
  targets: [target("a", "s")],
})
const large = model("acme/large", {
  contextWindow: 200_000,
  maxInputTokens: 190_000,
  capabilities: ["tools", "reasoning"],
  reasoning: true,
  targets: [target("b", "l")],
})
const drawing = model("acme/draw", { kind: "image" })

describe("a group", () => {
  const models = joinGroups([small, large], [{ id: "auto/x", models: ["acme/small", "acme/large"], routing: "cost" }])
  const group = new Catalog(models).find("auto/x")

  test("a group is a model that is found and listed, with its members and no targets of its own", () => {
    expect(new Catalog(models).models.map(({ id }) => id)).toEqual(["acme/large", "acme/small", "auto/x"])
    expect(group).toMatchObject({ kind: "chat", members: ["acme/small", "acme/large"], routing: "cost", targets: [] })
  })

  test("a group has the capabilities that all its members share", () => {
    expect(group).toMatchObject({
      contextWindow: 8000,
      maxInputTokens: 190_000,
      maxOutputTokens: 4000,
      capabilities: ["tools"],
      modalities: { input: ["text"], output: ["text"] },
    })
    expect(group).not.toHaveProperty("pricing")
  })

  test("a group with a reasoning member is a reasoning model", () => {
    expect(group?.reasoning).toBe(true)
  })

  test("a group of unknown models, of none, or of several kinds is refused", () => {
    const joined = (...members: string[]) => joinGroups([small, drawing], [{ id: "auto/x", models: members }])
    expect(() => joined("acme/none")).toThrow('groups: "auto/x" names "acme/none", which is not a model')
    expect(() => joined()).toThrow('groups: "auto/x" has no models')
    expect(() => joined("acme/small", "acme/draw")).toThrow(
      'groups: "auto/x" mixes kinds: "acme/small" (chat) and "acme/draw" (image)',
    )
  })
})

test("without groups the models stay as they are", () => {
  expect(joinGroups([small, large], [])).toEqual([small, large])
})
