// The models that a caller can list: those its key can call now.
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { RunningGateway, upstreamConfig } from "../stage/gateway.ts"
import { KeyFolder } from "../stage/keys.ts"
import { ScriptedUpstream } from "../stage/upstream.ts"

const MORE = `
  - { id: test/odd.name:v1@2026/x, display_name: "Odd name", aliases: [odd],
      pricing: { input: "1", output: "2" }, targets: [{ provider: scripted, model: odd }] }
  - { id: other/model, pricing: { input: "1", output: "2" }, targets: [{ provider: scripted, model: other }] }
  - { id: other/unserved, pricing: { input: "1", output: "2" }, targets: [{ provider: openai, model: no-credential-here }] }
`
const ALL = ["other/model", "test/model", "test/odd.name:v1@2026/x"]

const folder = new KeyFolder()
const keys = { whole: "", scoped: "", nothing: "" }
let upstream: ScriptedUpstream
let gateway: RunningGateway

beforeAll(async () => {
  upstream = await ScriptedUpstream.start()
  folder.within((store) => {
    keys.whole = store.create({ name: "whole" }).text
    keys.scoped = store.create({ name: "scoped", models: ["test/*"] }).text
    keys.nothing = store.create({ name: "nothing", models: ["no/such"] }).text
  })
  const config = upstreamConfig(upstream.baseUrl, MORE)
  gateway = await RunningGateway.start({ config, dataDir: folder.path, key: keys.whole })
})
afterAll(async () => {
  await gateway.stop()
  await upstream.stop()
  folder.remove()
})

type ModelListing = Record<string, unknown> & { readonly id: string }

function get(path: string, key = keys.whole): Promise<Response> {
  return fetch(`${gateway.url}${path}`, { headers: { authorization: `Bearer ${key}` } })
}

async function listed(key: string): Promise<string[]> {
  const list = (await (await get("/v1/models", key)).json()) as { object: string; data: ModelListing[] }
  expect(list.object).toBe("list")
  return list.data.map(({ id }) => id)
}

test("the list holds models with a configured target, with their limits", async () => {
  const { data } = (await (await get("/v1/models")).json()) as { data: ModelListing[] }
  expect(data.map(({ id }) => id)).toEqual(ALL)
  expect(data.find(({ id }) => id === "test/model")).toEqual({
    id: "test/model",
    object: "model",
    created: expect.any(Number) as unknown as number,
    owned_by: "test",
    display_name: "test/model",
    context_window: 1000,
    max_output_tokens: 100,
    kind: "chat",
    version: "1",
    status: "active",
    modalities: { input: ["text"], output: ["text"] },
    capabilities: [],
    pricing: { input: "1", output: "2" },
  })
})

test.each([
  ["whole", ALL],
  ["scoped", ["test/model", "test/odd.name:v1@2026/x"]],
  ["nothing", []],
] as const)("a key of scope %s lists and counts exactly the models it may call", async (name, expected) => {
  expect(await listed(keys[name])).toEqual([...expected])
  expect(await (await get("/v1/models/count", keys[name])).json()).toEqual({ count: expected.length })
})

test("every listed model can be retrieved with the same entry", async () => {
  const { data } = (await (await get("/v1/models")).json()) as { data: ModelListing[] }
  for (const card of data) {
    for (const path of [card.id, encodeURIComponent(card.id), card.id.replace("/", "%2f")]) {
      const response = await get(`/v1/models/${path}`)
      expect(response.status).toBe(200)
      expect(await response.json()).toEqual(card)
    }
  }
})

test("every listed model can be called", async () => {
  for (const model of await listed(keys.whole)) {
    const response = await gateway.chat({ model, messages: [{ role: "user", content: "hi" }] })
    expect(response.status).toBe(200)
    expect(await response.json()).toMatchObject({ model })
  }
})

test("an alias retrieves its model", async () => {
  const response = await gateway.chat({ model: "odd", messages: [{ role: "user", content: "hi" }] })
  expect(await response.json()).toMatchObject({ model: "test/odd.name:v1@2026/x" })
  expect(await (await get("/v1/models/odd")).json()).toMatchObject({ id: "test/odd.name:v1@2026/x" })
})

describe("unknown models", () => {
  test.each([
    ["an unknown model", "/v1/models/no/such", "whole", "resource_not_found"],
    ["a model without a target", "/v1/models/other/unserved", "whole", "resource_not_found"],
    ["a bundled model without a provider", "/v1/models/openai/gpt-4o", "whole", "resource_not_found"],
    ["a model outside the key's scope", "/v1/models/other/model", "scoped", "resource_not_found"],
    ["a model encoded twice", "/v1/models/test%252Fmodel", "whole", "resource_not_found"],
    ["a path that escapes", "/v1/models/%2e%2e%2f%2e%2e%2fadmin", "whole", "resource_not_found"],
    ["broken encoding", "/v1/models/%zz", "whole", "route_not_found"],
    ["no name at all", "/v1/models/", "whole", "route_not_found"],
  ] as const)("the path of %s is 404", async (_, path, key, code) => {
    const response = await get(path, keys[key])
    expect(response.status).toBe(404)
    expect(await response.json()).toMatchObject({ error: { code, type: "not_found_error" } })
  })

  test("lists, counts and models require a key", async () => {
    for (const path of ["/v1/models", "/v1/models/count", "/v1/models/test/model", "/v1/models/no/such"]) {
      expect((await fetch(`${gateway.url}${path}`)).status).toBe(401)
    }
  })
})
