// Laws of every embedding protocol, for any request and any split into calls.
import { describe, expect, test } from "bun:test"
import fc from "fast-check"
import type { EmbeddingRequest, EmbeddingTask } from "../../src/canonical/embedding.ts"
import { floatsOf } from "../../src/canonical/embedding.ts"
import type { JsonObject } from "../../src/canonical/json.ts"
import { joinEmbeddingResponses } from "../../src/exchange/lanes/embedding-batches.ts"
import { encodeEmbedding } from "../../src/exchange/lanes/embedding-request.ts"
import type { EmbeddingIngress, EmbeddingUpstream } from "../../src/protocols/embedding-codec.ts"
import { codecs } from "../../src/protocols.ts"
import { HOSTS, type HostName, USUAL_DIMENSIONS, vectorFor } from "../end-to-end/embedding-hosts.ts"

const { embedding } = codecs

function upstream(id: string): EmbeddingUpstream {
  const codec = embedding?.upstream.get(id)
  if (!codec) throw new Error(`there is no codec for ${id}`)
  return codec
}

function ingress(id: string): EmbeddingIngress {
  const codec = embedding?.ingress.get(id)
  if (!codec) throw new Error(`there is no upstream codec for ${id}`)
  return codec
}

interface EmbeddingRoute {
  readonly protocol: string
  readonly host: HostName
  readonly model?: string
  readonly path?: string
}

const WIRES: readonly EmbeddingRoute[] = [
  { protocol: "openai-embeddings", host: "openai" },
  { protocol: "mistral-embeddings", host: "mistral" },
  { protocol: "voyage-embeddings", host: "voyage" },
  { protocol: "jina-embeddings", host: "jina" },
  { protocol: "cohere-embed", host: "cohere" },
  { protocol: "gemini-embed", host: "google" },
  { protocol: "gemini-embed-one", host: "vertex", path: "/v1beta1/projects/p/models/gemini-embedding-2:embedContent" },
  { protocol: "vertex-predict", host: "vertex-predict", path: "/v1/projects/p/models/text-upstream-model:predict" },
  { protocol: "titan-embed", host: "titan", model: "amazon.titan-embed-text-v2:0" },
  { protocol: "nova-embed", host: "nova", model: "amazon.nova-2-multimodal-embeddings-v1:0" },
]

const TASKS: readonly EmbeddingTask[] = [
  ...(["query", "document", "similarity", "classification"] as const),
  ...(["clustering", "question", "fact", "code-query"] as const),
]

const request: fc.Arbitrary<EmbeddingRequest> = fc.record({
  inputs: fc.array(
    fc.record(
      {
        content: fc.record({ kind: fc.constant("text" as const), text: fc.string({ minLength: 1, unit: "grapheme" }) }),
        dimensions: fc.integer({ min: 1, max: 12 }),
        task: fc.constantFrom(...TASKS),
        title: fc.string({ minLength: 1 }),
        extra: fc.constant({ protocol: "gemini-generate", members: { autoTruncate: true } }),
      },
      { requiredKeys: ["content"] },
    ),
    { minLength: 1, maxLength: 12 },
  ),
  endUser: fc.constant("somebody"),
})

test("every embedding protocol is tested here", () => {
  expect(WIRES.map(({ protocol }) => protocol).toSorted()).toEqual([...(embedding?.upstream.keys() ?? [])].toSorted())
})

