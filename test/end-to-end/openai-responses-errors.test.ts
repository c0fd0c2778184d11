// Failures of responses, embeddings and images in OpenAI's own client library, the same in each of its versions: its
// own error classes, and never a broken stream that looks complete.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test"
import type OpenAI from "openai"
import { RunningGateway, vendorsConfig } from "../stage/gateway.ts"
import { KeyFolder } from "../stage/keys.ts"
import { rejectionOf } from "../stage/rejection-of.ts"
import { countReportedAttempts } from "../stage/reported-attempts.ts"
import { responseEvent, responseHalf, responseObject, responseWords } from "../stage/responses-wire.ts"
import { ScriptedUpstream, streams, streamsThen, type UpstreamScript } from "../stage/upstream.ts"
import { VERSIONS } from "./client-versions.ts"

type FailingResponseParams = OpenAI.Responses.ResponseCreateParamsNonStreaming

const HI: FailingResponseParams = { model: "test/model", input: "hi" }
const folder = new KeyFolder()
const keys = { whole: "", narrow: "" }
let upstream: ScriptedUpstream
let gateway: RunningGateway

const OTHERS = `
  - { id: test/vectors, kind: embedding, context_window: 1000,
      pricing: { input: "1", output: "2" }, targets: [{ provider: openai-like, model: upstream-vectors }] }
  - { id: test/pictures, kind: image, pricing: { input: "1", output: "2" }, targets: [{ provider: openai-like, model: upstream-pictures }] }
`

beforeAll(async () => {
  upstream = await ScriptedUpstream.start()
  folder.within((store) => {
    keys.whole = store.create({ name: "whole" }).text
    keys.narrow = store.create({ name: "narrow", models: ["other/*"] }).text
  })
  const config = vendorsConfig(upstream.origin, OTHERS, ["openai-like"])
  gateway = await RunningGateway.start({ config, dataDir: folder.path, key: keys.whole })
})
beforeEach(() => {
  upstream.script = (_, reply) => reply.json(responseObject("Hello."))
  upstream.requests.length = 0
})
afterAll(async () => {
  await gateway.stop()
  await upstream.stop()
  folder.remove()
})

const half = responseHalf("The quick")
const next = half.length
const quota = { code: "server_error", message: "4711" }
const failed = responseObject("", { status: "failed", output: [], usage: null, error: quota })
const errorEvent = responseEvent("error", next, { code: "server_error", message: "4711", param: null })

const FAILURES: readonly [string, UpstreamScript][] = [
  ["whose connection is reset", streamsThen(half, (reply) => reply.cut("reset"))],
  ["whose connection is closed", streamsThen(half, (reply) => reply.cut("fin"))],
  ["that ends within its item", streamsThen(half, (reply) => reply.end())],
  [
    "that ends without its terminal event",
    streamsThen(responseWords("The quick").slice(0, -1), (reply) => reply.end()),
  ],
  ["that ends within an event", streamsThen([...half, "event: response.output_te"], (reply) => reply.end())],
  [
    "that goes on with the vendor's failure",
    streams([...half, responseEvent("response.failed", next, { response: failed })]),
  ],
  ["that goes on with the vendor's error", streams([...half, errorEvent])],
  [
    "that goes on with an error as chat has it",
    streams([...half, 'data: {"error":{"message":"4711","code":500}}\n\n']),
  ],
  ["that goes on with rubbish", streams([...half, "event: response.output_text.delta\ndata: {rubbish\n\n"])],
]

