// The errors that Google's own client library raises, the same in each of its versions, and the places of its key.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test"
import type { GenerateContentParameters, GoogleGenAI } from "@google/genai"
import { RunningGateway, vendorsConfig } from "../stage/gateway.ts"
import { geminiResponse } from "../stage/gemini-wire.ts"
import { KeyFolder } from "../stage/keys.ts"
import { rejectionOf } from "../stage/rejection-of.ts"
import { countReportedAttempts } from "../stage/reported-attempts.ts"
import { ScriptedUpstream } from "../stage/upstream.ts"
import { errorDetails, GENAI_VERSIONS, withOurCode } from "./genai-versions.ts"

const HI = { model: "test/model", contents: "hi" }
const BODY = JSON.stringify({ contents: [{ role: "user", parts: [{ text: "hi" }] }] })
const folder = new KeyFolder()
const keys = folder.eachKind()
let upstream: ScriptedUpstream
let gateway: RunningGateway

beforeAll(async () => {
  upstream = await ScriptedUpstream.start()
  const config = vendorsConfig(upstream.origin, "", ["gemini-like"])
  gateway = await RunningGateway.start({ config, dataDir: folder.path, key: keys.whole })
})
beforeEach(() => {
  upstream.script = (_, reply) => reply.json(geminiResponse("Hello.", "STOP"))
  upstream.requests.length = 0
})
afterAll(async () => {
  await gateway.stop()
  await upstream.stop()
  folder.remove()
})

