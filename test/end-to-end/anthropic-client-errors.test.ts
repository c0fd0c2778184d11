// The errors that Anthropic's own client library raises, the same in each of its versions.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test"
import type Anthropic from "@anthropic-ai/sdk"
import { anthropicMessage } from "../stage/anthropic-wire.ts"
import { RunningGateway, vendorsConfig } from "../stage/gateway.ts"
import { KeyFolder } from "../stage/keys.ts"
import { rejectionOf } from "../stage/rejection-of.ts"
import { countReportedAttempts } from "../stage/reported-attempts.ts"
import { ScriptedUpstream } from "../stage/upstream.ts"
import { ANTHROPIC_VERSIONS, hello, type MessageParams, textOf } from "./anthropic-versions.ts"

const HI = hello("test/model")
const folder = new KeyFolder()
const keys = folder.eachKind()
let upstream: ScriptedUpstream
let gateway: RunningGateway

beforeAll(async () => {
  upstream = await ScriptedUpstream.start()
  const config = vendorsConfig(upstream.origin, "", ["anthropic-like"])
  gateway = await RunningGateway.start({ config, dataDir: folder.path, key: keys.whole })
})
beforeEach(() => {
  upstream.script = (_, reply) => reply.json(anthropicMessage("Hello."))
  upstream.requests.length = 0
})
afterAll(async () => {
  await gateway.stop()
  await upstream.stop()
  folder.remove()
})

/** The error of the answer's body, from this client's property. */
function errorWith(code: string, type: string): object {
  return { type: "error", request_id: expect.stringMatching(/\S/), error: { code, type, message: expect.any(String) } }
}

