// The administration of a running gateway, over its own port.
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { Json } from "../../src/canonical/json.ts"
import { eventually } from "../stage/eventually.ts"
import { RunningGateway } from "../stage/gateway.ts"
import { sendRaw } from "../stage/raw-exchange.ts"
import { ScriptedUpstream } from "../stage/upstream.ts"
import { bookCall, withOfflineLedger } from "./offline-store.ts"
import { allAdminRoutes } from "./routes.ts"

const CANARY = "sk-canary-credential"

/** A provider that needs a credential and has none; another has one, so that the simulator is off. */
function config(baseUrl: string): string {
  return `
providers:
  other: { type: openai, api_key: "other-credential" }
  theirs: { type: openai, base_url: "${baseUrl}" }
models:
  - { id: test/model, kind: chat, context_window: 1000, max_output_tokens: 100,
      pricing: { input: "1", output: "2" }, targets: [{ provider: theirs, model: upstream-model }] }
`
}

const data = mkdtempSync(join(tmpdir(), "trivium-administration-"))
let upstream: ScriptedUpstream
let gateway: RunningGateway
beforeAll(async () => {
  upstream = await ScriptedUpstream.start()
  await withOfflineLedger({ dataDir: data }, async (ledger) => {
    await bookCall(ledger, { requestId: "booked", tenant: "acme", keyId: "key_1" })
    const wish = { tenant: "acme", keyId: "key_1", amountNano: 1000n, at: Date.now() }
    for (const requestId of ["killed-1", "killed-2"]) await ledger.hold({ requestId, ...wish })
  })
  gateway = await RunningGateway.start({ config: config(upstream.baseUrl), dataDir: data })
})
afterAll(async () => {
  await gateway.stop()
  await upstream.stop()
  rmSync(data, { recursive: true })
})

async function ask(method: string, path: string, body?: Json) {
  const sent = body === undefined ? { method } : { method, body: JSON.stringify(body) }
  const response = await gateway.administer(path, sent)
  return { status: response.status, body: (await response.json()) as Record<string, Json> }
}

describe("the description of the administration", () => {
  test("the description names every route with its role and its body", async () => {
    const described = (await (await fetch(`${gateway.adminUrl}/openapi.json`)).json()) as {
      openapi: string
      paths: Record<string, Record<string, { security: unknown[]; requestBody?: unknown }>>
    }
    expect(described.openapi).toBe("3.1.0")
    for (const { method, path, access, bodySchema } of allAdminRoutes()) {
      const operation = described.paths[path]?.[method.toLowerCase()]
      expect(operation?.security.length).toBe(access === "anyone" ? 0 : 1)
      expect(operation?.requestBody !== undefined).toBe(bodySchema !== undefined)
    }
  })

  test("every route answers as its description states", async () => {
    const made = await ask("POST", "/admin/v1/keys", { name: "described" })
    await ask("POST", "/admin/v1/tenants", { name: "acme" })
    const limits = { requests_per_minute: 10, budgets: { day: "1.50" }, protocols: ["openai"] }
    const bodies: Record<string, Json> = {
      "/admin/v1/keys": { name: "again", models: ["a/*"], expires_at: "2099-01-31T00:00:00Z", ...limits },
      "/admin/v1/keys/{id}": limits,
      "/admin/v1/keys/{id}/topup": { usd: "10" },
      "/admin/v1/tenants/{name}/topup": { usd: "10", event_id: "invoice 1" },
      "/admin/v1/tenants": { name: "other", ...limits },
      "/admin/v1/tenants/{name}": limits,
      "/admin/v1/providers/{id}/credential": { api_key: CANARY },
      "/admin/v1/ledger/suspense/{id}/settle": { usd: "0.0000001" },
    }
    for (const route of allAdminRoutes()) {
      if (!("responseSchema" in route)) continue
      const [, kind = ""] = /(keys|receipts|suspense)\/\{id\}/.exec(route.path) ?? []
      const id = { keys: String(made.body.id), receipts: "booked", suspense: "killed-1" }[kind] ?? "theirs"
      const path = route.path.replace("{id}", id).replace("{name}", "acme")
      const { status, body } = await ask(route.method, path, route.bodySchema && (bodies[route.path] ?? {}))
      expect(`${path} ${status}`).toBe(`${path} ${route.status ?? 200}`)
      expect(() => route.responseSchema.read(body)).not.toThrow()
    }
  })
})