for (const version of GENAI_VERSIONS) {
  describe(version.name, () => {
    const connect = (apiKey: string) =>
      new version.GoogleGenAI({ apiKey, httpOptions: { baseUrl: `${gateway.url}/gemini` } })
    let client: GoogleGenAI
    beforeAll(() => {
      client = connect(keys.whole)
    })

    const expectError = async (call: PromiseLike<unknown>, status: number) => {
      const error = await rejectionOf(call)
      expect(error).toBeInstanceOf(version.ApiError)
      expect(error).toMatchObject({ status })
      return errorDetails(error)
    }

    describe("an answer", () => {
      test("an answer arrives whole, under the caller's name for the model", async () => {
        const answer = await client.models.generateContent(HI)
        expect(answer).toMatchObject({ ...geminiResponse("Hello.", "STOP"), modelVersion: "test/model" })
        const { path, headers, head } = upstream.lastRequest()
        expect(path).toBe("/v1beta/models/upstream-model:generateContent")
        expect(headers["x-goog-api-key"]).toBe("upstream-credential")
        expect(head).not.toContain(keys.whole)
      })

      test("an answer at the specification's prefix is the same", async () => {
        const httpOptions = { baseUrl: `${gateway.url}/genapi` }
        const neutral = new version.GoogleGenAI({ apiKey: keys.whole, httpOptions })
        expect((await neutral.models.generateContent(HI)).text).toBe("Hello.")
      })

      test("a token count arrives unchanged", async () => {
        upstream.script = (_, reply) => reply.json({ totalTokens: 7 })
        expect((await client.models.countTokens(HI)).totalTokens).toBe(7)
        expect(upstream.lastRequest().path).toBe("/v1beta/models/upstream-model:countTokens")
      })
    })

    describe("the API key", () => {
      const opensNothing = [
        ["is invalid", () => `trv_${"0".repeat(49)}`, "invalid_api_key"],
        ["is one of the vendor's own", () => "AIzaSyA-abc", "invalid_api_key"],
        ["has expired", () => keys.expired, "expired_api_key"],
        ["was revoked", () => keys.revoked, "revoked_api_key"],
      ] as const
      for (const [what, key, code] of opensNothing) {
        test(`an API key that ${what} raises an ApiError of status 401`, async () => {
          const error = await expectError(connect(key()).models.generateContent(HI), 401)
          expect(error).toMatchObject({ code, type: "authentication_error", status: "UNAUTHENTICATED" })
          expect(upstream.requests).toHaveLength(0)
        })
      }

      test("an API key whose scope lacks the model raises an ApiError of status 403", async () => {
        const error = await expectError(connect(keys.narrow).models.generateContent(HI), 403)
        expect(error).toMatchObject({ code: "model_not_allowed", status: "PERMISSION_DENIED" })
        expect(upstream.requests).toHaveLength(0)
      })

      test("an API key does not find a model outside its scope", async () => {
        const narrow = connect(keys.narrow)
        await expectError(narrow.models.get({ model: "test/model" }), 404)
        expect((await narrow.models.list()).page).toEqual([])
      })
    })

    describe("a request", () => {
      const refused: readonly [string, Partial<GenerateContentParameters>, { code: string; names: string }][] = [
        ["with a value out of bounds", { config: { temperature: 2.1 } }, invalid("generationConfig.temperature")],
        ["with an output limit of 0", { config: { maxOutputTokens: 0 } }, invalid("generationConfig.maxOutputTokens")],
        ["with an unknown role", { contents: [{ role: "boss", parts: [{ text: "" }] }] }, invalid("contents[0].role")],
        ["for another's cache", { config: { cachedContent: "cachedContents/1" } }, unsupported("cachedContent")],
        ["for another's file", { contents: [fileContent()] }, unsupported("contents[0].parts[0].fileData.fileUri")],
      ]
      for (const [what, members, { code, names }] of refused) {
        test(`a request ${what} raises an ApiError of status 400 that names ${names}`, async () => {
          const error = await expectError(client.models.generateContent({ ...HI, ...members }), 400)
          expect(error.message).toContain(names)
          expect(error).toMatchObject({ code, type: "invalid_request_error", status: "INVALID_ARGUMENT" })
          expect(upstream.requests).toHaveLength(0)
        })
      }

      test("a request for an unknown model raises an ApiError of status 404 that names it", async () => {
        const error = await expectError(client.models.generateContent({ ...HI, model: "no/such" }), 404)
        expect(error.message).toContain("no/such")
        expect(error).toMatchObject({ code: "model_not_found", type: "not_found_error", status: "NOT_FOUND" })
      })

      test("a rejected stream request raises its error before any chunk", async () => {
        const error = await expectError(client.models.generateContentStream({ ...HI, model: "no/such" }), 404)
        expect(error).toMatchObject({ code: "model_not_found" })
      })

      test("a request to count tokens is checked like the call it counts for", async () => {
        const error = await expectError(client.models.countTokens({ ...HI, model: "no/such" }), 404)
        expect(error).toMatchObject({ code: "model_not_found" })
      })

      test("retrieving an unknown model raises an ApiError of status 404", async () => {
        const error = await expectError(client.models.get({ model: "no/such" }), 404)
        expect(error).toMatchObject({ code: "resource_not_found", status: "NOT_FOUND" })
      })
    })

    describe("an upstream", () => {
      test("an upstream's rejection raises an ApiError of status 400 with the upstream's message", async () => {
        const message = "* GenerateContentRequest.tools[0].function_declarations[0].name: Invalid function name."
        upstream.script = (_, reply) => reply.json({ error: { code: 400, message, status: "INVALID_ARGUMENT" } }, 400)
        expect(await expectError(client.models.generateContent(HI), 400)).toMatchObject({ message })
        expect(upstream.requests).toHaveLength(1)
      })

      const failures = [
        ["is overloaded", 503, "UNAVAILABLE", "upstream_unavailable"],
        ["fails", 500, "INTERNAL", "upstream_unavailable"],
        ["refuses the gateway's credential", 400, "API_KEY_INVALID", "upstream_unavailable"],
        ["limits the gateway", 429, "RESOURCE_EXHAUSTED", "upstream_rate_limited"],
      ] as const
      for (const [what, status, word, code] of failures) {
        test(`an upstream that ${what} is not retried by the client, which raises an ApiError of status 503`, async () => {
          const message = status === 400 ? "API key not valid. 4711" : "4711"
          upstream.script = (_, reply) => reply.json({ error: { code: status, message, status: word } }, status)
          const error = await expectError(client.models.generateContent(HI), 503)
          expect(JSON.stringify(error)).not.toContain("4711")
          expect(error).toMatchObject({ code, type: "service_unavailable_error", status: "UNAVAILABLE" })
          expect(upstream.requests).toHaveLength(countReportedAttempts(error))
        })
      }
    })
  })
}

