// Embeddings, images and the models list through OpenAI's own client library, from a gateway without any configuration.
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import type OpenAI from "openai"
import { RunningGateway } from "../stage/gateway.ts"
import { VERSIONS } from "./client-versions.ts"

const EMBEDDING = "openai/text-embedding-3-small"

let gateway: RunningGateway

beforeAll(async () => {
  gateway = await RunningGateway.start()
})
afterAll(() => gateway.stop())

function norm(vector: readonly number[]): number {
  return Math.hypot(...vector)
}

for (const version of VERSIONS) {
  describe(version.name, () => {
    let client: OpenAI
    /** The last body sent. */
    let sent = ""

    beforeAll(() => {
      client = new version.OpenAI({
        apiKey: gateway.key,
        baseURL: `${gateway.url}/v1`,
        maxRetries: 0,
        fetch: (url, init) => {
          sent = typeof init?.body === "string" ? init.body : String(url)
          return fetch(url, init as RequestInit)
        },
      })
    })

    describe("embeddings", () => {
      test("embeddings are requested in base64 by default and become unit vectors of floats", async () => {
        const answer = await client.embeddings.create({ model: EMBEDDING, input: "The quick brown fox" })
        expect(JSON.parse(sent)).toMatchObject({ encoding_format: "base64" })
        expect(answer).toMatchObject({ object: "list", model: EMBEDDING })
        const [first] = answer.data
        expect(first).toMatchObject({ object: "embedding", index: 0 })
        expect(first?.embedding).toHaveLength(1536)
        expect(norm(first?.embedding ?? [])).toBeCloseTo(1, 3)
      })

      test("embeddings requested as floats are the same", async () => {
        const request = { model: EMBEDDING, input: "The quick brown fox" }
        const packed = await client.embeddings.create(request)
        const plain = await client.embeddings.create({ ...request, encoding_format: "float" })
        const [one = [], other = []] = [packed, plain].map(({ data }) => data[0]?.embedding)
        expect(other).toHaveLength(one.length)
        for (const [index, value] of other.entries()) expect(value).toBeCloseTo(one[index] ?? Number.NaN, 5)
      })

      test("embeddings are returned one per input in order, and usage counts them all", async () => {
        const alone = await client.embeddings.create({ model: EMBEDDING, input: "beta" })
        const answer = await client.embeddings.create({ model: EMBEDDING, input: ["alpha", "beta", "gamma delta"] })
        expect(answer.data.map(({ index }) => index)).toEqual([0, 1, 2])
        expect(answer.data[1]?.embedding).toEqual(alone.data[0]?.embedding ?? [])
        expect(answer.usage.prompt_tokens).toBeGreaterThan(alone.usage.prompt_tokens)
        expect(answer.usage.total_tokens).toBe(answer.usage.prompt_tokens)
      })

      test("embeddings have the requested dimensions", async () => {
        const { data } = await client.embeddings.create({ model: EMBEDDING, input: "alpha", dimensions: 256 })
        expect(data[0]?.embedding).toHaveLength(256)
        expect(norm(data[0]?.embedding ?? [])).toBeCloseTo(1, 3)
      })

      test("embeddings accept token ids as input", async () => {
        const { data } = await client.embeddings.create({ model: EMBEDDING, input: [[1, 2, 3], [4]] })
        expect(data).toHaveLength(2)
      })
    })

    describe("images", () => {
      test("simulated images are valid image files", async () => {
        const model = "openai/gpt-image-1"
        const answer = await client.images.generate({ model, prompt: "A red fox in the snow.", n: 2 })
        expect(answer.data).toHaveLength(2)
        for (const { b64_json } of answer.data ?? []) {
          const bytes = Buffer.from(b64_json ?? "", "base64")
          expect(bytes.subarray(0, 8).toString("latin1")).toBe("\x89PNG\r\n\x1a\n")
        }
      })

      test("simulated images at a URL are valid image files", async () => {
        const request = { model: "openai/dall-e-3", prompt: "A red fox.", response_format: "url" } as const
        const [image] = (await client.images.generate(request)).data ?? []
        const bytes = Buffer.from(await (await fetch(image?.url ?? "")).arrayBuffer())
        expect(bytes.subarray(0, 8).toString("latin1")).toBe("\x89PNG\r\n\x1a\n")
      })
    })

    describe("models", () => {
      const count = async (): Promise<unknown> => {
        const headers = { authorization: `Bearer ${gateway.key}` }
        return (await fetch(`${gateway.url}/v1/models/count`, { headers })).json()
      }

      test("the list holds each model once, and its length is the count", async () => {
        const ids: string[] = []
        for await (const { id } of client.models.list()) ids.push(id)
        expect(ids.length).toBeGreaterThan(100)
        expect(new Set(ids).size).toBe(ids.length)
        expect(await count()).toEqual({ count: ids.length })
        expect(ids).toContain("openai/gpt-4o-mini")
        expect(ids).toContain(EMBEDDING)
      })

      test("one model is found by its name, in any encoding of the slash by the client", async () => {
        const model = await client.models.retrieve("openai/gpt-4o-mini")
        expect(model).toMatchObject({ id: "openai/gpt-4o-mini", object: "model", owned_by: "openai" })
        expect(sent).toEndWith(version.name === "openai 7" ? "/openai%2Fgpt-4o-mini" : "/openai/gpt-4o-mini")
      })

      test("one model is found by an alias", async () => {
        expect((await client.models.retrieve("gpt-4o-mini")).id).toBe("openai/gpt-4o-mini")
      })
    })
  })
}
