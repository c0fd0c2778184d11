// The OpenAPI document: complete, true to the gateway's checks, and served for machines and people.
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { createHash } from "node:crypto"
import { isObject, type Json, type JsonObject } from "../../src/canonical/json.ts"
import { RunningGateway } from "../stage/gateway.ts"

let gateway: RunningGateway
let description: JsonObject

beforeAll(async () => {
  gateway = await RunningGateway.start()
  description = (await (await fetch(`${gateway.url}/openapi.json`)).json()) as JsonObject
})
afterAll(() => gateway.stop())

interface OpenapiEndpoint {
  readonly method: string
  readonly path: string
  readonly details: JsonObject
}

function operations(): OpenapiEndpoint[] {
  return Object.entries(description.paths as JsonObject).flatMap(([path, methods]) =>
    Object.entries(methods as JsonObject).map(([method, details]) => ({
      method: method.toUpperCase(),
      path,
      details: details as JsonObject,
    })),
  )
}

const paths = ({ path, details }: OpenapiEndpoint) => [path, ...((details["x-spellings"] ?? []) as string[])]
const addressOf = (path: string) => gateway.url + path.replace("{model}", "openai/gpt-4o-mini").replace("{id}", "none")

function referencesIn(value: Json): string[] {
  if (Array.isArray(value)) return value.flatMap(referencesIn)
  if (!isObject(value)) return []
  const own = typeof value.$ref === "string" ? [value.$ref] : []
  return [...own, ...Object.values(value).flatMap(referencesIn)]
}

describe("the OpenAPI document", () => {
  test("every described path exists in each of its spellings, with the described authentication", async () => {
    for (const operation of operations()) {
      const { method, details } = operation
      for (const path of paths(operation)) {
        const { status } = await fetch(addressOf(path), { method })
        const open = (details.security as Json[]).length === 0
        expect([method, path, status]).toEqual([method, path, open ? 200 : 401])
      }
    }
  })

  test("every route is described in words", () => {
    expect(operations().filter(({ details }) => (details.tags as string[])[0] === "Others")).toEqual([])
  })

  test("every reference in the document resolves", () => {
    const found = (reference: string) =>
      reference
        .split("/")
        .slice(1)
        .reduce<Json>((at, step) => (isObject(at) ? (at[step] ?? null) : null), description)
    for (const reference of referencesIn(description))
      expect([reference, found(reference)]).not.toEqual([reference, null])
  })

  test("every operation has an id of its own", () => {
    const ids = operations().map(({ details }) => details.operationId)
    expect(new Set(ids).size).toBe(ids.length)
  })
})

test("every response header of the gateway is described", async () => {
  const headers = { authorization: `Bearer ${gateway.key}`, "content-type": "application/json" }
  const body = { model: "openai/gpt-4o-mini", messages: [{ role: "user", content: "hi" }] }
  const counted = { model: "openai/gpt-4o-mini", input: "hi" }
  const ask = (path: string, body: object) =>
    fetch(gateway.url + path, { method: "POST", headers, body: JSON.stringify(body) })
  const cases: [string, Response][] = [
    ["/v1/chat/completions", await ask("/v1/chat/completions", body)],
    ["/v1/responses/input_tokens", await ask("/v1/responses/input_tokens", counted)],
  ]
  const methods = description.paths as Record<string, { post: { responses: Record<string, { headers: JsonObject }> } }>
  for (const [path, answer] of cases) {
    expect(answer.status).toBe(200)
    const own = [...answer.headers.keys()].filter((name) => name.startsWith("x-"))
    expect(own.length).toBeGreaterThan(1)
    expect(Object.keys(methods[path]?.post.responses["200"]?.headers ?? {})).toEqual(expect.arrayContaining(own))
  }
})

describe.each(["/openapi.json", "/docs"])("%s", (path) => {
  test("the document is served without a key, and not sent again to a client that has it", async () => {
    const first = await fetch(gateway.url + path)
    expect(first.status).toBe(200)
    expect(first.headers.get("x-request-id")).not.toBeNull()
    const etag = first.headers.get("etag") ?? ""
    const again = await fetch(gateway.url + path, { headers: { "if-none-match": `"other", W/${etag}` } })
    expect([again.status, await again.text()]).toEqual([304, ""])
    const changed = await fetch(gateway.url + path, { headers: { "if-none-match": '"other"' } })
    expect(changed.status).toBe(200)
  })
})

describe("the documentation page", () => {
  test("the documentation page shows every operation, schema and error", async () => {
    const page = await (await fetch(`${gateway.url}/docs`)).text()
    const { schemas, responses } = description.components as { schemas: JsonObject; responses: JsonObject }
    for (const { details } of operations()) expect(page).toContain(`<details id="${details.operationId}">`)
    for (const name of Object.keys(schemas)) expect(page).toContain(`<details id="schema-${name}">`)
    for (const name of Object.keys(responses)) expect(page).toContain(`<details id="response-${name}">`)
    for (const [, id = ""] of page.matchAll(/href="#([^"]+)"/g)) expect(page).toContain(`id="${id}"`)
  })

  test("the documentation page loads nothing from elsewhere, and allows only its own style and script", async () => {
    const answer = await fetch(`${gateway.url}/docs`)
    const page = await answer.text()
    expect(page).not.toMatch(/<(link|img|iframe|script\s[^>]*src|[^>]+\son\w+=|[^>]+\sstyle=)/)
    const policy = answer.headers.get("content-security-policy") ?? ""
    expect(policy).toStartWith("default-src 'none'; ")
    for (const tag of ["style", "script"]) {
      const [, text = ""] = new RegExp(`<${tag}>([^]*?)</${tag}>`).exec(page) ?? []
      expect(text).not.toBe("")
      const hash = createHash("sha256").update(text).digest("base64")
      expect(policy).toContain(`${tag}-src 'sha256-${hash}'`)
    }
  })
})
