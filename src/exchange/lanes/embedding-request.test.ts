import { describe, expect, test } from "bun:test"
import type { EmbeddingFates, EmbeddingInput } from "../../canonical/embedding.ts"
import { GatewayError } from "../../canonical/gateway-error.ts"
import type { SettingFate } from "../../canonical/setting-fates.ts"
import type { EmbeddingUpstream } from "../../protocols/embedding-codec.ts"
import { type EmbeddingTarget, encodeEmbedding } from "./embedding-request.ts"

const destiny = (fate: SettingFate) => ({ fate, note: "there is no such member" })

function targetWith(dimensions: SettingFate): EmbeddingTarget {
  const [task, title, endUser] = [destiny("dropped"), destiny("dropped"), destiny("mapped")]
  const fates: EmbeddingFates = { dimensions: destiny(dimensions), task, title, endUser }
  const upstream: EmbeddingUpstream = {
    fates,
    operationFor: () => ({ operation: "embed", path: "/embed", headers: {} }),
    encodeRequest: ({ inputs }) => ({ count: inputs.length }),
    decodeResponse: () => undefined,
    decodeError: () => new GatewayError("upstream_unavailable", "No."),
  }
  const places = { dimensions: "outputDimensionality", task: "requests[].taskType", input: "requests[].content" }
  return { upstream, model: "m", limits: { inputs: 2, textOnly: true }, places }
}

const text: EmbeddingInput = { content: { kind: "text", text: "x" }, dimensions: 5, task: "query", title: "t" }

function refusal(inputs: readonly EmbeddingInput[], target: EmbeddingTarget): unknown {
  try {
    return encodeEmbedding({ inputs }, target)
  } catch (thrown) {
    return thrown instanceof GatewayError ? [thrown.code, thrown.param, thrown.message] : thrown
  }
}

describe("an embedding request", () => {
  test("an embedding request is encoded batch by batch, and a loss in every batch is reported once, by the caller's name for it", () => {
    const { batches, losses } = encodeEmbedding({ inputs: [text, text, text] }, targetWith("mapped"))
    expect(batches).toEqual([
      { body: { count: 2 }, inputs: 2 },
      { body: { count: 1 }, inputs: 1 },
    ])
    const dropped = { how: "dropped", why: "there is no such member" }
    expect(losses).toEqual([
      { path: "requests[].taskType", weight: "meaning", ...dropped },
      { path: "title", weight: "hint", ...dropped },
    ] as typeof losses)
  })

  test("an embedding setting that the host cannot express is rejected by the caller's name for it", () => {
    expect(refusal([text], targetWith("refused"))).toEqual([
      "unsupported_parameter",
      "outputDimensionality",
      "`outputDimensionality` is not supported by this model's provider: there is no such member.",
    ])
  })

  test("token ids are rejected if the host accepts only text", () => {
    const tokens: EmbeddingInput = { content: { kind: "tokens", tokens: [1] } }
    const message = "`requests[].content` holds token ids, and this model's provider accepts only text. Send the text."
    const expected = ["unsupported_parameter", "requests[].content", message]
    expect(refusal([text, tokens], targetWith("mapped"))).toEqual(expected)
  })

  test("an embedding request that needs too many calls is rejected", () => {
    const many = Array.from({ length: 4097 }, () => text)
    expect(refusal(many, targetWith("mapped"))).toEqual([
      "invalid_parameter",
      "requests[].content",
      expect.stringContaining("needs 2049 calls"),
    ])
    expect(encodeEmbedding({ inputs: many.slice(1) }, targetWith("mapped")).batches).toHaveLength(2048)
  })
})
