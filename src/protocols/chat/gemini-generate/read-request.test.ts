import { describe, expect, test } from "bun:test"
import { GatewayError } from "../../../canonical/gateway-error.ts"
import type { Json, JsonObject } from "../../../canonical/json.ts"
import { spliceJson } from "../../../transport/json/json-splice.ts"
import type { RequestSummary } from "../../contract.ts"
import { bodyGuard } from "./body-rules.ts"
import { readRequest, requestEdits, upstreamPath } from "./read-request.ts"

const hello = { contents: [{ role: "user", parts: [{ text: "hi" }] }] }

function read(body: JsonObject, path = "models/a/b:generateContent", query = ""): RequestSummary {
  bodyGuard.check(body)
  return readRequest(body, { does: "generate", rest: path, query, headers: {} })
}

function refusal(body: JsonObject, path?: string): [string, string | undefined] {
  try {
    read(body, path)
  } catch (thrown) {
    if (thrown instanceof GatewayError) return [thrown.code, thrown.param]
  }
  throw new Error("nothing was refused")
}

describe("a request", () => {
  test("the path has the model and the method", () => {
    expect(read(hello)).toEqual({
      operation: "generateContent",
      model: "a/b",
      stream: false,
      framing: "array",
      usageRequested: true,
      outputLimits: { candidates: 1 },
      kinds: ["chat", "image"],
      routing: { fallback: [] },
      headers: {},
    })
  })

  test("the method selects streaming, and the query selects events or an array", () => {
    const stream = (query: string) => {
      const { stream, framing } = read(hello, "a/b:streamGenerateContent", query)
      return [stream, framing]
    }
    expect(stream("alt=sse")).toEqual([true, "events"])
    expect(stream("key=k&alt=sse")).toEqual([true, "events"])
    expect(stream("%24alt=sse")).toEqual([true, "events"])
    expect(stream("")).toEqual([true, "array"])
    expect(stream("alt=json")).toEqual([true, "array"])
  })

  test("a request may carry the routing extension", () => {
    const provider = { routing: "cost", fallback: ["c/d"] }
    expect(read({ ...hello, provider }).routing).toEqual({ strategy: "cost", fallback: ["c/d"] })
    expect(refusal({ ...hello, provider: { routing: "luck" } })).toEqual(["invalid_parameter", "provider.routing"])
    expect(refusal({ ...hello, provider: { rooting: "cost" } })).toEqual(["invalid_parameter", "provider.rooting"])
  })

  test.each(["api_base", "api_key", "base_url", "custom_host"])(
    "a request may not choose its destination: %s",
    (name) => {
      expect(refusal({ ...hello, [name]: "x" })).toEqual(["unsupported_parameter", name])
    },
  )
})

describe("accepted requests", () => {
  const taken: [string, JsonObject][] = [
    [
      "every setting at its minimum",
      config({ temperature: 0, topP: 0, topK: 0, maxOutputTokens: 1, candidateCount: 1 }),
    ],
    ["every setting at its maximum", config({ temperature: 2, topP: 1, topK: 40, maxOutputTokens: 8192 })],
    ["stop sequences", config({ stopSequences: [] })],
    ["the other spelling", { ...hello, generation_config: { top_p: 1, max_output_tokens: 9, stop_sequences: ["x"] } }],
    ["null for absent", { ...hello, generationConfig: { temperature: null, topK: null }, tools: null, provider: null }],
    ["null for refused members", { ...hello, cachedContent: null, serviceTier: null }],
    ["both spellings with the same value", { ...hello, generationConfig: { topK: 1 }, generation_config: { topK: 1 } }],
    ["a null spelling next to the other", { ...hello, generationConfig: null, generation_config: {} }],
    ["a system instruction", { ...hello, systemInstruction: { parts: [{ text: "be brief" }] } }],
    ["a system instruction with a single part", { ...hello, system_instruction: { parts: { text: "be brief" } } }],
    ["roles", { contents: ["user", "model", "function", "", null].map((role) => ({ role, parts: [{ text: "x" }] })) }],
    ["a part of an unknown kind", part({ holograms: [1] })],
    ["a blob", part({ inlineData: { mimeType: "image/png", data: "aGk=" } })],
    ["a blob in the other spelling", part({ inline_data: { mime_type: "image/png", data: "aGk=" } })],
    ["calls and their results", part({ functionCall: { name: "f" }, thoughtSignature: "s" })],
    ["a public file", part({ fileData: { fileUri: "https://example.com/a.pdf" } })],
    ["a video", part({ file_data: { file_uri: "https://youtu.be/x", mime_type: "video/mp4" } })],
    ["functions", { ...hello, tools: [{ functionDeclarations: [{ name: "f", parametersJsonSchema: {} }] }] }],
    ["tools of other kinds", { ...hello, tools: [{ googleSearch: {} }, { codeExecution: {} }] }],
    ["the default service tier", { ...hello, serviceTier: "standard" }],
    ["unknown members", { ...hello, safetySettings: [], toolConfig: {}, "x-y": 1 }],
  ]
  test.each(taken)("a request is accepted with %s", (_, body) => {
    expect(() => read(body)).not.toThrow()
  })
})

