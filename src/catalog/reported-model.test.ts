import { describe, expect, test } from "bun:test"
import { Catalog, type CatalogModel } from "./catalog.ts"
import { model } from "./model.fixture.ts"
import { findOtherModel } from "./reported-model.ts"

const served = (id: string, upstream: string, rest: Partial<CatalogModel> = {}) =>
  model(id, {
    targets: [{ provider: "host", model: upstream, priority: 1, weight: 1 }],
    pricing: { input: "1", output: "2" },
    ...rest,
  })

const cheap = served("lab/cheap", "cheap-1", { aliases: ["cheap", "cheap-one-20260101"] })
const dear = served("lab/dear", "dear-1", { pricing: { input: "10", output: "20" } })
const free = { ...served("lab/free", "free-1"), pricing: undefined } as unknown as CatalogModel
const catalog = new Catalog([cheap, dear, free])
const requested = { model: cheap, provider: "host", upstreamModel: "cheap-1" }
const other = (reported: string) => findOtherModel(reported, requested, catalog)?.model.id

describe("the model that a provider reports", () => {
  test.each([
    ...["cheap-1", "cheap-1-20260115", "cheap-1-2026-01-15", "cheap-1@20260115", "cheap-1-latest", "cheap-1-001"],
    ...[
      "models/cheap-1",
      "publishers/lab/models/cheap-1",
      "CHEAP-1",
      "cheap",
      "cheap-one",
      "accounts/x/models/cheap-1",
    ],
  ])("a reported model named %s is the requested one", (reported) => {
    expect(other(reported)).toBeUndefined()
  })

  test.each(["dear-1", "models/dear-1", "DEAR-1"])(
    "a reported model named %s is another one, with its price",
    (reported) => {
      expect(other(reported)).toBe("lab/dear")
      expect(findOtherModel(reported, requested, catalog)?.pricing).toEqual({ input: "10", output: "20" })
    },
  )

  test.each(["unknown-2", "", "free-1", "dear-2"])(
    "a reported model without an entry or a price is ignored: %j",
    (reported) => {
      expect(other(reported)).toBeUndefined()
    },
  )

  test("a reported model is compared only with models of the same provider", () => {
    expect(findOtherModel("dear-1", { ...requested, provider: "elsewhere" }, catalog)).toBeUndefined()
  })
})
