// The embedding codecs against recorded exchanges.
import { expect, test } from "bun:test"
import { floatsOf } from "../../src/canonical/embedding.ts"
import { isObject, type JsonObject } from "../../src/canonical/json.ts"
import { codecs } from "../../src/protocols.ts"
import { type RecordedExchange, recordings, sampleSize } from "./recorded.ts"

const OF_PROVIDER: Readonly<Record<string, string>> = {
  openai: "openai-embeddings",
  "azure-openai": "openai-embeddings",
  mistral: "mistral-embeddings",
  voyage: "voyage-embeddings",
  gemini: "gemini-embed",
  vertex: "gemini-embed-one",
}

/** Vectors are made by one of several makers at Bedrock. */
function protocolOf({ provider, request }: RecordedExchange): string {
  if (provider !== "bedrock") return OF_PROVIDER[provider] ?? ""
  return request?.url?.includes("cohere.") ? "cohere-embed" : "nova-embed"
}

const embeds = ({ request }: RecordedExchange) => request?.url?.includes("embed") === true
const exchanges = () => ["embeddings", "embedContent", "invoke"].flatMap(recordings).filter(embeds)

const upstreamOf = (recording: RecordedExchange) => codecs.embedding?.upstream.get(protocolOf(recording))

function countInputs(body: JsonObject = {}): number {
  if (Array.isArray(body.requests)) return body.requests.length
  const several = body.input ?? body.texts
  return Array.isArray(several) ? several.length : 1
}

test("a recorded answer has a vector of the requested size for each input", () => {
  const whole = exchanges().filter(({ status }) => status === 200)
  expect(whole.length).toBeGreaterThanOrEqual(sampleSize(10))
  for (const recording of whole) {
    const { request, response, source } = recording
    const decoded = isObject(response.body) ? upstreamOf(recording)?.decodeResponse(response.body) : undefined
    expect([source, decoded?.vectors.length]).toEqual([source, countInputs(request?.body)])
    const { dimensions, output_dimension, outputDimensionality } = request?.body ?? {}
    const size = dimensions ?? output_dimension ?? outputDimensionality
    for (const vector of decoded?.vectors ?? []) {
      const floats = floatsOf(vector)
      expect(floats.every(Number.isFinite)).toBeTrue()
      if (typeof size === "number") expect(floats).toHaveLength(size)
    }
  }
})

test("the usage of a recorded answer is read, and none if it reports none", () => {
  for (const recording of exchanges()) {
    const { response, status, source } = recording
    if (status !== 200 || !isObject(response.body)) continue
    const { usage, usageMetadata } = response.body
    const openaiTokens = isObject(usage) ? (usage.prompt_tokens ?? usage.total_tokens) : undefined
    const reportedTokens = isObject(usageMetadata) ? usageMetadata.promptTokenCount : openaiTokens
    expect([source, upstreamOf(recording)?.decodeResponse(response.body)?.usage?.input]).toEqual([
      source,
      reportedTokens as number,
    ])
  }
})

test("a recorded error is read, and an unknown upstream model is not the caller's error", () => {
  const failed = exchanges().filter(({ status }) => status >= 400)
  expect(failed.length).toBeGreaterThanOrEqual(sampleSize(2))
  for (const recording of failed) {
    const { status, response } = recording
    const error = upstreamOf(recording)?.decodeError({ status, body: JSON.stringify(response.body) })
    expect([status, error?.owner === "caller"]).toEqual([status, status === 400])
  }
})
