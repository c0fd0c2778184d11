// Headers pass by allow lists in both directions; checks before routing; status 404 and 405.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test"
import { gzipSync } from "node:zlib"
import { eventually } from "../stage/eventually.ts"
import { RunningGateway, upstreamConfig } from "../stage/gateway.ts"
import { requestHead, sendRaw } from "../stage/raw-exchange.ts"
import { completion, ScriptedUpstream, streamedWords } from "../stage/upstream.ts"

let upstream: ScriptedUpstream
let gateway: RunningGateway

beforeAll(async () => {
  upstream = await ScriptedUpstream.start()
  gateway = await RunningGateway.start({ config: upstreamConfig(upstream.baseUrl) })
})
beforeEach(() => {
  upstream.script = (_, reply) => reply.json(completion("Hello."))
  upstream.requests.length = 0
})
afterAll(async () => {
  await gateway.stop()
  await upstream.stop()
})

const HI = { model: "test/model", messages: [{ role: "user", content: "hi" }] }
const BODY = JSON.stringify(HI)

function post(headers: Record<string, string>, body: string | Uint8Array = BODY): Promise<Response> {
  return gateway.chat(body, { headers: { authorization: `Bearer ${gateway.key}`, ...headers } })
}

function words(): void {
  upstream.script = async (_, reply) => {
    reply.stream(PRIVATE)
    for (const event of streamedWords("The quick brown fox")) await reply.write(event)
    reply.end()
  }
}

/** Headers of the upstream about the gateway's account. */
const PRIVATE = {
  "openai-organization": "org-4711",
  "openai-project": "proj-4711",
  "openai-processing-ms": "471",
  "openai-version": "2020-10-01",
  "x-request-id": "req-4711",
  "x-ratelimit-limit-requests": "4711",
  "x-ratelimit-remaining-tokens": "4711",
  "x-ratelimit-reset-requests": "4711ms",
  "set-cookie": "session=4711",
  server: "upstream-4711",
  "cf-ray": "4711-OSL",
  "strict-transport-security": "max-age=4711",
  "x-should-retry": "true",
  "x-unknown": "4711",
}

describe("every answer has a request id of its own", () => {
  const requests: readonly [string, number, () => Promise<Response>][] = [
    ["an answer", 200, () => gateway.chat(HI)],
    ["the list of models", 200, () => get("/v1/models")],
    ["the health check", 200, () => get("/healthz")],
    ["a bad request", 400, () => gateway.chat({ ...HI, temperature: 9 })],
    ["broken JSON", 400, () => gateway.chat("{")],
    ["no key", 401, () => fetch(`${gateway.url}/v1/models`)],
    ["an unknown route", 404, () => get("/nowhere")],
    ["an unknown model", 404, () => get("/v1/models/no/such")],
    ["a wrong method", 405, () => get("/v1/chat/completions")],
    ["a body too large", 413, () => gateway.chat(new Uint8Array(32 * 1024 * 1024 + 1))],
    ["a failed upstream", 503, failed],
  ]
  test.each(requests)("the request id is in every answer: %s (%p)", async (_, status, send) => {
    const responses = [await send(), await send()]
    const ids = responses.map((response) => response.headers.get("x-request-id"))
    expect(responses.map((response) => response.status)).toEqual([status, status])
    expect(new Set(ids).size).toBe(2)
    for (const id of ids) expect(id).toMatch(/^[\w-]{8,64}$/)
  })

  test("the request id of a stream is the one in the log", async () => {
    words()
    const response = await gateway.chat({ ...HI, stream: true })
    await response.text()
    const id = response.headers.get("x-request-id") ?? ""
    expect(id).toMatch(/^[\w-]{8,64}$/)
    await eventually(() => gateway.logged("exchange").some((line) => line.request_id === id))
  })

  test("a caller cannot choose the request id", async () => {
    const response = await post({ "content-type": "application/json", "x-request-id": "chosen" })
    expect(response.headers.get("x-request-id")).not.toBe("chosen")
  })

  function get(path: string): Promise<Response> {
    return fetch(`${gateway.url}${path}`, { headers: { authorization: `Bearer ${gateway.key}` } })
  }

  function failed(): Promise<Response> {
    upstream.script = (_, reply) => reply.json({}, 500)
    return gateway.chat(HI)
  }
})