describe.each(WIRES)("$protocol", ({ protocol, host, model = "upstream-model", path }) => {
  const codec = upstream(protocol)
  const wire = HOSTS[host]
  const places = ingress("gemini-embed").settingPaths("batchEmbedContents")

  test("a request split in any way is valid for its host, and the vectors are the same", () => {
    fc.assert(
      fc.property(request, fc.integer({ min: 1, max: 5 }), (generated, most) => {
        const limits = { inputs: Math.min(most, wire.most) }
        const { batches } = encodeEmbedding(generated, { upstream: codec, model, limits, places })
        const responses = batches.map(({ body, inputs }) => {
          const received = wire.readCall(body, path ?? codec.operationFor(model).path)
          expect(received.inputs).toHaveLength(inputs)
          return codec.decodeResponse(wire.answer(received.inputs, body) as JsonObject) ?? { vectors: [] }
        })
        const expected = generated.inputs.map(({ content, dimensions = USUAL_DIMENSIONS }) =>
          vectorFor(content.kind === "text" ? content.text : "", dimensions),
        )
        expect(joinEmbeddingResponses(responses).vectors.map(floatsOf)).toEqual(expected)
      }),
    )
  })

  test("every setting that is not encoded is reported once, by the caller's path", () => {
    fc.assert(
      fc.property(request, (generated) => {
        const limits = { inputs: wire.most }
        const { batches, losses } = encodeEmbedding(generated, { upstream: codec, model, limits, places })
        const written = JSON.stringify(batches.map(({ body }) => body))
        const named = losses.map(({ path: at }) => at)
        if (!written.includes("somebody")) expect(named).toContain("endUser")
        for (const { title } of generated.inputs) {
          if (title !== undefined && !written.includes(JSON.stringify(title)))
            expect(named).toContain("requests[].title")
        }
        if (generated.inputs.some(({ extra }) => extra) && !written.includes("autoTruncate")) {
          expect(named).toContain("autoTruncate")
        }
        expect(new Set(losses.map((loss) => JSON.stringify(loss))).size).toBe(losses.length)
      }),
    )
  })

  test("every task type is encoded distinctly or reported as a loss of meaning", () => {
    const words = TASKS.map((task) => {
      const taskRequest = { inputs: [{ content: { kind: "text" as const, text: "x" }, task }] }
      const limits = { inputs: 1 }
      const { batches, losses } = encodeEmbedding(taskRequest, { upstream: codec, model, limits, places })
      if (losses.length > 0)
        expect(losses.map(({ weight, path: at }) => [weight, at])).toEqual([["meaning", "requests[].taskType"]])
      return losses.length > 0 ? undefined : JSON.stringify(batches[0]?.body)
    })
    const own = words.filter((word) => word !== undefined)
    expect(new Set(own).size).toBe(own.length)
  })

  test("a body without vectors is not decoded as an answer", () => {
    const odd: JsonObject[] = [{}, { data: [] }, { data: [{}] }, { data: [null] }, { embeddings: [] }]
    odd.push({ embeddings: { float: [["x"]] } }, { embedding: {} }, { predictions: [{}] }, { error: { message: "no" } })
    for (const body of odd) expect(codec.decodeResponse(body)).toBeUndefined()
  })
})

describe("an embedding request in its own protocol", () => {
  const envelope = { does: "generate" as const, rest: "", query: "", headers: {} }
  const again = (protocol: string, body: JsonObject): JsonObject | undefined => {
    const decoded = ingress(protocol).decodeRequest(body, envelope)
    const limits = { inputs: 100 }
    return encodeEmbedding(decoded, { upstream: upstream(protocol), model: "m", limits, places: {} }).batches[0]?.body
  }

  test("an OpenAI embedding request stays the same in its own protocol, except for base64", () => {
    const body = {
      model: "m",
      input: ["a", "b"],
      dimensions: 5,
      user: "u",
      odd: { deep: [1] },
      encoding_format: "base64",
    }
    expect(again("openai-embeddings", body)).toEqual(body)
    expect(again("openai-embeddings", { model: "m", input: [[1, 2]] })).toEqual({
      model: "m",
      input: [[1, 2]],
      encoding_format: "base64",
    })
  })

  test("a Google embedding request stays the same in its own protocol", () => {
    const content = { parts: [{ text: "a" }, { inlineData: { mimeType: "image/png", data: "iVBO" } }] }
    const whole = { model: "models/m", content, taskType: "FACT_VERIFICATION", title: "t", outputDimensionality: 5 }
    const requests = [{ ...whole, autoTruncate: false }]
    expect(again("gemini-embed", { requests })).toEqual({ requests })
  })
})
