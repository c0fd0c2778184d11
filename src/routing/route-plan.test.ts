import { describe, expect, test } from "bun:test"
import { Catalog, type CatalogModel } from "../catalog/catalog.ts"
import { Secret } from "../config/secret.ts"
import type { ProtocolDialect, ProviderAccount } from "../providers/contract.ts"
import { openAccounts } from "../providers/open-account.ts"
import { planRoute } from "./route-plan.ts"

interface StagedAccount {
  readonly keys?: readonly string[]
  readonly protocol?: string
  readonly serves?: (model: string) => boolean
}

/** The accounts of one provider, distinguished by their keys. */
const account = (
  id: string,
  { keys = ["key"], protocol = "openai-chat", serves }: StagedAccount = {},
): [string, ProviderAccount[]] => {
  const dialect: ProtocolDialect = { streamUsage: "ask", headers: () => ({}), ...(serves && { serves }) }
  const provider = { id, name: id, needsCredential: false, dialects: { [protocol]: dialect } }
  const send = () => Promise.reject(new Error("not called"))
  const apiKeys = keys.map((key) => new Secret(key))
  return [id, openAccounts(provider, { id, baseUrl: "http://upstream", apiKeys, send })]
}

const model = (id: string, ...targets: [string, number, number][]): CatalogModel => ({
  id,
  displayName: id,
  version: "1",
  kind: "chat",
  status: "active",
  created: 0,
  modalities: { input: ["text"], output: ["text"] },
  capabilities: [],
  aliases: [],
  reasoning: false,
  targets: targets.map(([provider, priority, weight]) => ({ provider, model: `${id}@${provider}`, priority, weight })),
})

describe("the plan", () => {
  const accounts = new Map([
    account("a"),
    account("b"),
    account("c"),
    account("d"),
    account("other", { protocol: "gemini" }),
    account("mute", { protocol: "braille" }),
    account("shy", { protocol: "gemini", serves: () => false }),
    account("picky", { serves: (model) => model === "liked@picky" }),
    account("two", { keys: ["one", "two"] }),
    account("four", { keys: ["one", "two", "three", "four"] }),
  ])
  const translated = [new Set(["openai-chat", "gemini"])]
  const planned = (models: readonly CatalogModel[], rotation = 0, translates = false) => {
    const catalog = new Catalog(models)
    const known = models.flatMap(({ id }) => catalog.find(id) ?? [])
    const table = { catalog, accounts, translated }
    return planRoute(known, { protocol: "openai-chat", table, rotation, translates }).attempts
  }
  const order = (...models: CatalogModel[]) => planned(models).map((target) => target.upstreamModel)
  const keys = (rotation: number, ...models: CatalogModel[]) =>
    planned(models, rotation).map(({ account: { id, secrets } }) => `${id}:${secrets()[0]?.reveal()}`)

  test("the plan tries lower priority first, then higher weight", () => {
    expect(order(model("m", ["a", 2, 9], ["b", 1, 1], ["c", 1, 5]))).toEqual(["m@c", "m@b", "m@a"])
  })

  test("the plan leaves out providers without an account, and those that do not speak the protocol", () => {
    expect(order(model("m", ["unknown", 1, 1], ["other", 1, 1], ["a", 2, 1]))).toEqual(["m@a"])
  })

  describe("a request that can be translated", () => {
    const targetsOf = (...targets: [string, number, number][]) =>
      planned([model("m", ...targets)], 0, true).map(({ account: { id }, protocol }) => `${id}:${protocol}`)

    test("a translatable request has targets of protocols that it translates to, and no others", () => {
      expect(targetsOf(["mute", 1, 1], ["shy", 1, 1], ["other", 1, 1])).toEqual(["other:gemini"])
    })

    test("a translatable request prefers the client's own protocol among equal providers", () => {
      expect(targetsOf(["other", 1, 1], ["a", 1, 1])).toEqual(["a:openai-chat", "other:gemini"])
      expect(targetsOf(["other", 1, 2], ["a", 1, 1])).toEqual(["other:gemini", "a:openai-chat"])
      expect(targetsOf(["other", 1, 1], ["a", 2, 1])).toEqual(["other:gemini", "a:openai-chat"])
    })
  })

  test("the plan leaves out models that a provider does not serve in this protocol", () => {
    expect(order(model("m", ["picky", 1, 1], ["a", 2, 1]))).toEqual(["m@a"])
    expect(order(model("liked", ["picky", 1, 1], ["a", 2, 1]))).toEqual(["liked@picky", "liked@a"])
  })

  test("the plan rotates the accounts of a provider, and tries them before the next provider", () => {
    const served = model("m", ["two", 1, 1], ["a", 2, 1])
    expect(keys(0, served)).toEqual(["two:one", "two:two", "a:key"])
    expect(keys(1, served)).toEqual(["two:two", "two:one", "a:key"])
    expect(keys(2, served)).toEqual(keys(0, served))
  })

  test("the plan tries three accounts of the only provider, but reserves the last attempt for another if there is one", () => {
    expect(keys(3, model("m", ["four", 1, 1]))).toEqual(["four:four", "four:one", "four:two"])
    expect(keys(0, model("m", ["four", 1, 1], ["b", 2, 1]))).toEqual(["four:one", "four:two", "b:key"])
  })

  test("the plan tries at most three targets of a model, then the next model", () => {
    const first = model("m", ["a", 1, 1], ["b", 1, 1], ["c", 1, 1], ["d", 1, 1])
    expect(order(first, model("n", ["d", 1, 1]))).toEqual(["m@a", "m@b", "m@c", "n@d"])
  })
})

test("the catalogue finds a model by id before alias, and a later entry replaces an earlier one", () => {
  const first = { ...model("x/one"), aliases: ["one", "x/two"] }
  const second = model("x/two")
  const catalog = new Catalog([first, second, { ...second, displayName: "newer" }])
  expect(catalog.find("one")?.id).toBe("x/one")
  expect(catalog.find("x/two")?.displayName).toBe("newer")
  expect(catalog.find("nothing")).toBeUndefined()
  expect(catalog.models.map(({ id }) => id)).toEqual(["x/one", "x/two"])
})