describe("the API key in any header", () => {
  const url = (query = "") => `${gateway.url}/gemini/v1beta/models/test/model:generateContent${query}`
  const post = (query: string, headers: Record<string, string>) =>
    fetch(url(query), { method: "POST", headers: { "content-type": "application/json", ...headers }, body: BODY })

  const accepted: readonly [string, () => [query: string, headers: Record<string, string>]][] = [
    ["in the query", () => [`?key=${keys.whole}`, {}]],
    ["in x-goog-api-key", () => ["", { "x-goog-api-key": keys.whole }]],
    ["in x-gen-api-key", () => ["", { "x-gen-api-key": keys.whole }]],
    ["as a bearer", () => ["", { authorization: `Bearer ${keys.whole}` }]],
    ["in the query and a header if they are equal", () => [`?key=${keys.whole}`, { "x-goog-api-key": keys.whole }]],
  ]
  test.each(accepted)("the API key is accepted %s, and is not forwarded", async (_, sent) => {
    expect((await post(...sent())).status).toBe(200)
    const { head, path } = upstream.lastRequest()
    expect(head).not.toContain(keys.whole)
    expect(path).toBe("/v1beta/models/upstream-model:generateContent")
  })

  const contradictory: readonly [string, () => [query: string, headers: Record<string, string>]][] = [
    ["query and header", () => [`?key=${keys.whole}`, { "x-goog-api-key": "AIza-other" }]],
    ["bearer and header", () => ["", { authorization: "Bearer other", "x-goog-api-key": keys.whole }]],
    ["two headers", () => ["", { "x-gen-api-key": "other", "x-goog-api-key": keys.whole }]],
    ["two in the query", () => [`?key=${keys.whole}&key=other`, {}]],
  ]
  test.each(contradictory)("two different API keys are rejected with 400: %s", async (_, sent) => {
    const response = await post(...sent())
    expect(response.status).toBe(400)
    expect(await errorIn(response)).toMatchObject({ code: "invalid_parameter", status: "INVALID_ARGUMENT" })
    expect(upstream.requests).toHaveLength(0)
  })

  test("a missing API key is 401", async () => {
    const response = await post("", {})
    expect(response.status).toBe(401)
    expect(await errorIn(response)).toMatchObject({ code: "missing_api_key", status: "UNAUTHENTICATED" })
  })
})

describe("the path of a method", () => {
  test.each([
    "/gemini/v1beta/models/test/model",
    "/gemini/v1beta/models/test%2Fmodel",
    "/gemini/v1beta/publishers/test/models/model",
    "/gemini/v1beta1/publishers/test/models/model",
    "/gemini/v1beta/test/model",
    "/gemini/v1/models/test/model",
    "/gemini/v1beta/v1beta/models/test/model",
    "/genapi/v1beta/models/test/model",
  ])("the path %s:generateContent names the model", async (path) => {
    const headers = { "x-goog-api-key": keys.whole, "content-type": "application/json" }
    const response = await fetch(`${gateway.url}${path}:generateContent`, { method: "POST", headers, body: BODY })
    expect(response.status).toBe(200)
    expect(await response.json()).toMatchObject({ modelVersion: "test/model" })
  })

  test("a path with an unknown method is 404 in the vendor's shape", async () => {
    const headers = { "x-goog-api-key": keys.whole, "content-type": "application/json" }
    const url = `${gateway.url}/gemini/v1beta/models/test/model:doSomething`
    const response = await fetch(url, { method: "POST", headers, body: BODY })
    expect(response.status).toBe(404)
    expect(await errorIn(response)).toMatchObject({ code: "route_not_found", status: "NOT_FOUND" })
  })
})

async function errorIn(response: Response): Promise<object> {
  const { error } = (await response.json()) as { error: Parameters<typeof withOurCode>[0] }
  return withOurCode(error)
}

function invalid(names: string): { code: string; names: string } {
  return { code: "invalid_parameter", names }
}

function unsupported(names: string): { code: string; names: string } {
  return { code: "unsupported_parameter", names }
}

function fileContent(): { role: string; parts: object[] } {
  const fileUri = "https://generativelanguage.googleapis.com/v1beta/files/abc"
  return { role: "user", parts: [{ fileData: { fileUri, mimeType: "image/png" } }] }
}
