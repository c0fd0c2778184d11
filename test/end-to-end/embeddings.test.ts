// Embeddings through OpenAI's and Google's own client libraries, over every kind of embedding host.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { keyFile, TokenOffice } from "../providers/google.ts"
import { eventually } from "../stage/eventually.ts"
import { InProcessGateway } from "../stage/in-process.ts"
import { ScriptedUpstream, type UpstreamScript } from "../stage/upstream.ts"
import { VERSIONS } from "./client-versions.ts"
import {
  answerAs,
  HOST_NAMES,
  HOSTS,
  type HostName,
  hostsConfig,
  type ReceivedEmbeddingCall,
  tokensFor,
  USUAL_DIMENSIONS,
  vectorFor,
} from "./embedding-hosts.ts"
import { GENAI_VERSIONS } from "./genai-versions.ts"

const folder = mkdtempSync(join(tmpdir(), "trivium-embeddings-"))
let office: TokenOffice
let upstream: ScriptedUpstream
let gateway: InProcessGateway
let received: ReceivedEmbeddingCall[] = []

const asUsual: UpstreamScript = (request, reply) => {
  const call = answerAs(request, reply)
  if (call) received.push(call)
}

beforeAll(async () => {
  office = new TokenOffice()
  upstream = await ScriptedUpstream.start()
  const file = join(folder, "key.json")
  writeFileSync(file, JSON.stringify(keyFile(`${upstream.origin}${office.path}`)))
  gateway = InProcessGateway.start({ config: hostsConfig(upstream.origin, file) })
})
beforeEach(() => {
  received = []
  script(asUsual)
})
afterAll(async () => {
  await gateway.stop()
  await upstream.stop()
  rmSync(folder, { recursive: true, force: true })
})

function script(answer: UpstreamScript): void {
  upstream.script = (request, reply) =>
    request.path === office.path ? office.exchange(request, reply) : answer(request, reply)
}