for (const version of ANTHROPIC_VERSIONS) {
  describe(version.name, () => {
    const connect = (apiKey: string, maxRetries = 2) =>
      new version.Anthropic({ apiKey, baseURL: `${gateway.url}/anthropic`, maxRetries })
    let client: Anthropic
    beforeAll(() => {
      client = connect(keys.whole)
    })

    describe("the API key", () => {
      test("a missing API key raises an AuthenticationError", async () => {
        const keyless = new version.Anthropic({
          apiKey: "unused",
          baseURL: `${gateway.url}/anthropic`,
          defaultHeaders: { authorization: null, "x-api-key": null },
        })
        const error = await rejectionOf(keyless.messages.create(HI))
        expect(error).toBeInstanceOf(version.Anthropic.AuthenticationError)
        expect(error).toMatchObject({ status: 401, error: errorWith("missing_api_key", "authentication_error") })
      })

      const opensNothing = [
        ["is invalid", () => `trv_${"0".repeat(49)}`, "invalid_api_key"],
        ["is one of the vendor's own", () => "sk-ant-api03-abc", "invalid_api_key"],
        ["has expired", () => keys.expired, "expired_api_key"],
        ["was revoked", () => keys.revoked, "revoked_api_key"],
      ] as const
      for (const [what, key, code] of opensNothing) {
        test(`an API key that ${what} raises an AuthenticationError`, async () => {
          const error = await rejectionOf(connect(key()).messages.create(HI))
          expect(error).toBeInstanceOf(version.Anthropic.AuthenticationError)
          expect(error).toMatchObject({ status: 401, error: errorWith(code, "authentication_error") })
          expect(upstream.requests).toHaveLength(0)
        })
      }

      test("an API key whose scope lacks the model raises a PermissionDeniedError", async () => {
        const error = await rejectionOf(connect(keys.narrow).messages.create(HI))
        expect(error).toBeInstanceOf(version.Anthropic.PermissionDeniedError)
        expect(error).toMatchObject({ status: 403, error: errorWith("model_not_allowed", "permission_error") })
        expect(upstream.requests).toHaveLength(0)
      })

      test("an API key does not find a model outside its scope", async () => {
        const error = await rejectionOf(connect(keys.narrow).models.retrieve("test/model"))
        expect(error).toBeInstanceOf(version.Anthropic.NotFoundError)
        expect((await connect(keys.narrow).models.list()).data).toEqual([])
      })
    })

    describe("a request", () => {
      const refused: readonly [string, object, { code: string; param: string }][] = [
        ["with a value out of bounds", { temperature: 1.1 }, invalid("temperature")],
        ["with an output limit of 0", { max_tokens: 0 }, invalid("max_tokens")],
        ["without a limit", { max_tokens: undefined }, { code: "missing_parameter", param: "max_tokens" }],
        ["without messages", { messages: [] }, invalid("messages")],
        ["with an unknown role", { messages: [{ role: "boss", content: "" }] }, invalid("messages[0].role")],
        ["for another's file", { messages: [fileMessage()] }, unsupported("messages[0].content[0].source.file_id")],
        ["for another's container", { container: "container_1" }, unsupported("container")],
        ["for a foreign address", { base_url: "http://x" }, unsupported("base_url")],
        ["with an unknown routing member", { provider: { zone: "x" } }, invalid("provider.zone")],
        ["for a service without a price", { speed: "fast" }, { code: "model_not_priced", param: "speed" }],
      ]
      for (const [what, members, { code, param }] of refused) {
        test(`a request ${what} raises a BadRequestError that names ${param}`, async () => {
          const error = await rejectionOf(client.messages.create({ ...HI, ...members } as MessageParams))
          expect(error).toBeInstanceOf(version.Anthropic.BadRequestError)
          expect(error).toMatchObject({ status: 400, error: errorWith(code, "invalid_request_error") })
          expect(error).toMatchObject({ error: { error: { param } } })
          expect(upstream.requests).toHaveLength(0)
        })
      }

      test("a request for an unknown model raises a NotFoundError that names model", async () => {
        const error = await rejectionOf(client.messages.create({ ...HI, model: "no/such" }))
        expect(error).toBeInstanceOf(version.Anthropic.NotFoundError)
        expect(error).toMatchObject({ status: 404, error: errorWith("model_not_found", "not_found_error") })
        expect(error).toMatchObject({ error: { error: { param: "model" } } })
      })

      test("a rejected stream request raises its error before any event", async () => {
        const error = await rejectionOf(client.messages.create({ ...HI, model: "no/such", stream: true }))
        expect(error).toBeInstanceOf(version.Anthropic.NotFoundError)
        const helper = client.messages.stream({ ...HI, model: "no/such" })
        expect(await rejectionOf(helper.finalMessage())).toBeInstanceOf(version.Anthropic.NotFoundError)
      })

      test("a request to count tokens is checked like the call it counts for", async () => {
        const error = await rejectionOf(client.messages.countTokens({ model: "no/such", messages: HI.messages }))
        expect(error).toBeInstanceOf(version.Anthropic.NotFoundError)
        expect(error).toMatchObject({ error: errorWith("model_not_found", "not_found_error") })
      })
    })

    describe("an unknown resource", () => {
      test("an unknown model raises a NotFoundError", async () => {
        const error = await rejectionOf(client.models.retrieve("no/such"))
        expect(error).toBeInstanceOf(version.Anthropic.NotFoundError)
        expect(error).toMatchObject({ status: 404, error: errorWith("resource_not_found", "not_found_error") })
      })

      test("an unknown route raises a NotFoundError", async () => {
        const error = await rejectionOf(client.get("/v1/nowhere"))
        expect(error).toBeInstanceOf(version.Anthropic.NotFoundError)
        expect(error).toMatchObject({ status: 404, error: errorWith("route_not_found", "not_found_error") })
      })
    })

    describe("the request id", () => {
      test("the request id of an answer is in the client's own property", async () => {
        const message = await client.messages.create(HI)
        expect(message._request_id).toMatch(/\S/)
      })

      const failures: readonly [string, () => PromiseLike<unknown>][] = [
        ["a refused key", () => connect("wrong").messages.create(HI)],
        ["a refused request", () => client.messages.create({ ...HI, max_tokens: 0 })],
        ["an unknown model", () => client.models.retrieve("no/such")],
        ["an unknown route", () => client.get("/v1/nowhere")],
        ["a method that is not allowed", () => client.post("/v1/models")],
      ]
      for (const [what, fail] of failures) {
        test(`the request id of ${what} is in the client's own property and in the body`, async () => {
          const error = await rejectionOf(fail())
          if (!(error instanceof version.Anthropic.APIError)) throw error
          expect(error.requestID).toMatch(/\S/)
          expect(error.requestID).toBe(error.headers?.get("x-request-id"))
          expect(error.error).toMatchObject({ request_id: error.requestID })
        })
      }
    })

    describe("an upstream", () => {
      test("an upstream's rejection raises a BadRequestError with the upstream's message", async () => {
        const message = "messages.0: `tool_result` blocks must follow a `tool_use` block."
        upstream.script = (_, reply) => {
          reply.json({ type: "error", error: { type: "invalid_request_error", message }, request_id: "req_011" }, 400)
        }
        const error = await rejectionOf(client.messages.create(HI))
        expect(error).toBeInstanceOf(version.Anthropic.BadRequestError)
        expect(error).toMatchObject({ status: 400, message: expect.stringContaining("must follow") })
        expect(upstream.requests).toHaveLength(1)
      })

      test("an upstream's too-long prompt raises an error with the message that coding agents expect", async () => {
        const message = "prompt is too long: 210000 tokens > 200000 maximum"
        upstream.script = (_, reply) =>
          reply.json({ type: "error", error: { type: "invalid_request_error", message } }, 400)
        const error = await rejectionOf(client.messages.create(HI))
        expect(error).toBeInstanceOf(version.Anthropic.BadRequestError)
        expect(error).toMatchObject({
          error: {
            error: { code: "context_length_exceeded", message: expect.stringMatching(/^prompt is too long: /) },
          },
        })
      })

      const failures = [
        ["is overloaded", 529, "overloaded_error"],
        ["fails", 500, "api_error"],
        ["refuses the gateway's credential", 401, "authentication_error"],
      ] as const
      for (const [what, status, type] of failures) {
        test(`an upstream that ${what} is not retried by the client, which raises a 503`, async () => {
          upstream.script = (_, reply) => reply.json({ type: "error", error: { type, message: "4711" } }, status)
          const error = await rejectionOf(client.messages.create(HI))
          expect(error).toBeInstanceOf(version.Anthropic.InternalServerError)
          expect(JSON.stringify(error)).not.toContain("4711")
          expect(error).toMatchObject({
            status: 503,
            error: errorWith("upstream_unavailable", "service_unavailable_error"),
          })
          expect(upstream.requests).toHaveLength(countReportedAttempts((error as { error?: unknown }).error))
        })
      }

      test("an upstream rate limit without a delay is called once", async () => {
        upstream.script = (_, reply) => reply.json({ type: "error", error: { type: "rate_limit_error" } }, 429)
        const error = await rejectionOf(client.messages.create(HI))
        expect(error).toBeInstanceOf(version.Anthropic.InternalServerError)
        expect(error).toMatchObject({
          status: 503,
          error: errorWith("upstream_rate_limited", "service_unavailable_error"),
        })
        expect(upstream.requests).toHaveLength(1)
      })

      test("an upstream that states a retry delay is retried by the client", async () => {
        upstream.script = (_, reply) => {
          const limited = { type: "error", error: { type: "rate_limit_error", message: "slow" } }
          if (upstream.requests.length === 1) reply.json(limited, 429, { "retry-after": "1" })
          else reply.json(anthropicMessage("Hello."))
        }
        expect(textOf(await connect(keys.whole, 1).messages.create(HI))).toBe("Hello.")
        expect(upstream.requests).toHaveLength(2)
      })
    })
  })
}

function invalid(param: string): { code: string; param: string } {
  return { code: "invalid_parameter", param }
}

function unsupported(param: string): { code: string; param: string } {
  return { code: "unsupported_parameter", param }
}

function fileMessage(): object {
  return { role: "user", content: [{ type: "image", source: { type: "file", file_id: "file_011" } }] }
}
