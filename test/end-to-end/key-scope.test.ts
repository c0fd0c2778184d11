// The scope of a key: protocols, addresses, models and expiry; GET /v1/key; changes of a key or its tenant apply from
// the next request on.
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import Anthropic from "@anthropic-ai/sdk"
import { ApiError, GoogleGenAI } from "@google/genai"
import OpenAI from "openai"
import { PROTOCOL_IDS } from "../../src/access/grant.ts"
import type { Json } from "../../src/canonical/json.ts"
import { protocols } from "../../src/protocols.ts"
import { RunningGateway, runCommand } from "../stage/gateway.ts"
import { KeyFolder } from "../stage/keys.ts"
import { rejectionOf } from "../stage/rejection-of.ts"

const MODEL = "openai/gpt-4o"
const MESSAGES = [{ role: "user" as const, content: "hi" }]
const folder = new KeyFolder()
let gateway: RunningGateway
beforeAll(async () => {
  const key = folder.within((keys) => keys.create({ name: "whole" }).text)
  const config = "server: { trusted_proxies: [127.0.0.1] }"
  gateway = await RunningGateway.start({ dataDir: folder.path, key, config })
})
afterAll(async () => {
  await gateway.stop()
  folder.remove()
})

async function administer(method: string, path: string, body: Json) {
  const response = await gateway.administer(`/admin/v1${path}`, { method, body: JSON.stringify(body) })
  return { status: response.status, body: (await response.json()) as Record<string, Json> }
}

async function newKey(wish: Record<string, Json> = {}): Promise<{ id: string; key: string }> {
  const { status, body } = await administer("POST", "/keys", { name: "scoped", ...wish })
  expect(status).toBe(201)
  return body as { id: string; key: string }
}

async function ask(path: string, key: string, more: Record<string, string> = {}) {
  // On OpenAI's paths the header would ask for another protocol's listing.
  const version = path.startsWith("/v1") ? {} : { "anthropic-version": "2023-06-01" }
  const headers = { authorization: `Bearer ${key}`, ...version, ...more }
  const response = await fetch(gateway.url + path, { headers })
  return { status: response.status, body: (await response.json()) as Record<string, Json> }
}

const code = ({ status, body }: { status: number; body: Record<string, Json> }) =>
  `${status} ${(body.error as { code?: string } | undefined)?.code ?? "ok"}`

const clients = {
  openai: (apiKey: string) =>
    new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey, maxRetries: 0 }).chat.completions.create({
      model: MODEL,
      messages: MESSAGES,
    }),
  anthropic: (apiKey: string) =>
    new Anthropic({ baseURL: `${gateway.url}/anthropic`, apiKey, maxRetries: 0 }).messages.create({
      model: MODEL,
      messages: MESSAGES,
      max_tokens: 50,
    }),
  gemini: (apiKey: string) =>
    new GoogleGenAI({ apiKey, httpOptions: { baseUrl: `${gateway.url}/gemini` } }).models.generateContent({
      model: MODEL,
      contents: "hi",
    }),
}
const CLASSES = {
  openai: { 401: OpenAI.AuthenticationError, 403: OpenAI.PermissionDeniedError },
  anthropic: { 401: Anthropic.AuthenticationError, 403: Anthropic.PermissionDeniedError },
  gemini: { 401: ApiError, 403: ApiError },
}
type ClientFamily = keyof typeof clients
const FAMILIES: readonly ClientFamily[] = ["openai", "anthropic", "gemini"]

test("the protocol names that a key accepts are those of the gateway's protocols", () => {
  expect([...PROTOCOL_IDS].sort()).toEqual(protocols.map(({ id }) => id).sort())
  for (const id of PROTOCOL_IDS) expect(FAMILIES.some((family) => id.startsWith(`${family}-`))).toBe(true)
})

describe.each(FAMILIES)("the client of %s", (family) => {
  const refusals: readonly [string, Record<string, Json>, 401 | 403][] = [
    ["an expired key", { expires_at: "2020-01-31T00:00:00Z" }, 401],
    ["a key of other models", { models: ["meta/*"] }, 403],
    ["a key of other protocols", { protocols: FAMILIES.filter((other) => other !== family) }, 403],
    ["a key of other addresses", { addresses: ["10.0.0.0/8", "::1"] }, 403],
  ]
  test.each(refusals)("a client raises its own class for %s", async (_, wish, status) => {
    const { key } = await newKey(wish)
    const error = await rejectionOf(clients[family](key))
    expect(error).toBeInstanceOf(CLASSES[family][status])
    expect(error).toMatchObject({ status })
  })

  test("a client with a key of its own protocol and address is answered", async () => {
    await clients[family]((await newKey({ protocols: [family], addresses: ["127.0.0.0/8"], models: ["openai/*"] })).key)
  })
})