describe("headers to the client", () => {
  const OURS = [
    ...["x-request-id", "x-gateway-model", "x-gateway-provider", "x-gateway-attempts"],
    ...["x-ratelimit-limit-requests", "x-ratelimit-remaining-requests", "x-ratelimit-reset-requests"],
  ]
  const OF_HTTP = ["content-type", "content-length", "transfer-encoding", "date", "connection", "keep-alive"]

  function names(headers: Headers): string[] {
    return [...headers.keys()].filter((name) => !OF_HTTP.includes(name)).sort()
  }

  test("an answer names its provider and repeats no header of the upstream", async () => {
    upstream.script = (_, reply) => reply.json(completion("Hello."), 200, PRIVATE)
    const { headers } = await gateway.chat(HI)
    expect(names(headers)).toEqual([...OURS, "x-gateway-cost"].sort())
    expect(headers.get("content-type")).toBe("application/json")
    expect(headers.get("x-gateway-model")).toBe("test/model")
    expect(headers.get("x-gateway-provider")).toBe("scripted")
    expect(headers.get("x-gateway-attempts")).toBe("1")
    expect(JSON.stringify([...headers])).not.toContain("4711")
  })

  test("a stream has the same headers, and its cache-control contains no-cache", async () => {
    words()
    const { headers } = await gateway.chat({ ...HI, stream: true })
    expect(names(headers)).toEqual([...OURS, "cache-control", "x-accel-buffering"].sort())
    expect(headers.get("content-type")).toMatch(/^text\/event-stream\b/)
    expect(headers.get("cache-control")).toContain("no-cache")
    expect(JSON.stringify([...headers])).not.toContain("4711")
  })

  test("an error names its provider and repeats no header of the upstream", async () => {
    upstream.script = (_, reply) => reply.json({ error: { message: "4711" } }, 500, PRIVATE)
    const response = await gateway.chat(HI)
    expect(names(response.headers)).toEqual([...OURS, "x-should-retry"].sort())
    expect(JSON.stringify([...response.headers]) + (await response.text())).not.toContain("4711")
  })
})

describe("headers to the upstream", () => {
  const CALLERS = {
    cookie: "session=caller-4711",
    "openai-organization": "caller-4711",
    "openai-project": "caller-4711",
    "openai-beta": "caller-4711",
    "x-forwarded-for": "caller-4711",
    "x-forwarded-host": "caller-4711",
    forwarded: "for=caller-4711",
    via: "caller-4711",
    "x-real-ip": "caller-4711",
    "user-agent": "caller-4711",
    referer: "http://caller-4711/",
    "x-api-key": "caller-4711",
    "idempotency-key": "caller-4711",
    "x-stainless-lang": "caller-4711",
    "accept-language": "caller-4711",
    traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    "x-unknown": "caller-4711",
  }
  const MAY_PASS = [
    "accept",
    "accept-encoding",
    "authorization",
    "content-length",
    "content-type",
    "host",
    "user-agent",
  ]

  test.each([false, true])("the upstream receives only the gateway's own headers (stream: %p)", async (stream) => {
    if (stream) words()
    const body = JSON.stringify({ ...HI, stream })
    const own = { "content-type": "application/json; charset=utf-8", "idempotency-key": `caller-4711-${stream}` }
    const response = await post({ ...CALLERS, ...own }, body)
    expect(response.status).toBe(200)
    await response.text()
    const { head, headers } = upstream.lastRequest()
    const { connection: _, ...passed } = headers
    expect(Object.keys(passed).sort()).toEqual(MAY_PASS)
    expect(headers).toMatchObject({
      authorization: "Bearer upstream-credential",
      "content-type": "application/json",
      "accept-encoding": "identity",
      host: `127.0.0.1:${upstream.port}`,
    })
    expect(head).not.toContain("4711")
    expect(head).not.toContain(gateway.key)
    expect(head).toStartWith("POST /v1/chat/completions HTTP/1.1\r\n")
  })

  test("the upstream receives no query of the caller's", async () => {
    const response = await fetch(`${gateway.url}/v1/chat/completions?beta=true&key=x`, {
      method: "POST",
      headers: { authorization: `Bearer ${gateway.key}`, "content-type": "application/json" },
      body: BODY,
    })
    expect(response.status).toBe(200)
    expect(upstream.lastRequest().path).toBe("/v1/chat/completions")
  })
})