function config(generationConfig: Json): JsonObject {
  return { ...hello, generationConfig }
}

function part(...parts: Json[]): JsonObject {
  return { contents: [{ parts }] }
}

describe("refused requests, with the member", () => {
  const refused: [string, string, JsonObject][] = [
    ["missing_parameter", "contents", {}],
    ["missing_parameter", "contents", { contents: null }],
    ["invalid_parameter", "contents", { contents: "hi" }],
    ["invalid_parameter", "contents", { contents: { parts: [] } }],
    ["invalid_parameter", "contents", { contents: [] }],
    ["invalid_parameter", "contents[0]", { contents: ["hi"] }],
    ["missing_parameter", "contents[0].parts", { contents: [{ role: "user" }] }],
    ["invalid_parameter", "contents[0].parts", { contents: [{ parts: { text: "hi" } }] }],
    ["invalid_parameter", "contents[1].role", { contents: [...hello.contents, { role: "system", parts: [] }] }],
    ["invalid_parameter", "contents[0].role", { contents: [{ role: 1, parts: [] }] }],
    ["invalid_parameter", "contents[0].parts[0]", part("hi")],
    ["invalid_parameter", "contents[0].parts[1].text", part({ text: "a" }, { text: 1 })],
    ["invalid_parameter", "contents[0].parts[0].inlineData", part({ inlineData: "x" })],
    ["missing_parameter", "contents[0].parts[0].inlineData.mimeType", part({ inlineData: { data: "x" } })],
    ["missing_parameter", "contents[0].parts[0].inline_data.data", part({ inline_data: { mime_type: "a/b" } })],
    ["invalid_parameter", "contents[0].parts[0].inlineData.data", part({ inlineData: { mimeType: "a/b", data: 1 } })],
    ["missing_parameter", "contents[0].parts[0].fileData.fileUri", part({ fileData: {} })],
    ["invalid_parameter", "contents[0].parts[0].functionCall", part({ functionCall: "f" })],
    ["invalid_parameter", "systemInstruction", { ...hello, systemInstruction: "be brief" }],
    [
      "invalid_parameter",
      "system_instruction.parts[0].text",
      { ...hello, system_instruction: { parts: [{ text: 1 }] } },
    ],
    ["invalid_parameter", "generationConfig", config([])],
    ["invalid_parameter", "generationConfig.temperature", config({ temperature: 2.1 })],
    ["invalid_parameter", "generationConfig.temperature", config({ temperature: -0.1 })],
    ["invalid_parameter", "generationConfig.temperature", config({ temperature: "1" })],
    ["invalid_parameter", "generationConfig.topP", config({ topP: 1.1 })],
    ["invalid_parameter", "generationConfig.topK", config({ topK: 1.5 })],
    ["invalid_parameter", "generationConfig.top_k", config({ top_k: "40" })],
    ["invalid_parameter", "generationConfig.maxOutputTokens", config({ maxOutputTokens: 0 })],
    ["invalid_parameter", "generationConfig.maxOutputTokens", config({ maxOutputTokens: 1.5 })],
    ["invalid_parameter", "generationConfig.candidateCount", config({ candidateCount: 0 })],
    ["invalid_parameter", "generationConfig.stopSequences", config({ stopSequences: "x" })],
    ["invalid_parameter", "generationConfig.stopSequences[1]", config({ stopSequences: ["x", 1] })],
    [
      "invalid_parameter",
      "generation_config.max_output_tokens",
      { ...hello, generation_config: { max_output_tokens: 0 } },
    ],
    ["invalid_parameter", "generation_config", { ...hello, generationConfig: {}, generation_config: { top_k: 1 } }],
    ["invalid_parameter", "tools", { ...hello, tools: { functionDeclarations: [] } }],
    ["invalid_parameter", "tools[0]", { ...hello, tools: ["search"] }],
    [
      "missing_parameter",
      "tools[0].functionDeclarations[0].name",
      { ...hello, tools: [{ functionDeclarations: [{}] }] },
    ],
    ["model_not_priced", "serviceTier", { ...hello, serviceTier: "priority" }],
    ["model_not_priced", "service_tier", { ...hello, service_tier: "flex" }],
  ]
  test.each(refused)("an invalid request is refused with %s for %s", (code, param, body) => {
    expect(refusal(body)).toEqual([code, param])
  })
})

