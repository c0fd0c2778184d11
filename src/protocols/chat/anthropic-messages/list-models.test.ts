import { describe, expect, test } from "bun:test"
import { GatewayError } from "../../../canonical/gateway-error.ts"
import type { ModelCard } from "../../../canonical/model.ts"
import { listing } from "./list-models.ts"

const card = (id: string): ModelCard => ({
  id,
  displayName: id.toUpperCase(),
  version: "1",
  kind: "chat",
  status: "active",
  created: Date.UTC(2025, 8, 29) / 1000,
  contextWindow: 200_000,
  maxOutputTokens: 64_000,
  modalities: { input: ["text"], output: ["text"] },
  capabilities: [],
})
const cards = ["a/1", "a/2", "b/1", "b/2", "c/1"].map(card)

const page = (query: string) => {
  const { data, ...rest } = listing.encodeModels(cards, new URLSearchParams(query)) as { data: { id: string }[] }
  return { ids: data.map(({ id }) => id).join(" "), ...rest }
}

test("a model entry has the limits by which clients size their context", () => {
  expect(listing.encodeModel(card("a/1"))).toEqual({
    id: "a/1",
    type: "model",
    display_name: "A/1",
    created_at: "2025-09-29T00:00:00Z",
    max_input_tokens: 200_000,
    max_tokens: 64_000,
  })
})

describe("the model list", () => {
  test("the model list is complete if no page is requested", () => {
    expect(page("")).toEqual({ ids: "a/1 a/2 b/1 b/2 c/1", has_more: false, first_id: "a/1", last_id: "c/1" } as never)
    expect(page("beta=true")).toMatchObject({ has_more: false })
  })

  test("the model list has pages, forwards and backwards", () => {
    expect(page("limit=2")).toEqual({ ids: "a/1 a/2", has_more: true, first_id: "a/1", last_id: "a/2" } as never)
    expect(page("limit=2&after_id=a/2")).toMatchObject({ ids: "b/1 b/2", has_more: true })
    expect(page("limit=2&after_id=b/2")).toMatchObject({ ids: "c/1", has_more: false })
    expect(page("limit=2&before_id=c/1")).toMatchObject({ ids: "b/1 b/2", has_more: true })
    expect(page("limit=9&before_id=b/1")).toMatchObject({ ids: "a/1 a/2", has_more: false })
  })

  test("an empty model list has no first and last id", () => {
    expect(listing.encodeModels([], new URLSearchParams())).toEqual({
      data: [],
      has_more: false,
      first_id: null,
      last_id: null,
    })
  })

  test("an invalid page is refused", () => {
    for (const query of [
      "limit=0",
      "limit=x",
      "limit=1001",
      "limit=1.5",
      "after_id=z/9",
      "after_id=a/1&before_id=c/1",
    ]) {
      expect(() => page(query)).toThrow(GatewayError)
    }
  })
})