describe("the content type", () => {
  test.each([
    "application/json",
    "application/json; charset=utf-8",
    "application/json;charset=UTF-8",
    "Application/JSON",
    "application/vnd.x+json",
    "application/vnd.api+json; version=2",
  ])("the content type %p is accepted", async (type) => {
    expect((await post({ "content-type": type })).status).toBe(200)
  })

  test.each([
    "text/plain",
    "text/json",
    "application/x-www-form-urlencoded",
    "application/jsonp",
    "multipart/form-data",
  ])("the content type %p is rejected", async (type) => {
    const response = await post({ "content-type": type })
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({ error: { code: "invalid_content_type" } })
    expect(upstream.requests).toHaveLength(0)
  })

  test("a missing content type is rejected", async () => {
    const response = await post({}, new TextEncoder().encode(BODY))
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({ error: { code: "invalid_content_type" } })
  })

  test.each(["gzip", "br", "x-unknown"])("a body with content encoding %p is rejected", async (encoding) => {
    const response = await post({ "content-type": "application/json", "content-encoding": encoding }, gzipSync(BODY))
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({ error: { code: "invalid_content_type" } })
    expect(upstream.requests).toHaveLength(0)
  })

  test("a body with identity encoding is accepted", async () => {
    expect((await post({ "content-type": "application/json", "content-encoding": "identity" })).status).toBe(200)
  })
})

describe("the API key", () => {
  test.each([
    ["no scheme", () => gateway.key],
    ["another scheme", () => `Basic ${btoa(`user:${gateway.key}`)}`],
    ["no key", () => "Bearer "],
    ["two words", () => `Bearer ${gateway.key} ${gateway.key}`],
  ])("an API key with %s is 401", async (_, authorization) => {
    const response = await gateway.chat(HI, {
      headers: { authorization: authorization(), "content-type": "application/json" },
    })
    expect(response.status).toBe(401)
    expect(await response.json()).toMatchObject({ error: { type: "authentication_error" } })
  })

  test("the authorization scheme is accepted in any letter case", async () => {
    const headers = { authorization: `bearer ${gateway.key}`, "content-type": "application/json" }
    expect((await gateway.chat(HI, { headers })).status).toBe(200)
  })

  const twice: readonly [string, (key: string) => string[]][] = [
    ["once right and once wrong", (key) => [key, "wrong"]],
    ["once wrong and once right", (key) => ["wrong", key]],
    ["twice right", (key) => [key, key]],
  ]
  test.each(twice)("an API key sent %s is 400", async (_, keys) => {
    const headers = keys(gateway.key).map((key): [string, string] => ["Authorization", `Bearer ${key}`])
    const answer = await sendRaw(gateway.url, rawPost(headers))
    expect(answer.status).toBe(400)
    expect(answer.headers["x-request-id"]).toMatch(/\S/)
    expect(JSON.parse(answer.body)).toMatchObject({ error: { code: "invalid_parameter" } })
    expect(upstream.requests).toHaveLength(0)
  })

  test("an API key sent once on a bare connection is accepted", async () => {
    const answer = await sendRaw(gateway.url, rawPost([["AUTHORIZATION", `Bearer ${gateway.key}`]]))
    expect(answer.status).toBe(200)
  })

  function rawPost(headers: readonly [string, string][]): string {
    const common: [string, string][] = [
      ["host", "gateway"],
      ["content-type", "application/json"],
      ["content-length", String(BODY.length)],
      ["connection", "close"],
    ]
    return requestHead("POST /v1/chat/completions", [...common, ...headers]) + BODY
  }
})

describe("routes", () => {
  const routes: readonly [string, string, string][] = [
    ["GET", "/v1/chat/completions", "POST"],
    ["PUT", "/v1/chat/completions", "POST"],
    ["DELETE", "/v1/models/test/model", "GET"],
    ["POST", "/v1/models", "GET"],
    ["PATCH", "/v1/models/count", "GET"],
    ["POST", "/healthz", "GET"],
  ]
  test.each(routes)("%s %s is 405 and names the allowed methods", async (method, path, allowed) => {
    const response = await fetch(`${gateway.url}${path}`, {
      method,
      headers: { authorization: `Bearer ${gateway.key}` },
    })
    expect(response.status).toBe(405)
    expect(response.headers.get("allow")).toBe(allowed)
    expect(await response.json()).toEqual({
      error: {
        code: "method_not_allowed",
        type: "invalid_request_error",
        message: expect.stringContaining(allowed) as unknown as string,
      },
    })
  })

  test.each(["/v1", "/v1/chat", "/v1/chat/completions/", "/v1/chat/completions/x", "/V1/models", "/admin"])(
    "%s is 404 in the error shape",
    async (path) => {
      const response = await fetch(`${gateway.url}${path}`)
      expect(response.status).toBe(404)
      expect(response.headers.get("content-type")).toBe("application/json")
      expect(await response.json()).toEqual({
        error: { code: "route_not_found", type: "not_found_error", message: expect.any(String) as unknown as string },
      })
    },
  )
})