for (const version of VERSIONS) {
  describe(version.name, () => {
    const connect = (apiKey: string, maxRetries = 2) =>
      new version.OpenAI({ apiKey, baseURL: `${gateway.url}/v1`, maxRetries })
    let client: OpenAI
    beforeAll(() => {
      client = connect(keys.whole)
    })

    describe("a response", () => {
      test("a response arrives whole, under the caller's name for the model", async () => {
        const response = await client.responses.create(HI)
        const { id } = response
        expect(id).toMatch(/^resp_[0-9a-f]{24}$/)
        expect(response).toMatchObject({ ...responseObject("Hello."), model: "test/model", id, store: true })
        expect(response.output_text).toBe("Hello.")
        expect(response._request_id).toMatch(/\S/)
      })

      test("a response with a wrong key raises an AuthenticationError", async () => {
        const error = await rejectionOf(connect(`trv_${"0".repeat(49)}`).responses.create(HI))
        expect(error).toBeInstanceOf(version.OpenAI.AuthenticationError)
        expect(error).toMatchObject({ status: 401, code: "invalid_api_key" })
      })

      test("a response outside the key's scope raises a PermissionDeniedError", async () => {
        const error = await rejectionOf(connect(keys.narrow).responses.create(HI))
        expect(error).toBeInstanceOf(version.OpenAI.PermissionDeniedError)
        expect(error).toMatchObject({ status: 403, code: "model_not_allowed", param: "model" })
      })

      const refused: readonly [string, object, { code: string; param: string }][] = [
        ["an unknown model", { model: "no/such" }, { code: "model_not_found", param: "model" }],
        ["a value out of bounds", { temperature: 2.1 }, invalid("temperature")],
        ["an output limit of 0", { max_output_tokens: 0 }, invalid("max_output_tokens")],
        ["no input", { input: undefined }, { code: "missing_parameter", param: "input" }],
        ["an unknown role", { input: [{ role: "boss", content: "" }] }, invalid("input[0].role")],
        ["another's response", { previous_response_id: "resp_1" }, invalid("previous_response_id")],
        ["another's conversation", { conversation: "conv_1" }, unsupported("conversation")],
        ["another's prompt", { prompt: { id: "pmpt_1" } }, unsupported("prompt")],
        ["an answer in the background", { background: true }, unsupported("background")],
        ["a service without a price", { service_tier: "flex" }, { code: "model_not_priced", param: "service_tier" }],
      ]
      for (const [what, members, expected] of refused) {
        test(`a response with ${what} raises a BadRequestError that names ${expected.param}`, async () => {
          const error = await rejectionOf(client.responses.create({ ...HI, ...members } as FailingResponseParams))
          expect(error).toBeInstanceOf(version.OpenAI.BadRequestError)
          expect(error).toMatchObject({ status: 400, type: "invalid_request_error", ...expected })
          expect(upstream.requests).toHaveLength(0)
        })
      }

      test("an unknown response id raises a NotFoundError", async () => {
        const error = await rejectionOf(client.responses.retrieve("resp_1"))
        expect(error).toBeInstanceOf(version.OpenAI.NotFoundError)
        expect(error).toMatchObject({ status: 404 })
      })

      test("an overloaded upstream raises an InternalServerError that the client does not retry", async () => {
        upstream.script = (_, reply) => reply.json({ error: { message: "4711", code: "server_is_overloaded" } }, 503)
        const error = await rejectionOf(client.responses.create(HI))
        expect(error).toBeInstanceOf(version.OpenAI.InternalServerError)
        expect(error).toMatchObject({ status: 503, code: "upstream_unavailable", type: "service_unavailable_error" })
        expect(upstream.requests).toHaveLength(countReportedAttempts((error as { error?: unknown }).error))
      })

      test("an upstream that states a retry delay is retried by the client", async () => {
        upstream.script = (_, reply) => {
          if (upstream.requests.length === 1) reply.json({ error: { message: "slow" } }, 429, { "retry-after": "1" })
          else reply.json(responseObject("Hello."))
        }
        expect((await connect(keys.whole, 1).responses.create(HI)).output_text).toBe("Hello.")
        expect(upstream.requests).toHaveLength(2)
      })
    })

    describe("a stream", () => {
      test("a stream passes whole, with its sequence numbers", async () => {
        upstream.script = streams(responseWords("The quick"))
        const stream = client.responses.stream(HI as never)
        const numbers: number[] = []
        stream.on("event", ({ sequence_number }) => void numbers.push(sequence_number))
        expect((await stream.finalResponse()).output_text ?? "The quick").toBe("The quick")
        expect(numbers).toEqual(numbers.map((_, index) => index))
      })

      for (const [what, script] of FAILURES) {
        test(`a stream ${what} raises an APIError after the text that arrived`, async () => {
          upstream.script = script
          let text = ""
          const events: OpenAI.Responses.ResponseStreamEvent[] = []
          const reading = (async () => {
            for await (const event of await client.responses.create({ ...HI, stream: true })) {
              events.push(event)
              if (event.type === "response.output_text.delta") text += event.delta
            }
          })()
          const error = await rejectionOf(reading)
          expect(error).toBeInstanceOf(version.OpenAI.APIError)
          expect(error).toMatchObject({ code: "upstream_unavailable", type: "service_unavailable_error" })
          expect(error).toMatchObject({ message: expect.not.stringContaining("4711") })
          expect(text).toBe("The quick")
          expect(events.map(({ type }) => type)).not.toContain("response.completed")
          expect(upstream.requests).toHaveLength(1)
        })

        test(`a stream ${what} makes the stream helper's final response fail`, async () => {
          upstream.script = script
          const error = await rejectionOf(client.responses.stream(HI as never).finalResponse())
          expect(error).toBeInstanceOf(version.OpenAI.OpenAIError)
        })
      }

      test("a stream that fails marks its response as failed, under the same id and with the next number", async () => {
        upstream.script = streamsThen(half, (reply) => reply.cut("reset"))
        const events: OpenAI.Responses.ResponseStreamEvent[] = []
        const reading = (async () => {
          for await (const event of await client.responses.create({ ...HI, stream: true })) events.push(event)
        })()
        await rejectionOf(reading)
        const [first] = events
        expect(events.at(-1)).toMatchObject({
          type: "response.failed",
          sequence_number: next,
          response: {
            id: first?.type === "response.created" ? first.response.id : "",
            status: "failed",
            model: "test/model",
            error: { code: "upstream_unavailable" },
          },
        })
      })

      test("a stream that fails with its first event raises an InternalServerError before the stream starts", async () => {
        upstream.script = streams([errorEvent])
        const error = await rejectionOf(client.responses.create({ ...HI, stream: true }))
        expect(error).toBeInstanceOf(version.OpenAI.InternalServerError)
        expect(error).toMatchObject({ status: 503, code: "upstream_unavailable" })
      })
    })

    describe("embeddings", () => {
      const request = { model: "test/vectors", input: "alpha" }
      const embedding = { object: "embedding", index: 0, embedding: "AACAPwAAAAA=" }
      const usage = { prompt_tokens: 1, total_tokens: 1 }

      test("embeddings of an upstream arrive decoded, under the caller's name for the model", async () => {
        upstream.script = (_, reply) =>
          reply.json({ object: "list", data: [embedding], model: "upstream-vectors-3", usage })
        const answer = await client.embeddings.create(request)
        expect(answer).toMatchObject({ model: "test/vectors", usage })
        expect([...(answer.data[0]?.embedding ?? [])]).toEqual([1, 0])
        expect(JSON.parse(upstream.lastRequest().body.toString())).toMatchObject({ model: "upstream-vectors" })
      })

      const refused: readonly [string, object, { code: string; param: string }][] = [
        ["nothing", { input: [] }, invalid("input")],
        ["dimensions out of bounds", { dimensions: 0 }, invalid("dimensions")],
        ["a model that makes none", { model: "test/model" }, invalid("model")],
      ]
      for (const [what, members, expected] of refused) {
        test(`embeddings of ${what} raise a BadRequestError that names ${expected.param}`, async () => {
          const error = await rejectionOf(client.embeddings.create({ ...request, ...members }))
          expect(error).toBeInstanceOf(version.OpenAI.BadRequestError)
          expect(error).toMatchObject({ status: 400, ...expected })
          expect(upstream.requests).toHaveLength(0)
        })
      }
    })

    describe("images", () => {
      test("images of an upstream arrive unchanged", async () => {
        const data = [{ b64_json: "aGVsbG8=" }]
        upstream.script = (_, reply) => reply.json({ created: 1_756_315_696, data })
        expect((await client.images.generate({ model: "test/pictures", prompt: "A fox." })).data).toEqual(data)
        expect(JSON.parse(upstream.lastRequest().body.toString())).toMatchObject({ model: "upstream-pictures" })
      })

      test("an image request without a prompt raises a BadRequestError", async () => {
        const error = await rejectionOf(client.images.generate({ model: "test/pictures", prompt: "" }))
        expect(error).toBeInstanceOf(version.OpenAI.BadRequestError)
        expect(error).toMatchObject({ status: 400, param: "prompt" })
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
