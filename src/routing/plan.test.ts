import { describe, expect, test } from "bun:test"
import { Catalog, type Model } from "../catalog/catalog.ts"
import { openAccount } from "../providers/account.ts"
import type { Account } from "../providers/contract.ts"
import { plan } from "./plan.ts"

const account = (id: string, protocol = "openai-chat"): [string, Account] => {
  const dialect = { path: "/x", streamUsage: "ask", headers: () => ({}) } as const
  const provider = { id, name: id, needsCredential: false, speaks: { [protocol]: dialect } }
  const send = () => Promise.reject(new Error("not called"))
  return [id, openAccount(provider, { id, baseUrl: "http://upstream", send })]
}

const model = (id: string, ...targets: [string, number, number][]): Model => ({
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
  const accounts = new Map([account("a"), account("b"), account("c"), account("d"), account("other", "gemini")])
  const order = (...models: Model[]) => {
    const catalog = new Catalog(models)
    const known = models.flatMap(({ id }) => catalog.find(id) ?? [])
    return plan(known, "openai-chat", { catalog, accounts }).map((target) => target.upstreamModel)
  }

  test("tries lower priority first, then higher weight", () => {
    expect(order(model("m", ["a", 2, 9], ["b", 1, 1], ["c", 1, 5]))).toEqual(["m@c", "m@b", "m@a"])
  })

  test("leaves out providers without an account, and those that do not speak the protocol", () => {
    expect(order(model("m", ["nobody", 1, 1], ["other", 1, 1], ["a", 2, 1]))).toEqual(["m@a"])
  })

  test("tries at most three targets of a model, then the next model", () => {
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
