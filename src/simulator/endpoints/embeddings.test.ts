import { expect, test } from "bun:test"
import type { JsonObject } from "../../canonical/json.ts"
import { call, json } from "../simulator.fixture.ts"

interface EmbeddingsResponse {
  data: { object: string; index: number; embedding: number[] }[]
  model: string
  usage: JsonObject
}

const embed = (body: JsonObject) =>
  json<EmbeddingsResponse>("/v1/embeddings", { model: "text-embedding-3-small", ...body })
const product = (a: readonly number[], b: readonly number[]) =>
  a.reduce((total, value, at) => total + value * (b[at] ?? 0), 0)

test("a text is embedded as a vector of length 1, the same every time", async () => {
  const { data, model, usage } = await embed({ input: "Hello there" })
  expect(data).toHaveLength(1)
  expect(data[0]).toMatchObject({ object: "embedding", index: 0 })
  const vector = data[0]?.embedding ?? []
  expect(vector).toHaveLength(1536)
  expect(product(vector, vector)).toBeCloseTo(1, 5)
  expect({ model, usage }).toEqual({ model: "text-embedding-3-small", usage: { prompt_tokens: 2, total_tokens: 2 } })
  expect((await embed({ input: ["Hello there"] })).data).toEqual(data)
})

test("texts that share words have closer vectors than texts that do not", async () => {
  const input = ["the cat sat on the mat", "a cat on a mat", "stock prices fell sharply"]
  const [cat, mat, stock] = (await embed({ input })).data.map(({ embedding }) => embedding)
  expect(product(cat ?? [], mat ?? [])).toBeGreaterThan(product(cat ?? [], stock ?? []) + 0.2)
})

test("token numbers are accepted instead of text, in one list or several", async () => {
  expect((await embed({ input: [1, 2, 3] })).usage).toEqual({ prompt_tokens: 3, total_tokens: 3 })
  const { data, usage } = await embed({ input: [[1, 2, 3], [4]] })
  expect(data.map(({ index }) => index)).toEqual([0, 1])
  expect(usage).toEqual({ prompt_tokens: 4, total_tokens: 4 })
})

test("a base64 embedding is the same vector in the requested size", async () => {
  const [plain] = (await embed({ input: "x y", dimensions: 64 })).data
  const body = { model: "text-embedding-3-small", input: "x y", dimensions: 64, encoding_format: "base64" }
  const { data } = await json<{ data: { embedding: string }[] }>("/v1/embeddings", body)
  const bytes = Buffer.from(data[0]?.embedding ?? "", "base64")
  const decoded = Array.from({ length: bytes.length / 4 }, (_, at) => bytes.readFloatLE(at * 4))
  expect(decoded).toHaveLength(64)
  expect(decoded).toEqual(plain?.embedding ?? [])
})

test("an input that cannot be embedded is refused", async () => {
  for (const body of [{}, { input: "" }, { input: [] }, { input: [""] }, { input: "x", dimensions: 0 }]) {
    expect((await call("/v1/embeddings", { model: "m", ...body })).status).toBe(400)
  }
})

test("Google's embeddings are the same vectors, single and in a batch", async () => {
  const content = { parts: [{ text: "Hello there" }] }
  const path = "/v1beta/models/gemini-embedding-001"
  const single = await json<{ embedding: { values: number[] } }>(`${path}:embedContent`, {
    content,
    outputDimensionality: 1536,
  })
  const { data } = await embed({ input: "Hello there" })
  expect(single.embedding.values).toEqual(data[0]?.embedding ?? [])
  const requests = [{ content }, { content, output_dimensionality: 8 }]
  const batch = await json<{ embeddings: { values: number[] }[]; usageMetadata: JsonObject }>(
    `${path}:batchEmbedContents`,
    { requests },
  )
  expect(batch.embeddings.map(({ values }) => values.length)).toEqual([3072, 8])
  expect(batch.usageMetadata).toMatchObject({ promptTokenCount: 4 })
  expect((await call(`${path}:batchEmbedContents`, {})).status).toBe(400)
})
