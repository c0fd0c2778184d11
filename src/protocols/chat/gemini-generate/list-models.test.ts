import { describe, expect, test } from "bun:test"
import { GatewayError } from "../../../canonical/gateway-error.ts"
import type { ModelCard } from "../../../canonical/model.ts"
import { listing } from "./list-models.ts"

const card = (id: string, more: Partial<ModelCard> = {}): ModelCard => ({
  id,
  displayName: `The ${id}`,
  version: "2.5",
  kind: "chat",
  status: "active",
  created: 0,
  modalities: { input: ["text"], output: ["text"] },
  capabilities: [],
  ...more,
})

const list = (cards: readonly ModelCard[], query = "") =>
  listing.encodeModels(cards, new URLSearchParams(query)) as {
    models: { name: string }[]
    nextPageToken?: string
  }

describe("a model entry", () => {
  test("a model entry has every member of the specification", () => {
    const shown = listing.encodeModel(card("google/gemini-2.5-pro", { contextWindow: 2097152, maxOutputTokens: 8192 }))
    expect(shown).toEqual({
      name: "models/google/gemini-2.5-pro",
      displayName: "The google/gemini-2.5-pro",
      version: "2.5",
      inputTokenLimit: 2097152,
      outputTokenLimit: 8192,
      supportedGenerationMethods: ["generateContent", "streamGenerateContent", "countTokens"],
    })
  })

  test("a model entry has an input limit below the context window, and the thinking flag", () => {
    const limits = { contextWindow: 400_000, maxInputTokens: 272_000, capabilities: ["reasoning"] } as const
    expect(listing.encodeModel(card("a/b", limits))).toMatchObject({ inputTokenLimit: 272_000, thinking: true })
  })

  test("a listed model omits unknown limits", () => {
    const shown = Object.keys(listing.encodeModel(card("a/b")) as object)
    expect(shown).not.toContain("inputTokenLimit")
    expect(shown).not.toContain("outputTokenLimit")
  })
})

describe("the model list", () => {
  const cards = ["a/1", "a/2", "b/3", "b/4", "c/5"].map((id) => card(id))
  const names = (page: { models: { name: string }[] }) => page.models.map(({ name }) => name.replace("models/", ""))

  test("the model list is complete if no page is requested", () => {
    expect(names(list(cards))).toEqual(cards.map(({ id }) => id))
    expect(list(cards)).not.toHaveProperty("nextPageToken")
    expect(list([])).toEqual({ models: [] })
  })

  test.each([1, 2, 3, 4, 5, 1000])("the model list in pages of %d has every model once", (size) => {
    const seen: string[] = []
    let token: string | undefined
    do {
      const page = list(cards, `pageSize=${size}${token === undefined ? "" : `&pageToken=${token}`}`)
      expect(page.models.length).toBeLessThanOrEqual(size)
      seen.push(...names(page))
      token = page.nextPageToken
    } while (token !== undefined)
    expect(seen).toEqual(cards.map(({ id }) => id))
  })

  test("the next page continues at the same position, although a model has been removed", () => {
    const { nextPageToken } = list(cards, "pageSize=2")
    expect(names(list(cards.slice(1), `page_size=2&page_token=${nextPageToken}`))).toEqual(["b/3", "b/4"])
  })

  test.each(["pageSize=0", "pageSize=1001", "pageSize=-1", "pageSize=x", "pageSize=", "pageSize=1.5", "pageToken=x"])(
    "the model list refuses %s with its name",
    (query) => {
      try {
        list(cards, query)
        expect.unreachable()
      } catch (thrown) {
        if (!(thrown instanceof GatewayError)) throw thrown
        expect([thrown.code, thrown.param]).toEqual(["invalid_parameter", query.split("=")[0] ?? ""])
      }
    },
  )
})

test("a path may name a model with or without prefixes", () => {
  const names = ["a/b", "models/a/b", "publishers/a/models/b", "projects/p/locations/l/publishers/a/models/b"]
  expect(names.map((rest) => listing.nameIn?.(rest))).toEqual(["a/b", "a/b", "a/b", "a/b"])
})