describe("a key of some protocols", () => {
  test("a key of some protocols calls only those, and lists only models that they can call", async () => {
    const { key } = await newKey({ protocols: ["openai-embeddings"] })
    const { status, body } = await ask("/v1/models", key)
    expect(status).toBe(200)
    const ids = (body.data as { id: string }[]).map(({ id }) => id)
    expect(ids).toContain("openai/text-embedding-3-small")
    expect(ids).not.toContain(MODEL)
    expect(code(await ask("/anthropic/v1/models", key))).toBe("403 route_not_allowed")
    expect(code(await ask("/v1/key", key))).toBe("200 ok")
    expect(await rejectionOf(clients.openai(key))).toMatchObject({ status: 403, code: "route_not_allowed" })
  })

  test("requests from a rejected address do not count against the limits of a key", async () => {
    const { key } = await newKey({ addresses: ["10.1.0.0/16"], requests_per_minute: 5 })
    for (let n = 0; n < 10; n++) expect(code(await ask("/v1/key", key))).toBe("403 route_not_allowed")
    const inside = await ask("/v1/key", key, { "x-forwarded-for": "10.1.2.3" })
    expect(inside.body).toMatchObject({ limits: { requests: { limit: 5, remaining: 4 } } })
    expect(code(await ask("/v1/key", key, { "x-forwarded-for": "10.1.2.3, 10.2.0.1" }))).toBe("403 route_not_allowed")
    const kept = gateway.logged("exchange").filter((line) => line.client_address !== undefined)
    for (const { client_address } of kept) expect(client_address).not.toBe("10.1.2.3")
  })
})

describe("GET /v1/key", () => {
  test("GET /v1/key describes the caller's own key, in any key header", async () => {
    const { id, key } = await newKey({
      tenant: "told",
      models: ["openai/*"],
      requests_per_minute: 100,
      tokens_per_minute: 5000,
      concurrent_requests: 7,
      budgets: { day: "1.50", total: "20" },
      expires_at: "2099-01-31T00:00:00Z",
    })
    const places: Record<string, string>[] = [
      { authorization: `Bearer ${key}` },
      { "x-api-key": key },
      { "x-goog-api-key": key },
    ]
    for (const [index, headers] of places.entries()) {
      const response = await fetch(`${gateway.url}/v1/key`, { headers })
      expect(response.status).toBe(200)
      expect(await response.json()).toMatchObject({
        id,
        name: "scoped",
        tenant: "told",
        hint: `trv_…${key.slice(-4)}`,
        models: ["openai/*"],
        protocols: null,
        budgets: { day: "1.5", total: "20" },
        balance: null,
        expires_at: "2099-01-31T00:00:00.000Z",
        limits: {
          requests: { limit: 100, remaining: 99 - index, reset: expect.stringMatching(/^[\d.]+s$/) as never },
          tokens: { limit: 5000, remaining: 5000, reset: "0s" },
          concurrent_requests: { limit: 7, running: 0 },
        },
        tenant_limits: null,
      })
    }
    const text = await (await fetch(`${gateway.url}/v1/key?key=${key}`)).text()
    expect(text).not.toContain(key)
  })

  test("GET /v1/key is rejected without a key and with two different keys", async () => {
    const other = (await newKey()).key
    expect((await fetch(`${gateway.url}/v1/key`)).status).toBe(401)
    expect(code(await ask("/v1/key", gateway.key, { "x-api-key": other }))).toBe("400 invalid_parameter")
  })
})

