import { describe, expect, test } from "bun:test"
import { object, optional, required } from "../canonical/schema/object-schema.ts"
import { date, numeral, text } from "../canonical/schema/value-schema.ts"
import { AdminInterface } from "./admin-interface.ts"
import { type AnyAdminRoute, adminRoute } from "./admin-route.ts"

const open = adminRoute({
  method: "GET",
  path: "/open/{id}",
  access: "anyone",
  bodyLimit: 0,
  summary: "Say the id.",
  responseSchema: object({ id: required(text()) }),
  handle: ({ parameters: { id = "" } }) => ({ id }),
})
const closed = adminRoute({
  method: "POST",
  path: "/closed",
  access: "administrator",
  bodyLimit: 100,
  summary: "Say the name.",
  bodySchema: object({ name: required(text()) }),
  responseSchema: object({ name: required(text()) }),
  status: 201,
  handle: ({ body }) => {
    if (body.name === "broken") throw new Error("a password was hunter2")
    return { name: body.name }
  },
})

const queryRoute = adminRoute({
  method: "GET",
  path: "/query",
  access: "anyone",
  bodyLimit: 0,
  summary: "Return the query.",
  querySchema: object({ from: optional(date), limit: optional(numeral({ min: 1, max: 20 })) }),
  responseSchema: object({}),
  handle: ({ query }) => query,
})

const faults: unknown[] = []
function adminOf(...routes: AnyAdminRoute[]): AdminInterface {
  return new AdminInterface({
    routes,
    isAdministrator: (key) => key === "the-key",
    readBody: (request) => request.bytes(),
    onFault: (cause) => faults.push(cause),
  })
}

async function ask(method: string, path: string, { key, body }: { key?: string; body?: string } = {}) {
  const headers = key === undefined ? {} : { authorization: `Bearer ${key}` }
  const request = new Request(`http://gateway${path}`, { method, headers, ...(body !== undefined && { body }) })
  const response = await adminOf(open, closed, queryRoute).answer(request, path.replace(/\?.*/, ""))
  return { status: response.status, body: (await response.json()) as Record<string, unknown> }
}

describe("the administration", () => {
  test("an administrator's valid request reaches the route's handler", async () => {
    const answer = await ask("POST", "/closed", { key: "the-key", body: '{"name":"x"}' })
    expect(answer).toEqual({ status: 201, body: { name: "x" } })
  })

  test("a path parameter is percent-decoded exactly once", async () => {
    expect(await ask("GET", "/open/a%2Fb%252F")).toEqual({ status: 200, body: { id: "a/b%2F" } })
  })

  test("the query parameters of a route are read by its schema", async () => {
    expect((await ask("GET", "/query?limit=20&from=2026-11-15")).body).toEqual({ limit: 20, from: "2026-11-15" })
    expect((await ask("GET", "/query")).body).toEqual({})
  })

  const refused: readonly [string, [string, string, { key?: string; body?: string }?], number, string][] = [
    ["a request without a key", ["POST", "/closed", { body: '{"name":"x"}' }], 401, "missing_api_key"],
    ["a request with another key", ["POST", "/closed", { key: "a-key", body: '{"name":"x"}' }], 401, "invalid_api_key"],
    ["a body that is not JSON", ["POST", "/closed", { key: "the-key", body: "{" }], 400, "invalid_json"],
    ["a body that the schema refuses", ["POST", "/closed", { key: "the-key", body: "{}" }], 400, "missing_parameter"],
    ["a query parameter that is not a number", ["GET", "/query?limit=2e1"], 400, "invalid_parameter"],
    ["a query parameter out of range", ["GET", "/query?limit=21"], 400, "invalid_parameter"],
    ["an unknown query parameter", ["GET", "/query?page=1"], 400, "invalid_parameter"],
    ["a repeated query parameter", ["GET", "/query?limit=1&limit=2"], 400, "invalid_parameter"],
    ["another method", ["DELETE", "/closed", { key: "the-key" }], 405, "method_not_allowed"],
    ["another path", ["GET", "/open/a/b"], 404, "route_not_found"],
    ["a broken percent sign", ["GET", "/open/%zz"], 404, "route_not_found"],
  ]
  test.each(refused)("the administration refuses %s", async (_, [method, path, sent], status, code) => {
    expect(await ask(method, path, sent)).toMatchObject({ status, body: { error: { code } } })
  })

  test("an internal error is reported to the operator and not to the caller", async () => {
    const { status, body } = await ask("POST", "/closed", { key: "the-key", body: '{"name":"broken"}' })
    expect(status).toBe(500)
    expect(JSON.stringify(body)).not.toContain("hunter2")
    expect(String(faults.at(-1))).toContain("hunter2")
  })

  const holes: readonly [string, object, RegExp][] = [
    ["an access rule", { access: undefined }, /declares no access rule/],
    ["a body limit", { bodyLimit: undefined }, /has no body limit/],
    ["a body limit within the maximum", { bodyLimit: 1e9 }, /has no body limit/],
    ["a schema for its body", { bodySchema: undefined }, /without a schema/],
    ["a response schema", { responseSchema: undefined }, /declares no response/],
  ]
  test.each(holes)("the administration does not start if a route lacks %s", (_, hole, message) => {
    const holed = { ...closed, ...hole }
    if ("responseSchema" in hole) Reflect.deleteProperty(holed, "responseSchema")
    expect(() => adminOf(holed)).toThrow(message)
  })

  test("a route that is declared twice prevents the start", () => {
    expect(() => adminOf(open, open)).toThrow("is declared twice")
  })
})