describe("objects of the provider's account are refused with the member", () => {
  const storedFile = "https://generativelanguage.googleapis.com/v1beta/files/abc-123"
  const file = { fileData: { fileUri: storedFile } }
  const refused: [string, JsonObject][] = [
    ["cachedContent", { ...hello, cachedContent: "cachedContents/abc" }],
    ["cached_content", { ...hello, cached_content: "cachedContents/abc" }],
    ["modelArmorConfig", { ...hello, modelArmorConfig: { promptTemplateName: "projects/p/templates/t" } }],
    [
      "tools[1].fileSearch",
      { ...hello, tools: [{}, { fileSearch: { fileSearchStoreNames: ["fileSearchStores/x"] } }] },
    ],
    ["tools[0].file_search", { ...hello, tools: [{ file_search: {} }] }],
    ["tools[0].retrieval", { ...hello, tools: [{ retrieval: { vertexRagStore: {} } }] }],
    ["contents[0].parts[1].fileData.fileUri", part({ text: "read" }, file)],
    ["contents[0].parts[0].file_data.file_uri", part({ file_data: { file_uri: storedFile } })],
    ["contents[0].parts[0].fileData.fileUri", part({ fileData: { fileUri: storedFile.toUpperCase() } })],
    [
      "contents[0].parts[0].fileData.fileUri",
      part({ fileData: { fileUri: `  ${storedFile.replace(".com", ".com.:443")}` } }),
    ],
    ["contents[0].parts[0].fileData.fileUri", part({ fileData: { fileUri: "files/abc-123" } })],
    ["contents[0].parts[0].fileData.fileUri", part({ fileData: { fileUri: "gs://bucket/secret.pdf" } })],
    ["systemInstruction.parts[0].fileData.fileUri", { ...hello, systemInstruction: { parts: [file] } }],
    ["system_instruction.parts.fileData.fileUri", { ...hello, system_instruction: { parts: file } }],
    [
      "contents[0].parts[0].functionResponse.parts[0].fileData.fileUri",
      part({ functionResponse: { name: "f", response: {}, parts: [file] } }),
    ],
  ]
  test.each(refused)("an object of the account is refused: %s", (param, body) => {
    expect(refusal(body)).toEqual(["unsupported_parameter", param])
  })
})

