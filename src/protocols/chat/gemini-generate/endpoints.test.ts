import { describe, expect, test } from "bun:test"
import { GatewayError } from "../../../canonical/gateway-error.ts"
import type { RequestEnvelope } from "../../contract.ts"
import { checkEnvelope, endpoints, isEmbeddingPath, readEmbeddingPath, readPath } from "./endpoints.ts"

function refusal(run: () => unknown): GatewayError {
  try {
    run()
  } catch (thrown) {
    if (thrown instanceof GatewayError) return thrown
  }
  throw new Error("nothing was refused")
}

describe("the paths", () => {
  const pathsOf = (method: string, does: string) =>
    endpoints.filter((each) => each.method === method && each.does === does).flatMap(({ paths }) => paths)

  test("the paths exist under both prefixes and without one, in every version; /v1 alone is OpenAI's", () => {
    const versions = ["/v1", "/v1beta", "/v1beta1", "/v1alpha", "/v1beta/v1beta"]
    const expected = ["/gemini", "/genapi", ""].flatMap((prefix) => versions.map((each) => `${prefix}${each}/models`))
    expect(pathsOf("GET", "list-models").toSorted()).toEqual(
      expected.filter((path) => path !== "/v1/models").toSorted(),
    )
    expect(pathsOf("GET", "count-models")).toContain("/genapi/v1beta/models/count")
  })

  test("the same open paths accept both methods, so that the longest one never hides a method", () => {
    expect(pathsOf("POST", "generate")).toEqual(pathsOf("GET", "get-model"))
    expect(pathsOf("POST", "generate")).toContain("/genapi/v1beta/models/{rest}")
    expect(pathsOf("POST", "generate")).toContain("/genapi/v1beta/{rest}")
  })
})

describe("parsing a path", () => {
  const same = [
    "models/openai/gpt-4o",
    "openai/gpt-4o",
    "publishers/openai/models/gpt-4o",
    "models/publishers/openai/models/gpt-4o",
    "projects/p-1/locations/us-central1/publishers/openai/models/gpt-4o",
  ]
  test.each(same)("%s names the model openai/gpt-4o", (path) => {
    expect(readPath(`${path}:generateContent`)).toEqual({ model: "openai/gpt-4o", method: "generateContent" })
  })

  test("the method follows the last colon", () => {
    expect(readPath("models/openai/gpt-4o:free:streamGenerateContent")).toEqual({
      model: "openai/gpt-4o:free",
      method: "streamGenerateContent",
    })
  })

  test.each(["gemini-2.5-flash", "cloudflare/@cf/meta/llama-3.3", "meta-llama/Llama-3.3-70B", "a/b.c:d@e-f_g"])(
    "%s is a valid model name",
    (name) => expect(readPath(`models/${name}:countTokens`)).toEqual({ model: name, method: "countTokens" }),
  )

  test.each(["", "a b", "../x", "a/../b", "a//b", "/a", "a/", "a%2Fb", "ä", "a?b", "a\\b", "x".repeat(201)])(
    "%p is not a model name",
    (name) => {
      const error = refusal(() => readPath(`models/${name}:generateContent`))
      expect([error.code, error.param]).toEqual(["invalid_parameter", "model"])
    },
  )

  test.each(["embedContent", "batchEmbedContents"] as const)(
    "%s requests embeddings, which are a separate protocol",
    (method) => {
      expect(isEmbeddingPath(`models/a/b:free:${method}`)).toBeTrue()
      expect(readEmbeddingPath(`models/a/b:free:${method}`)).toEqual({ model: "a/b:free", method })
      expect(refusal(() => readPath(`a/b:${method}`)).code).toBe("route_not_found")
      expect(refusal(() => readEmbeddingPath(`../b:${method}`)).code).toBe("invalid_parameter")
      expect(isEmbeddingPath("a/b:generateContent")).toBeFalse()
    },
  )

  test.each(["a/b:predict", "a/b", "a/b:", "a/b:free", "cachedContents"])(
    "%s has an unknown method, and the error lists the known ones",
    (rest) => {
      const error = refusal(() => readPath(rest))
      expect([error.code, error.status]).toEqual(["route_not_found", 404])
      expect(error.message).toContain(":generateContent, :streamGenerateContent, :countTokens")
    },
  )

  test("a path that calls a model is checked before the body is read", () => {
    const envelope: RequestEnvelope = { does: "generate", rest: "a/b:oops", query: "", headers: {} }
    expect(refusal(() => checkEnvelope(envelope)).code).toBe("route_not_found")
    expect(() => checkEnvelope({ ...envelope, does: "get-model", rest: "a/b" })).not.toThrow()
  })
})
