import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import OpenAI from "openai"
import { HI } from "../end-to-end/client-versions.ts"
import { recordings, sampleSize, wholeText } from "../recordings/recorded.ts"
import { InProcessGateway } from "../stage/in-process.ts"
import { rejectionOf } from "../stage/rejection-of.ts"
import { responseWords } from "../stage/responses-wire.ts"
import {
  chunk,
  completion,
  DONE,
  ScriptedUpstream,
  streamedWords,
  streams,
  type UpstreamScript,
} from "../stage/upstream.ts"

let upstream: ScriptedUpstream
let gateway: InProcessGateway
let openai: OpenAI

beforeAll(async () => {
  upstream = await ScriptedUpstream.start()
  gateway = InProcessGateway.start({
    config: `
providers:
  azure: { base_url: "${upstream.origin}", api_key: azure-key }
  versioned: { type: azure, base_url: "${upstream.origin}/openai/v1/", api_key: azure-key, api_version: 2024-10-21 }
models:
  - { id: test/model, pricing: { input: "1", output: "2" }, targets: [{ provider: azure, model: my-deployment }] }
  - { id: test/embedding, kind: embedding, pricing: { input: "1", output: "2" }, targets: [{ provider: azure, model: my-embeddings }] }
  - { id: test/image, kind: image, pricing: { input: "1", output: "2" }, targets: [{ provider: azure, model: my-images }] }
  - { id: test/old, pricing: { input: "1", output: "2" }, targets: [{ provider: versioned, model: my deployment }] }
  - { id: test/old-embedding, kind: embedding, pricing: { input: "1", output: "2" }, targets: [{ provider: versioned, model: my-embeddings }] }
`,
  })
  openai = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.key, maxRetries: 0 })
})
afterAll(async () => {
  await gateway.stop()
  await upstream.stop()
})

/** Answers calls with the right key by this script. */
function answer(script: UpstreamScript): void {
  upstream.script = (request, reply) => {
    if (request.headers["api-key"] === "azure-key" && request.headers.authorization === undefined) {
      return script(request, reply)
    }
    return reply.json({ error: { code: "401", message: "Access denied due to invalid subscription key." } }, 401)
  }
}

const body = () => JSON.parse(upstream.lastRequest().body.toString())
const chat = (model = "test/model") => openai.chat.completions.create({ ...HI, model })

describe("Azure's unversioned API", () => {
  test("Azure's unversioned API gets the key in its own header, and the deployment as the model", async () => {
    answer((_, reply) => reply.json(completion("Hello.")))
    const { model, choices } = await chat()
    expect(model).toBe("test/model")
    expect(choices[0]?.message.content).toBe("Hello.")
    expect(upstream.lastRequest().path).toBe("/openai/v1/chat/completions")
    expect(body().model).toBe("my-deployment")
  })

  test("a stream of Azure's passes an opening event with filter results and no choices", async () => {
    const filters = { choices: [], prompt_filter_results: [{ prompt_index: 0, content_filter_results: {} }] }
    const opener = `data: ${JSON.stringify({ id: "", object: "", created: 0, model: "", ...filters })}\n\n`
    const [first = "", ...rest] = streamedWords("One two three.")
    const late = chunk({}, null, { choices: [{ index: 0, finish_reason: null, content_filter_offsets: {} }] })
    answer(streams([opener, first, late, ...rest]))
    const stream = await openai.chat.completions.create({ ...HI, stream: true })
    const pieces = []
    for await (const { choices } of stream) pieces.push(choices[0]?.delta?.content ?? "")
    expect(pieces.join("")).toBe("One two three.")
  })

  test("Azure's unversioned API serves responses, embeddings and images", async () => {
    answer(streams(responseWords("One two.")))
    const stream = await openai.responses.create({ model: "test/model", input: "hi", stream: true })
    const types = []
    for await (const { type } of stream) types.push(type)
    expect(types.at(-1)).toBe("response.completed")
    expect(upstream.lastRequest().path).toBe("/openai/v1/responses")

    const vector = { object: "embedding", index: 0, embedding: [0.25, -0.5] }
    answer((_, reply) =>
      reply.json({ object: "list", data: [vector], model: "ada", usage: { prompt_tokens: 1, total_tokens: 1 } }),
    )
    await openai.embeddings.create({ model: "test/embedding", input: "hi", encoding_format: "float" })
    expect(upstream.lastRequest().path).toBe("/openai/v1/embeddings")

    answer((_, reply) => reply.json({ created: 1, data: [{ b64_json: "aGk=" }] }))
    await openai.images.generate({ model: "test/image", prompt: "a road" })
    expect(upstream.lastRequest().path).toBe("/openai/v1/images/generations")
  })

  test("a request blocked by Azure's content filter is the caller's error", async () => {
    const filtered = { message: "The response was filtered.", type: null, param: "prompt", code: "content_filter" }
    answer((_, reply) => reply.json({ error: { ...filtered, status: 400 } }, 400))
    expect(await rejectionOf(chat())).toMatchObject({ status: 400, code: "content_refused" })
  })

  test("a stream stopped by Azure's content filter ends as the vendor ends it", async () => {
    answer(streams([chunk({ role: "assistant", content: "One" }), chunk({}, "content_filter"), DONE]))
    const stream = await openai.chat.completions.create({ ...HI, stream: true })
    const finishes = []
    for await (const { choices } of stream) finishes.push(choices[0]?.finish_reason)
    expect(finishes.at(-1)).toBe("content_filter")
  })

  test("recorded answers of Azure pass unchanged", async () => {
    const whole = recordings("chat").filter(({ provider, status }) => provider === "azure-openai" && status === 200)
    const answered = whole.filter(({ response: { body } }) => typeof body === "object" && "choices" in body)
    expect(answered.length).toBeGreaterThanOrEqual(sampleSize(5))
    for (const recording of answered) {
      const text = Buffer.from(wholeText(recording) ?? "", "latin1").toString()
      answer((_, reply) => reply.raw(text))
      const response = await gateway.chat(HI)
      expect(await response.json()).toEqual({ ...JSON.parse(text), model: "test/model" })
    }
  })
})

describe("Azure's versioned API", () => {
  test("Azure's versioned API has the deployment in the path, for any form of the configured address", async () => {
    answer((_, reply) => reply.json(completion("Hello.")))
    await chat("test/old")
    expect(upstream.lastRequest().path).toBe(
      "/openai/deployments/my%20deployment/chat/completions?api-version=2024-10-21",
    )
    answer((_, reply) =>
      reply.json({ object: "list", data: [], model: "ada", usage: { prompt_tokens: 1, total_tokens: 1 } }),
    )
    await openai.embeddings.create({ model: "test/old-embedding", input: "hi", encoding_format: "float" })
    expect(upstream.lastRequest().path).toBe("/openai/deployments/my-embeddings/embeddings?api-version=2024-10-21")
  })

  test("Azure's versioned API has no responses endpoint, so they use the other API", async () => {
    answer(streams(responseWords("One.")))
    const stream = await openai.responses.create({ model: "test/old", input: "hi", stream: true })
    for await (const _ of stream);
    expect(upstream.lastRequest().path).toBe("/openai/v1/responses")
  })
})
