// The errors that OpenAI's own client library raises, the same in each of its versions.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test"
import type OpenAI from "openai"
import { RunningGateway, upstreamConfig } from "../stage/gateway.ts"
import { KeyFolder } from "../stage/keys.ts"
import { rejectionOf } from "../stage/rejection-of.ts"
import { countReportedAttempts } from "../stage/reported-attempts.ts"
import { completion, DONE, ScriptedUpstream, streamedWords, streams, type UpstreamScript } from "../stage/upstream.ts"
import { type ChatParams, HI, VERSIONS } from "./client-versions.ts"

const folder = new KeyFolder()
const keys = folder.eachKind()
let upstream: ScriptedUpstream
let gateway: RunningGateway

beforeAll(async () => {
  upstream = await ScriptedUpstream.start()
  gateway = await RunningGateway.start({
    config: upstreamConfig(upstream.baseUrl),
    dataDir: folder.path,
    key: keys.whole,
  })
})
beforeEach(() => {
  upstream.script = (_, reply) => reply.json(completion("Hello."))
  upstream.requests.length = 0
})
afterAll(async () => {
  await gateway.stop()
  await upstream.stop()
  folder.remove()
})

for (const version of VERSIONS) {
  describe(version.name, () => {
    const connect = (apiKey: string, options: ConstructorParameters<typeof OpenAI>[0] = {}) =>
      new version.OpenAI({ apiKey, baseURL: `${gateway.url}/v1`, ...options })
    let client: OpenAI
    let helpers: OpenAI["chat"]["completions"]
    beforeAll(() => {
      client = connect(keys.whole)
      helpers = version.helpers(client)
    })

    describe("errors", () => {
      test("a missing key raises an AuthenticationError", async () => {
        const keyless = connect("unused", { defaultHeaders: { authorization: null } })
        const error = await rejectionOf(keyless.chat.completions.create(HI))
        expect(error).toBeInstanceOf(version.OpenAI.AuthenticationError)
        expect(error).toMatchObject({ status: 401, code: "missing_api_key", type: "authentication_error" })
      })

      const opensNothing = [
        ["an invalid key", () => `trv_${"0".repeat(49)}`, "invalid_api_key"],
        ["a mistyped key", () => `${keys.whole.slice(0, -1)}!`, "invalid_api_key"],
        ["an expired key", () => keys.expired, "expired_api_key"],
        ["a revoked key", () => keys.revoked, "revoked_api_key"],
      ] as const
      for (const [what, key, code] of opensNothing) {
        test(`${what} raises an AuthenticationError`, async () => {
          const error = await rejectionOf(connect(key()).chat.completions.create(HI))
          expect(error).toBeInstanceOf(version.OpenAI.AuthenticationError)
          expect(error).toMatchObject({ status: 401, code, type: "authentication_error" })
          expect(upstream.requests).toHaveLength(0)
        })
      }

      test("a model outside the key's scope raises a PermissionDeniedError", async () => {
        const error = await rejectionOf(connect(keys.narrow).chat.completions.create(HI))
        expect(error).toBeInstanceOf(version.OpenAI.PermissionDeniedError)
        expect(error).toMatchObject({
          status: 403,
          code: "model_not_allowed",
          type: "permission_error",
          param: "model",
        })
        expect(upstream.requests).toHaveLength(0)
      })

      const badRequests: readonly [string, object, { code: string; param: string }][] = [
        ["a value out of bounds", { temperature: 2.1 }, { code: "invalid_parameter", param: "temperature" }],
        ["a wrong type", { stream: "yes" }, { code: "invalid_parameter", param: "stream" }],
        ["an unknown role", { messages: [{ role: "boss", content: "" }] }, invalid("messages[0].role")],
        ["no messages", { messages: undefined }, { code: "missing_parameter", param: "messages" }],
        ["an unknown model", { model: "no/such" }, { code: "model_not_found", param: "model" }],
        ["a foreign address", { base_url: "http://x" }, { code: "unsupported_parameter", param: "base_url" }],
        ["an unknown routing member", { provider: { zone: "x" } }, invalid("provider.zone")],
        ["an unknown fallback", { provider: { fallback: ["no/such"] } }, unknownModel("provider.fallback[0]")],
      ]
      for (const [what, members, expected] of badRequests) {
        test(`${what} raises a BadRequestError with code and param`, async () => {
          const error = await rejectionOf(client.chat.completions.create({ ...HI, ...members } as ChatParams))
          expect(error).toBeInstanceOf(version.OpenAI.BadRequestError)
          expect(error).toMatchObject({ status: 400, type: "invalid_request_error", ...expected })
          expect(upstream.requests).toHaveLength(0)
        })
      }

      test("an unknown model or route raises a NotFoundError", async () => {
        const model = await rejectionOf(client.models.retrieve("no/such"))
        expect(model).toBeInstanceOf(version.OpenAI.NotFoundError)
        expect(model).toMatchObject({ status: 404, code: "resource_not_found", type: "not_found_error" })
        const route = await rejectionOf(client.get("/nowhere"))
        expect(route).toBeInstanceOf(version.OpenAI.NotFoundError)
        expect(route).toMatchObject({ status: 404, code: "route_not_found" })
      })

      test("an upstream's 400 raises a BadRequestError with the upstream's message", async () => {
        const upstreamError = {
          message: "'stop' holds 5 sequences, at most 4 are allowed.",
          type: "invalid_request_error",
        }
        upstream.script = (_, reply) => reply.json({ error: { ...upstreamError, param: "stop", code: null } }, 400)
        const error = await rejectionOf(client.chat.completions.create(HI))
        expect(error).toBeInstanceOf(version.OpenAI.BadRequestError)
        expect(error).toMatchObject({
          status: 400,
          param: "stop",
          message: expect.stringContaining(upstreamError.message),
        })
        expect(upstream.requests).toHaveLength(1)
      })

      test("an upstream that fails raises an InternalServerError that the client does not retry", async () => {
        upstream.script = (_, reply) => reply.json({ error: { message: "boom" } }, 500)
        const error = await rejectionOf(connect(keys.whole, { maxRetries: 2 }).chat.completions.create(HI))
        expect(error).toBeInstanceOf(version.OpenAI.InternalServerError)
        expect(error).toMatchObject({ status: 503, code: "upstream_unavailable", type: "service_unavailable_error" })
        expect(upstream.requests).toHaveLength(countReportedAttempts((error as { error?: unknown }).error))
      })

      test("an upstream that states a retry delay is retried by the client", async () => {
        upstream.script = (_, reply) => {
          if (upstream.requests.length === 1) reply.json({ error: { message: "slow" } }, 429, { "retry-after": "1" })
          else reply.json(completion("Hello."))
        }
        const answer = await connect(keys.whole, { maxRetries: 1 }).chat.completions.create(HI)
        expect(answer.choices[0]?.message.content).toBe("Hello.")
        expect(upstream.requests).toHaveLength(2)
      })
    })

    describe("a stream that fails", () => {
      const half = streamedWords("The quick").slice(0, 3)
      const failures: readonly [string, UpstreamScript][] = [
        ["whose connection is reset", (_, reply) => sendHalf(reply, () => reply.cut("reset"))],
        ["whose connection is closed", (_, reply) => sendHalf(reply, () => reply.cut("fin"))],
        ["that ends before its answer does", (_, reply) => sendHalf(reply, () => reply.end())],
        ["that goes on with an error", streams([...half, 'data: {"error":{"message":"boom","code":"x"}}\n\n', DONE])],
        ["that goes on with rubbish", streams([...half, "data: {rubbish\n\n", DONE])],
      ]
      const sendHalf = async (reply: Parameters<UpstreamScript>[1], fail: () => void) => {
        reply.stream()
        for (const event of half) await reply.write(event)
        await Bun.sleep(20)
        fail()
      }

      for (const [what, script] of failures) {
        test(`a stream ${what} raises an APIError after the text that arrived`, async () => {
          upstream.script = script
          let text = ""
          const reading = (async () => {
            for await (const each of await client.chat.completions.create({ ...HI, stream: true })) {
              text += each.choices[0]?.delta.content ?? ""
            }
          })()
          const error = await rejectionOf(reading)
          expect(error).toBeInstanceOf(version.OpenAI.APIError)
          expect(error).toMatchObject({ code: "upstream_unavailable", type: "service_unavailable_error" })
          expect(text).toBe("The quick")
          expect(upstream.requests).toHaveLength(1)
        })
      }

      test("a stream that fails makes the stream helper's final message fail", async () => {
        upstream.script = (_, reply) => sendHalf(reply, () => reply.cut("reset"))
        const error = await rejectionOf(helpers.stream({ ...HI, stream: true }).finalMessage())
        expect(error).toBeInstanceOf(version.OpenAI.APIError)
      })

      test("a stream that fails with its first event raises an InternalServerError before the stream starts", async () => {
        upstream.script = streams(['data: {"error":{"message":"boom","code":503}}\n\n'])
        const error = await rejectionOf(client.chat.completions.create({ ...HI, stream: true }))
        expect(error).toBeInstanceOf(version.OpenAI.InternalServerError)
        expect(error).toMatchObject({ status: 503, code: "upstream_unavailable" })
      })
    })
  })
}

function invalid(param: string): { code: string; param: string } {
  return { code: "invalid_parameter", param }
}

function unknownModel(param: string): { code: string; param: string } {
  return { code: "model_not_found", param }
}