describe("a query parameter", () => {
  const usageStatus = async (query: string) => (await gateway.administer(`/admin/v1/usage?${query}`)).status

  test("the OpenAPI document describes path and query parameters", async () => {
    const { paths } = (await (await fetch(`${gateway.adminUrl}/openapi.json`)).json()) as {
      paths: Record<string, { get: { parameters: unknown[] } }>
    }
    expect(paths["/admin/v1/usage"]?.get.parameters).toContainEqual({
      name: "limit",
      in: "query",
      required: false,
      schema: { type: "integer", minimum: 1, maximum: 1000 },
    })
    expect(paths["/admin/v1/receipts/{id}"]?.get.parameters).toEqual([
      { name: "id", in: "path", required: true, schema: { type: "string" } },
    ])
  })

  test.each(["from=soon", "from=2026-02-30", "to=1", "limit=0", "limit=many", "limit=1e3", "after=x", "month=11"])(
    "an invalid query parameter is rejected: %s",
    async (query) => {
      expect(await usageStatus(query)).toBe(400)
    },
  )

  test("a repeated query parameter is rejected", async () => {
    expect(await usageStatus("limit=5")).toBe(200)
    expect(await usageStatus("limit=5&limit=6")).toBe(400)
  })
})

describe("a provider's credential", () => {
  const credential = "/admin/v1/providers/theirs/credential"
  const state = async () => {
    const { providers } = (await ask("GET", "/admin/v1/providers")).body as { providers: { id: string }[] }
    return providers.find(({ id }) => id === "theirs")
  }
  const call = () => gateway.chat({ model: "test/model", messages: [{ role: "user", content: "hi" }] })

  test("a stored credential is used from the next request on, is encrypted at rest and is never returned", async () => {
    expect(await state()).toMatchObject({ credential: "none", accounts: 0 })
    expect((await call()).status).toBe(400)
    expect(await ask("PUT", credential, { api_key: CANARY })).toMatchObject({
      status: 200,
      body: { id: "theirs", credential: "store", accounts: 1 },
    })
    expect((await call()).status).toBe(200)
    expect(upstream.lastRequest().headers.authorization).toBe(`Bearer ${CANARY}`)
    for (const name of readdirSync(gateway.dataDir)) {
      expect(readFileSync(join(gateway.dataDir, name), "latin1")).not.toContain(CANARY)
    }
    expect(JSON.stringify(await ask("GET", "/admin/v1/providers"))).not.toContain(CANARY)
    expect(gateway.output.stderr).not.toContain(CANARY)
  })

  test("a stored credential is not sent to the provider's new address", async () => {
    const file = join(gateway.folder, "trivium.yaml")
    const before = upstream.requests.length
    writeFileSync(file, config(upstream.baseUrl.replace("127.0.0.1", "localhost")))
    await eventually(() => gateway.logged("config-reloaded").length > 0)
    expect((await call()).status).toBe(400)
    writeFileSync(file, config(upstream.baseUrl))
    await eventually(() => gateway.logged("config-reloaded").length > 1)
    expect(await state()).toMatchObject({ credential: "none" })
    expect(upstream.requests.length).toBe(before)
  })

  test("a stored credential can be deleted", async () => {
    await ask("PUT", credential, { api_key: CANARY })
    expect(await ask("DELETE", credential)).toMatchObject({ status: 200, body: { credential: "none" } })
    expect((await call()).status).toBe(400)
    expect(await ask("DELETE", credential)).toMatchObject({
      status: 404,
      body: { error: { code: "resource_not_found" } },
    })
  })

  test("a credential for an unknown provider is rejected", async () => {
    const { status, body } = await ask("PUT", "/admin/v1/providers/nobody/credential", { api_key: CANARY })
    expect({ status, body }).toMatchObject({ status: 404, body: { error: { code: "resource_not_found" } } })
  })
})

describe("the configuration", () => {
  test("checking a configuration does not change the running one", async () => {
    const text = 'providers:\n  opanai: { api_key: "sk-very-secret" }\n'
    const { body } = await ask("POST", "/admin/v1/config/check", { text })
    expect(body).toMatchObject({
      valid: false,
      problems: [
        { path: "providers.opanai", line: 2, column: 3, message: expect.stringContaining('"openai"') as never },
      ],
    })
    expect(JSON.stringify(body)).not.toContain("sk-very-secret")
    expect((await ask("POST", "/admin/v1/config/check", {})).body).toEqual({ valid: true, problems: [] })
  })
})

test.each(["a[b", "a%b", "a:b", "", "x y"])("a malformed Host header (%j) does not cause an error", async (host) => {
  const { status } = await sendRaw(
    gateway.adminUrl,
    `GET /admin/v1/status HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`,
  )
  expect([400, 401]).toContain(status)
  expect(gateway.logged("administration-failed")).toEqual([])
})

describe("request bodies", () => {
  test("a body above 256 KiB is rejected", async () => {
    const body = JSON.stringify({ name: "x".repeat(256 * 1024) })
    const response = await gateway.administer("/admin/v1/keys", { method: "POST", body })
    expect(response.status).toBe(413)
    expect(await response.json()).toMatchObject({ error: { code: "body_too_large" } })
  })

  test("a body of another media type is rejected", async () => {
    const key = readFileSync(join(gateway.dataDir, "admin-key"), "utf8").trim()
    const headers = { authorization: `Bearer ${key}`, "content-type": "text/plain" }
    const response = await gateway.administer("/admin/v1/keys", { method: "POST", body: '{"name":"x"}', headers })
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({ error: { code: "invalid_content_type" } })
  })
})