describe("counting tokens", () => {
  const path = "models/a/b:countTokens"

  test("a count request accepts contents, or a whole request", () => {
    expect(read(hello, path).operation).toBe("countTokens")
    expect(read({ generateContentRequest: hello }, path).stream).toBe(false)
    expect(() => read({ generate_content_request: hello }, path)).not.toThrow()
  })

  test("a fault inside the whole request is reported with its path", () => {
    const inner = (request: JsonObject) => refusal({ generateContentRequest: request }, path)
    expect(refusal({}, path)).toEqual(["missing_parameter", "contents"])
    expect(inner({})).toEqual(["missing_parameter", "generateContentRequest.contents"])
    expect(inner({ ...hello, generationConfig: { topP: 2 } })).toEqual([
      "invalid_parameter",
      "generateContentRequest.generationConfig.topP",
    ])
    expect(inner({ ...hello, cachedContent: "x" })).toEqual([
      "unsupported_parameter",
      "generateContentRequest.cachedContent",
    ])
    expect(refusal({ ...hello, generateContentRequest: hello }, path)).toEqual(["invalid_parameter", "contents"])
    expect(refusal({ generateContentRequest: hello, generate_content_request: { ...hello, tools: [] } }, path)).toEqual(
      ["invalid_parameter", "generate_content_request"],
    )
    expect(refusal({ generateContentRequest: "x" }, path)).toEqual(["invalid_parameter", "generateContentRequest"])
  })
})

describe("the upstream request", () => {
  const target = { model: "gemini-2.5-flash", streamUsage: "sent" } as const
  const sent = (text: string, path?: string) => spliceJson(text, requestEdits(read(JSON.parse(text), path), target))
  const contents = '"contents" : [{"parts":[{"text":"Gr\\u00fc\\u00df dich 12345678901234567890"}]}]'

  test("every byte except the gateway's own members stays", () => {
    expect(sent(`{ "b":1.0, "provider":{"routing":"cost"}, ${contents} }`)).toBe(`{ "b":1.0, ${contents} }`)
    expect(sent(`{${contents}}`)).toBe(`{${contents}}`)
  })

  test("a model in the body is removed", () => {
    expect(sent(`{"model":"models/other",${contents}}`)).toBe(`{${contents}}`)
  })

  test.each(["generateContentRequest", "generate_content_request"])("%s gets the upstream's model name", (name) => {
    const path = "a/b:countTokens"
    expect(sent(`{"${name}":{ "model":"models/a/b",${contents}}}`, path)).toBe(
      `{"${name}":{ "model":"models/gemini-2.5-flash",${contents}}}`,
    )
    expect(sent(`{"${name}":{${contents}}}`, path)).toBe(`{"${name}":{${contents},"model":"models/gemini-2.5-flash"}}`)
    expect(sent(`{"${name}":null,${contents}}`, path)).toBe(`{"${name}":null,${contents}}`)
  })

  test("the upstream path has the model and method, and always requests events", () => {
    const path = (method: string, model: string, query = "") => upstreamPath(read(hello, `a/b:${method}`, query), model)
    expect(path("generateContent", "gemini-2.5-pro")).toBe("/v1beta/models/gemini-2.5-pro:generateContent")
    expect(path("countTokens", "gemini-2.5-pro")).toBe("/v1beta/models/gemini-2.5-pro:countTokens")
    expect(upstreamPath(read({ generateContentRequest: hello }, "a/b:countTokens"), "m")).toBe(
      "/v1beta/models/m:countTokens",
    )
    for (const query of ["", "alt=sse"]) {
      expect(path("streamGenerateContent", "m", query)).toBe("/v1beta/models/m:streamGenerateContent?alt=sse")
    }
  })

  test("a model's name is escaped in the path", () => {
    const path = (model: string) => upstreamPath(read(hello), model)
    expect(path("google/gemini:free@1")).toBe("/v1beta/models/google/gemini:free@1:generateContent")
    expect(path("a b?c#d%2F")).toBe("/v1beta/models/a%20b%3Fc%23d%252F:generateContent")
  })
})