function post(path: string, body: object, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(gateway.url + path, {
    method: "POST",
    headers: { authorization: `Bearer ${gateway.key}`, "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  })
}
const embed = (body: object, headers?: Record<string, string>) => post("/v1/embeddings", body, headers)

interface EmbeddingsBody {
  data: { index: number; embedding: number[] }[]
  usage?: { prompt_tokens: number; total_tokens: number }
}
const read = async (answer: Response) =>
  (await answer.json()) as EmbeddingsBody & { error: { code: string; param: string; message: string } }

/** The receipt of an answer, once it is written. */
async function receiptOf(answer: Response): Promise<Record<string, unknown> & { facts: { basis: string } }> {
  const id = answer.headers.get("x-request-id")
  const headers = { authorization: `Bearer ${gateway.key}` }
  let receipt: unknown
  await eventually(
    async () => {
      const got = await fetch(`${gateway.url}/v1/receipts/${id}`, { headers })
      receipt = await got.json()
      return got.status === 200
    },
    { what: "a receipt" },
  )
  return receipt as Awaited<ReturnType<typeof receiptOf>>
}

describe.each(HOST_NAMES)("embeddings over %s", (name) => {
  const model = `test/${name}`
  const { most } = HOSTS[name]
  /** More than go into two calls, as long as that is few. */
  const many = Array.from({ length: most <= 100 ? 2 * most + 3 : 5 }, (_, index) => `text ${index}`)

  describe.each(VERSIONS)("$name", (version) => {
    const client = () => new version.OpenAI({ apiKey: gateway.key, baseURL: `${gateway.url}/v1`, maxRetries: 0 })

    test("a client decodes its default encoding, and reads the same as floats", async () => {
      const packed = await client().embeddings.create({ model, input: "Grüße, Welt" })
      const plain = await client().embeddings.create({ model, input: "Grüße, Welt", encoding_format: "float" })
      for (const { data, model: answered, usage } of [packed, plain]) {
        expect(data.map(({ index, embedding }) => [index, [...embedding]])).toEqual([[0, vectorFor("Grüße, Welt")]])
        expect([answered, usage.prompt_tokens, usage.total_tokens]).toEqual([model, 2, 2])
      }
    })

    test("a client gets one vector per input, in order, of the requested size", async () => {
      const { data, usage } = await client().embeddings.create({ model, input: many, dimensions: 5 })
      expect(data.map(({ index }) => index)).toEqual(many.map((_, index) => index))
      expect(data.map(({ embedding }) => [...embedding])).toEqual(many.map((text) => vectorFor(text, 5)))
      expect(usage.prompt_tokens).toBe(tokensFor(many))
      expect(received.length).toBe(Math.ceil(many.length / most))
      expect(received.every(({ inputs }) => inputs.length <= most)).toBeTrue()
    })
  })

  test.each(GENAI_VERSIONS)("$name embeds one content and several", async (version) => {
    const httpOptions = { baseUrl: `${gateway.url}/gemini`, apiVersion: "v1beta" }
    const client = new version.GoogleGenAI({ apiKey: gateway.key, httpOptions })
    const config = { outputDimensionality: 6, taskType: "RETRIEVAL_QUERY" }
    const { embeddings } = await client.models.embedContent({ model, contents: many, config })
    expect(embeddings?.map(({ values }) => values)).toEqual(many.map((text) => vectorFor(text, 6)))
    const one = await client.models.embedContent({ model, contents: "alone" })
    expect(one.embeddings?.map(({ values }) => values)).toEqual([vectorFor("alone")])
  })

  test("the task type is forwarded in the host's vocabulary or reported as a loss", async () => {
    const body = { content: { parts: [{ text: "hello" }] }, taskType: "RETRIEVAL_QUERY" }
    const answer = await post(`/genapi/v1beta/models/${model}:embedContent`, body)
    expect(await answer.json()).toEqual({
      embedding: { values: vectorFor("hello") },
      usageMetadata: { promptTokenCount: 1 },
    })
    const word = TASK_WORDS[name]
    expect(received[0]?.task).toBe(word)
    expect(answer.headers.get("x-gateway-losses")).toBe(word === undefined ? "1; taskType" : null)
    const strict = await post(`/genapi/v1beta/models/${model}:embedContent`, { ...body, provider: { strict: true } })
    expect(strict.status).toBe(word === undefined ? 400 : 200)
  })

  test("token ids are accepted by hosts with the same tokenizer, and rejected for others before any call", async () => {
    const answer = await embed({ model, input: [[1, 2, 3], [4]] })
    const { data, error } = await read(answer)
    if (name === "openai") {
      expect(data.map(({ embedding }) => embedding)).toEqual([vectorFor("1 2 3"), vectorFor("4")])
      return
    }
    expect([answer.status, error.code, error.param]).toEqual([400, "unsupported_parameter", "input"])
    expect(received).toEqual([])
  })

  test("usage is booked as reported, for any number of calls", async () => {
    const answer = await embed({ model, input: many })
    const cost = tokensFor(many) / 1_000_000
    expect(Number(answer.headers.get("x-gateway-cost"))).toBeCloseTo(cost, 12)
    const receipt = await receiptOf(answer)
    expect(receipt).toMatchObject({ outcome: "settled", as_booked: true, facts: { basis: "reported" } })
  })
})

/** The host's word for a query; absent if it has none. */
const TASK_WORDS: Partial<Record<HostName, string>> = {
  voyage: "query",
  jina: "retrieval.query",
  cohere: "search_query",
  "bedrock-cohere": "search_query",
  google: "RETRIEVAL_QUERY",
  vertex: "RETRIEVAL_QUERY",
  "vertex-predict": "RETRIEVAL_QUERY",
  nova: "TEXT_RETRIEVAL",
}

describe("relayed embeddings", () => {
  test("every byte of a relayed vector stays as its host wrote it", async () => {
    const data = '[{"object":"embedding","index":0,"embedding":[0.10, -2e-3, 1.0]}]'
    script((_, reply) => reply.raw(`{"data":${data},"model":"up","usage":{"prompt_tokens":1,"total_tokens":1}}`))
    const answer = await embed({ model: "test/openai", input: "x", encoding_format: "float" })
    expect(await answer.text()).toContain(`"data":${data}`)
  })

  test("unknown members of a relayed request are forwarded unchanged", async () => {
    script((_, reply) => reply.json({ data: [], usage: { prompt_tokens: 0, total_tokens: 0 } }))
    await embed({ model: "test/openai", input: "x", odd: { a: 1 } })
    const sent = JSON.parse(upstream.lastRequest().body.toString())
    expect(sent).toEqual({ model: "upstream-model", input: "x", odd: { a: 1 } })
  })
})

describe("translated embeddings", () => {
  test("hints without a counterpart are reported as losses, and the vendor's own members are kept", async () => {
    const kept = await embed({ model: "test/voyage", input: "x", user: "u", truncation: false, input_type: "document" })
    expect(kept.headers.get("x-gateway-losses")).toBe("1; user")
    expect(received[0]?.body).toMatchObject({ truncation: false, input_type: "document" })
    const lost = await embed({ model: "test/cohere", input: "x", odd: true })
    expect([lost.status, lost.headers.get("x-gateway-losses")]).toEqual([200, "1; odd"])
  })

  test("a request for vectors other than floats is rejected", async () => {
    const { error } = await read(await embed({ model: "test/voyage", input: "x", output_dtype: "int8" }))
    expect([error.code, error.param]).toEqual(["unsupported_parameter", "output_dtype"])
  })

  test("a batch with several task types is sent as one call per type", async () => {
    const of = (text: string, taskType: string) => ({ content: { parts: [{ text }] }, taskType })
    const requests = [of("a", "RETRIEVAL_QUERY"), of("b", "RETRIEVAL_DOCUMENT"), of("c", "RETRIEVAL_DOCUMENT")]
    const answer = await post("/genapi/v1beta/models/test/cohere:batchEmbedContents", { requests })
    const { embeddings } = (await answer.json()) as { embeddings: { values: number[] }[] }
    expect(embeddings.map(({ values }) => values)).toEqual(["a", "b", "c"].map((text) => vectorFor(text)))
    expect(received.map(({ task, inputs }) => [task, inputs.length]).toSorted()).toEqual([
      ["search_document", 2],
      ["search_query", 1],
    ])
  })

  test("a large embedding request is split and answered like any other", async () => {
    const input = Array.from({ length: 700 }, (_, index) => `${index} ${"long ".repeat(200)}`)
    const answer = await embed({ model: "test/google", input })
    const { data } = await read(answer)
    expect(data.map(({ embedding }) => embedding)).toEqual(input.map((text) => vectorFor(text)))
    expect(received).toHaveLength(7)
  })

  test("a request that needs too many calls is rejected before the first", async () => {
    const input = Array.from({ length: 2049 }, () => "x")
    const { error } = await read(await embed({ model: "test/titan", input }))
    expect([error.code, error.param]).toEqual(["invalid_parameter", "input"])
    expect(received).toEqual([])
  })

  test("an embedding request is explained without a call", async () => {
    const answer = await embed({ model: "test/cohere", input: "x", user: "u", provider: { explain: true } })
    const { attempts } = (await answer.json()) as { attempts: unknown[] }
    expect(attempts).toMatchObject([
      { lane: "translate", upstream_protocol: "cohere-embed", losses: [{ path: "user" }] },
    ])
    expect(received).toEqual([])
  })

  test("images are embedded only in Google's own protocol", async () => {
    const body = { content: { parts: [{ inlineData: { mimeType: "image/png", data: "iVBORw0KGgo=" } }] } }
    const { error } = await read(await post("/genapi/v1beta/models/test/openai:embedContent", body))
    expect([error.code, error.message]).toEqual([
      "unsupported_parameter",
      "`content` holds more than text, and this model's provider accepts only text. Leave the rest out.",
    ])
    script((_, reply) => reply.json({ embedding: { values: [1] }, usageMetadata: { promptTokenCount: 258 } }))
    expect((await post("/genapi/v1beta/models/test/google:embedContent", body)).status).toBe(200)
    expect(JSON.parse(upstream.lastRequest().body.toString())).toEqual(body)
  })
})

describe("an embedding batch that fails", () => {
  const input = Array.from({ length: 250 }, (_, index) => `text ${index}`)

  test("a failed batch fails the attempt, and the next target makes all vectors", async () => {
    let calls = 0
    script((request, reply) => {
      if (request.path.startsWith("/google") && ++calls === 2) {
        return reply.json({ error: { code: 503, message: "Overloaded.", status: "UNAVAILABLE" } }, 503)
      }
      return asUsual(request, reply)
    })
    const answer = await embed({ model: "test/several", input })
    const { data } = await read(answer)
    expect(answer.headers.get("x-gateway-provider")).toBe("openai")
    expect(answer.headers.get("x-gateway-attempts")).toBe("2")
    expect(data.map(({ embedding }) => embedding)).toEqual(input.map((text) => vectorFor(text)))
    expect(Number(answer.headers.get("x-gateway-cost"))).toBeCloseTo(tokensFor(input) / 1_000_000, 12)
  })

  test.each([
    ["too few vectors", { embeddings: [{ values: [1] }] }],
    ["no vectors", { embeddings: [{ values: ["x"] }] }],
    ["an error with status 200", { error: { code: 500, message: "Oops.", status: "INTERNAL" } }],
  ])("a batch with %s is not accepted as an answer", async (_, body) => {
    script((request, reply) => (request.path.startsWith("/google") ? reply.json(body) : asUsual(request, reply)))
    const answer = await embed({ model: "test/several", input })
    expect([answer.status, answer.headers.get("x-gateway-provider")]).toEqual([200, "openai"])
  })

  test("a batch whose connection fails also fails the attempt", async () => {
    let calls = 0
    script((request, reply) => {
      if (request.path.startsWith("/google") && ++calls === 3) return reply.cut("reset")
      return asUsual(request, reply)
    })
    const answer = await embed({ model: "test/several", input })
    expect([answer.status, answer.headers.get("x-gateway-provider")]).toEqual([200, "openai"])
  })

  test("a batch rejected for the caller's input is the caller's error", async () => {
    const status = "INVALID_ARGUMENT"
    script((_, reply) => reply.json({ error: { code: 400, message: "Too long.", status } }, 400))
    const answer = await embed({ model: "test/google", input })
    expect([answer.status, (await read(answer)).error.message]).toEqual([400, "Too long."])
  })

  test("a client that leaves ends all calls", async () => {
    const begun: Promise<number>[] = []
    script((_, reply) => void begun.push(reply.closed))
    const leaving = new AbortController()
    const pending = fetch(`${gateway.url}/v1/embeddings`, {
      method: "POST",
      headers: { authorization: `Bearer ${gateway.key}`, "content-type": "application/json" },
      body: JSON.stringify({ model: "test/google", input: [...input, ...input] }),
      signal: leaving.signal,
    }).catch(() => "left")
    await eventually(() => begun.length === 4, { what: "four calls at once" })
    leaving.abort()
    expect(await pending).toBe("left")
    await Promise.all(begun)
  })
})

describe("money", () => {
  const text = "seven words that nobody else will count"
  const requests = [{ content: { parts: [{ text }] } }]
  test.each([
    ["/v1/embeddings", { model: "test/google", input: text }],
    ["/genapi/v1beta/models/test/google:batchEmbedContents", { requests }],
  ])("at %s unreported tokens are counted locally", async (path, body) => {
    script((_, reply) => reply.json({ embeddings: [{ values: [0.5, 0.25] }] }))
    const answer = await post(path, body)
    expect(answer.status).toBe(200)
    expect((await receiptOf(answer)).facts.basis).toBe("estimated")
    expect(Number(answer.headers.get("x-gateway-cost"))).toBeGreaterThan(5e-6)
    expect(Number(answer.headers.get("x-gateway-cost"))).toBeLessThan(15e-6)
  })

  test("the same idempotency key is billed once in either protocol", async () => {
    const asks: [string, object][] = [
      ["/v1/embeddings", { model: "test/cohere", input: "x" }],
      ["/genapi/v1beta/models/test/openai:embedContent", { content: { parts: [{ text: "x" }] } }],
    ]
    for (const [path, body] of asks) {
      const headers = { "idempotency-key": `once at ${path}` }
      expect((await post(path, body, headers)).status).toBe(200)
      const again = await post(path, body, headers)
      expect([again.status, (await read(again)).error.code]).toEqual([409, "idempotency_replayed"])
    }
    expect(received).toHaveLength(2)
  })

  test("a caller that cannot pay is rejected before any call, in either protocol", async () => {
    const { text: poor } = await gateway.gateway.keys.createFunded({ name: "poor" }, 1n)
    const headers = { authorization: `Bearer ${poor}` }
    const input = "a rather long text ".repeat(50)
    for (const [path, body] of [
      ["/v1/embeddings", { model: "test/cohere", input }],
      ["/genapi/v1beta/models/test/openai:embedContent", { content: { parts: [{ text: input }] } }],
    ] as const) {
      const answer = await post(path, body, headers)
      expect([answer.status, (await read(answer)).error.code]).toEqual([403, "insufficient_balance"])
    }
    expect(received).toEqual([])
  })
})

test("a gateway without any configuration makes embeddings in either protocol", async () => {
  const demo = InProcessGateway.start({ config: "" })
  try {
    const httpOptions = { baseUrl: `${demo.url}/gemini`, apiVersion: "v1beta" }
    const [genai] = GENAI_VERSIONS
    if (!genai) throw new Error("there is a client")
    const client = new genai.GoogleGenAI({ apiKey: demo.key, httpOptions })
    for (const model of ["google/gemini-embedding-001", "openai/text-embedding-3-small", "cohere/embed-v4.0"]) {
      const config = { outputDimensionality: 64 }
      const { embeddings } = await client.models.embedContent({ model, contents: ["one", "two"], config })
      expect(embeddings?.map(({ values }) => values?.length)).toEqual([64, 64])
    }
  } finally {
    await demo.stop()
  }
})

describe("Google's embedding protocol", () => {
  const path = "/genapi/v1beta/models/test/openai"
  const content = { parts: [{ text: "x" }] }

  test.each([
    [":embedContent", {}, "missing_parameter", "content"],
    [":embedContent", { content: { parts: [] } }, "invalid_parameter", "content"],
    [":embedContent", { content, outputDimensionality: 0 }, "invalid_parameter", "outputDimensionality"],
    [":embedContent", { content, task_type: 5 }, "invalid_parameter", "task_type"],
    [":batchEmbedContents", { requests: [] }, "invalid_parameter", "requests"],
    [":batchEmbedContents", { requests: [{ content }, {}] }, "missing_parameter", "requests[1].content"],
    [
      ":embedContent",
      { content: { parts: [{ fileData: { fileUri: "files/x" } }] } },
      "unsupported_parameter",
      "fileUri",
    ],
    [":embedContent", { content, base_url: "http://x" }, "unsupported_parameter", "base_url"],
  ])("Google's embedding endpoint %s rejects %j", async (method, body, code, named) => {
    const { error } = await read(await post(path + method, body))
    expect([error.code, error.message]).toEqual([code, expect.stringContaining(named)])
    expect(received).toEqual([])
  })

  test("chat models make no embeddings, and embedding models do not chat", async () => {
    const chat = await read(await post("/genapi/v1beta/models/google/gemini-2.5-pro:embedContent", { content }))
    const chatAnswer = await read(await post(`${path}:generateContent`, { contents: [content] }))
    expect([chat.error.code, chatAnswer.error.code]).toEqual(["invalid_parameter", "invalid_parameter"])
  })

  test("Google's model listing omits embedding models, since its entries promise chat", async () => {
    const headers = { "x-goog-api-key": gateway.key }
    const list = await fetch(`${gateway.url}/genapi/v1beta/models`, { headers })
    const { models = [] } = (await list.json()) as { models?: { name: string }[] }
    expect(models.map(({ name }) => name)).not.toContain("models/test/cohere")
  })

  test("Google's embedding protocol uses the model's usual size if none is requested", async () => {
    const answer = await post(`${path}:embedContent`, { content })
    const { embedding } = (await answer.json()) as { embedding: { values: number[] } }
    expect(embedding.values).toHaveLength(USUAL_DIMENSIONS)
  })
})