describe("a change of limits", () => {
  test("a change of any member of a key applies from the next request on", async () => {
    const { id, key } = await newKey()
    const before = (await ask("/v1/key", key)).body
    const change = {
      name: "changed",
      tenant: "moved",
      models: ["openai/*"],
      protocols: ["openai"],
      addresses: ["127.0.0.1"],
      requests_per_minute: 10,
      tokens_per_minute: 11,
      concurrent_requests: 12,
      strict: true,
      keep_answers: true,
      own_balance: true,
      budgets: { week: "3" },
      expires_at: "2099-01-31T00:00:00.000Z",
    }
    expect((await administer("PATCH", `/keys/${id}`, change)).body).toMatchObject(change)
    expect((await ask("/v1/key", key)).body).toMatchObject({ ...change, limits: { requests: { limit: 10 } } })
    const { name, tenant, ...bounds } = change
    const none = Object.fromEntries(Object.keys(bounds).map((member) => [member, null]))
    expect((await administer("PATCH", `/keys/${id}`, { ...none, tenant: "default" })).status).toBe(200)
    const { limits: _, ...after } = (await ask("/v1/key", key)).body
    const { limits: __, ...first } = before
    expect(after).toEqual({ ...first, name: "changed" })
    expect(code(await administer("PATCH", `/keys/${id}`, { rpm: 5 }))).toBe("400 invalid_parameter")
    expect(code(await administer("PATCH", `/keys/${id}`, { name: null as never, budgets: { day: "-1" } }))).toBe(
      "400 invalid_parameter",
    )
  })

  test("a change of a tenant applies to all its keys from the next request on", async () => {
    const [one, two] = [await newKey({ tenant: "acme" }), await newKey({ tenant: "acme" })]
    await clients.openai(one.key)
    const made = await administer("POST", "/tenants", { name: "acme", models: ["meta/*"], requests_per_minute: 4 })
    expect(made).toMatchObject({ status: 201, body: { name: "acme", models: ["meta/*"], requests_per_minute: 4 } })
    expect(await rejectionOf(clients.openai(one.key))).toMatchObject({ status: 403, code: "model_not_allowed" })
    expect((await ask("/v1/models", two.key)).body.data).not.toContainEqual(
      expect.objectContaining({ id: MODEL }) as never,
    )
    expect((await ask("/v1/key", two.key)).body).toMatchObject({
      limits: { requests: { limit: 4, remaining: 1 } },
      tenant_limits: { models: ["meta/*"], requests_per_minute: 4 },
    })
    expect(code(await ask("/v1/key", one.key))).toBe("200 ok")
    expect(code(await ask("/v1/key", two.key))).toBe("429 rate_limit_exceeded")
    await administer("PATCH", "/tenants/acme", { requests_per_minute: null, models: null })
    await clients.openai(two.key)
  })

  test("a key cannot get a higher limit than its tenant", async () => {
    await administer("POST", "/tenants", { name: "small", requests_per_minute: 5 })
    const { id } = await newKey({ tenant: "small" })
    for (const refused of [
      await administer("POST", "/keys", { name: "x", tenant: "small", requests_per_minute: 6 }),
      await administer("PATCH", `/keys/${id}`, { requests_per_minute: 6 }),
    ]) {
      expect(refused).toMatchObject({ status: 400, body: { error: { param: "requests_per_minute" } } })
      expect((refused.body.error as { message: string }).message).toMatch(/`small` is limited to 5/)
    }
  })
})

describe("the command line", () => {
  const run = (...words: string[]) => runCommand([...words, "--data", folder.path], { folder: folder.path })

  test("the command line changes a key of the running gateway, which applies it at once", async () => {
    const { id, key } = await newKey()
    const flags = ["--rpm", "3", "--tpm", "1000", "--budgets", "day=10,month=200", "--protocols", "gemini", "--strict"]
    const { code: ended, stdout, stderr } = await run("keys", "update", id, ...flags)
    expect({ ended, stdout, stderr }).toEqual({ ended: 0, stdout: `Changed ${id} (scoped).\n`, stderr: "" })
    expect((await ask("/v1/key", key)).body).toMatchObject({
      requests_per_minute: 3,
      tokens_per_minute: 1000,
      budgets: { day: "10", month: "200" },
      protocols: ["gemini"],
      strict: true,
    })
    await run("keys", "update", id, "--rpm", "default", "--protocols", "all", "--no-strict", "--budgets", "none")
    expect((await ask("/v1/key", key)).body).toMatchObject({
      requests_per_minute: null,
      tokens_per_minute: 1000,
      budgets: {},
      protocols: null,
      strict: false,
    })
  })

  test("the command line sets limits of tenants", async () => {
    const { key } = await newKey({ tenant: "typed" })
    expect((await run("tenants", "create", "typed", "--rpm", "7")).stdout).toBe("Created typed.\n")
    expect((await ask("/v1/key", key)).body).toMatchObject({ limits: { requests: { limit: 7 } } })
    const updated = await run("tenants", "update", "typed", "--rpm", "none", "--models", "meta/*", "--json")
    expect(JSON.parse(updated.stdout)).toMatchObject({ name: "typed", requests_per_minute: null, models: ["meta/*"] })
    const { stdout } = await run("tenants", "list")
    expect(stdout).toMatch(/^NAME +MODELS +PROTOCOLS +LIMITS$/m)
    expect(stdout).toMatch(/^typed +meta\/\* +all +none$/m)
    expect((await run("tenants", "update", "nobody", "--rpm", "1")).stderr).toMatch(/^There is no tenant nobody\./)
  })

  const mistakes: readonly [string[], RegExp][] = [
    [["keys", "update", "key_x", "--rpm", "many"], /whole number/],
    [["keys", "update", "key_x", "--budgets", "year=5"], /day=10/],
    [["keys", "create", "--name", "x", "--addresses", "home"], /10\.0\.0\.0\/8/],
    [["keys", "create", "--name", "x", "--protocols", "http"], /anthropic/],
    [["tenants", "create"], /name/],
  ]
  test.each(mistakes)("the command line rejects %p with a hint", async (words, hint) => {
    const { code: ended, stderr } = await run(...words)
    expect(ended).toBe(1)
    expect(stderr).toMatch(hint)
    expect(stderr).not.toContain("    at ")
  })
})
