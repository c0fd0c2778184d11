import { describe, expect, test } from "bun:test"
import fc from "fast-check"
import { encloseSeal } from "../../../../canonical/chat/sealed-content.ts"
import { GatewayError } from "../../../../canonical/gateway-error.ts"
import type { JsonObject } from "../../../../canonical/json.ts"
import { decoded, envelope, plain, upstream } from "../codec.fixture.ts"
import { geminiGenerateCodec } from "../codec.ts"

const { ingress, upstream: out } = geminiGenerateCodec
const own = (data: string) => ({ mintedBy: "gemini-generate", data })

function parts(...given: object[]) {
  return decoded({ contents: [{ role: "model", parts: given as JsonObject[] }] }).turns[0]?.parts as unknown
}

describe("parts of a request", () => {
  const at = "contents[0].parts[0]"
  const cases: Record<string, [given: object, expected: object[]]> = {
    text: [{ text: "a" }, [{ kind: "text", text: "a", at }]],
    "a thought with its seal": [
      { text: "hm", thought: true, thoughtSignature: "s" },
      [{ kind: "reasoning", form: "summary", text: "hm", sealed: own("s"), at }],
    ],
    "a text, with hidden reasoning for its signature": [
      { text: "a", thought_signature: "s" },
      [
        { kind: "text", text: "a", at },
        { kind: "reasoning", form: "hidden", text: "", sealed: own("@s") },
      ],
    ],
    "an image, in standard base64": [
      { inline_data: { mime_type: "image/png", data: "-_8" } },
      [{ kind: "media", media: "image", source: { at: "inline", mediaType: "image/png", base64: "+/8=" }, at }],
    ],
    "a document at a URL, with a passthrough field": [
      { fileData: { fileUri: "https://x.org/a.pdf", mimeType: "application/pdf" }, videoMetadata: { fps: 1 } },
      [
        {
          kind: "media",
          media: "document",
          source: { at: "url", url: "https://x.org/a.pdf", mediaType: "application/pdf" },
          at,
          extra: { protocol: "gemini-generate", members: { videoMetadata: { fps: 1 } } },
        },
      ],
    ],
    "a video, by its URL": [
      { fileData: { fileUri: "https://youtu.be/x" } },
      [{ kind: "media", media: "video", source: { at: "url", url: "https://youtu.be/x" }, at }],
    ],
    "a call": [
      { functionCall: { id: "c", name: "f", args: { x: 1 } }, thoughtSignature: "s" },
      [{ kind: "tool-call", id: "c", name: "f", arguments: '{"x":1}', runsAt: "client", sealed: own("s"), at }],
    ],
    "a call that the provider ran": [
      { toolCall: { toolType: "GOOGLE_SEARCH_WEB", id: "t", args: { queries: ["q"] } } },
      [
        {
          kind: "tool-call",
          id: "t",
          name: "GOOGLE_SEARCH_WEB",
          arguments: '{"queries":["q"]}',
          runsAt: "provider",
          at,
        },
      ],
    ],
    "a part that only this protocol knows": [
      { newThing: 1 },
      [{ kind: "foreign", protocol: "gemini-generate", value: { newThing: 1 }, at }],
    ],
    "a seal that crossed a client of this protocol": [
      { text: "", thought: true, thoughtSignature: encloseSeal({ mintedBy: "anthropic", data: "d" }) },
      [{ kind: "reasoning", form: "hidden", text: "", sealed: { mintedBy: "anthropic", data: "d" }, at }],
    ],
  }
  test.each(Object.keys(cases))("a part is decoded: %s", (name) => {
    const [given, expected] = cases[name] ?? [{}, []]
    expect(parts(given)).toEqual(expected)
  })
})

describe("the result of a tool", () => {
  const result = (response: object) => {
    const read = parts({ functionResponse: { id: "c", name: "f", response } }) as [
      { parts: unknown[]; isError: boolean },
    ]
    return { text: (read[0].parts[0] as { text: string }).text, isError: read[0].isError }
  }
  test("a tool result is its output or its error, if it has no other member", () => {
    expect(result({ output: "21°" })).toEqual({ text: "21°", isError: false })
    expect(result({ error: "no such town" })).toEqual({ text: "no such town", isError: true })
  })
  test("a tool result with other members is read as JSON text", () => {
    expect(result({ temp: 21 })).toEqual({ text: '{"temp":21}', isError: false })
    expect(result({ output: '{"a":1}' })).toEqual({ text: '{"output":"{\\"a\\":1}"}', isError: false })
    expect(result({ error: { code: 1 } })).toEqual({ text: '{"error":{"code":1}}', isError: true })
  })

  test("a tool result without an id answers the first unanswered call of its name", () => {
    const call = (name: string) => ({ functionCall: { name } })
    const answer = (name: string) => ({ functionResponse: { name, response: {} } })
    const { turns } = decoded({
      contents: [
        { role: "model", parts: [call("f"), call("g"), call("f")] },
        { role: "user", parts: [answer("f"), answer("f"), answer("g"), answer("h")] },
      ],
    })
    const ids = turns.map(({ parts }) =>
      parts.map((part) => (part.kind === "tool-call" ? part.id : part.kind === "tool-result" ? part.callId : "")),
    )
    const [calls = [], answers = []] = ids
    expect(new Set(calls).size).toBe(3)
    expect(answers.slice(0, 3)).toEqual([calls[0], calls[2], calls[1]] as string[])
    expect(calls).not.toContain(answers[3] ?? "")
  })

  test("a tool result may contain media", () => {
    const response = {
      functionResponse: {
        name: "f",
        response: { output: "x" },
        parts: [{ inlineData: { mimeType: "image/png", data: "aGk=" } }],
      },
    }
    expect(parts(response)).toMatchObject([
      { parts: [{ kind: "text" }, { kind: "media", at: "contents[0].parts[0].functionResponse.parts[0]" }] },
    ])
  })
})

describe("settings", () => {
  const settings = (generationConfig: JsonObject) => decoded({ contents: [], generationConfig }).settings
  const cases: [JsonObject, object][] = [
    [
      { temperature: 1, topP: 0.5, top_k: 40, maxOutputTokens: 9, stop_sequences: ["x"], seed: 7, candidateCount: 2 },
      { temperature: 1, topP: 0.5, topK: 40, maxOutputTokens: 9, stop: ["x"], seed: 7, candidates: 2 },
    ],
    [
      { frequencyPenalty: 1, presencePenalty: -1 },
      { frequencyPenalty: 1, presencePenalty: -1 },
    ],
    [{ responseLogprobs: true, logprobs: 3 }, { logprobs: 3 }],
    [{ responseLogprobs: true }, { logprobs: 0 }],
    [{ responseMimeType: "application/json" }, { format: { kind: "json" } }],
    [
      {
        response_mime_type: "application/json",
        response_schema: { type: "OBJECT", properties: { a: { type: "STRING", nullable: true } } },
      },
      { format: { kind: "schema", schema: { type: "object", properties: { a: { type: ["string", "null"] } } } } },
    ],
    [
      { thinkingConfig: { thinkingLevel: "low", includeThoughts: true } },
      { reasoning: { effort: "low", show: "summary" } },
    ],
    [
      { thinkingConfig: { thinking_budget: 0, includeThoughts: false } },
      { reasoning: { budgetTokens: 0, show: "hidden" } },
    ],
    [{ responseModalities: ["TEXT", "IMAGE"] }, { modalities: ["text", "image"] }],
  ]
  test.each(cases)("the settings %j are decoded", (given, expected) => {
    expect(settings(given)).toEqual(expected)
  })

  test("settings without a canonical counterpart pass through", () => {
    const generationConfig = {
      responseMimeType: "text/x.enum",
      responseSchema: { type: "STRING", enum: ["a"] },
      thinkingConfig: { thinkingBudget: -1 },
      responseModalities: ["VIDEO"],
      speechConfig: {},
    }
    const { settings: known, extra } = decoded({ contents: [], generationConfig })
    expect(known).toEqual({})
    expect(extra?.members).toEqual({ generationConfig })
  })
})

test("tools are decoded with their paths, and the choice among them", () => {
  const { tools, toolChoice } = decoded({
    contents: [],
    tools: [
      { functionDeclarations: [{ name: "f", description: "d", parameters: { type: "OBJECT" }, behavior: "BLOCKING" }] },
      { googleSearch: {} },
    ],
    toolConfig: { functionCallingConfig: { mode: "ANY", allowedFunctionNames: ["f"] } },
  })
  expect(tools).toEqual([
    {
      kind: "function",
      at: "tools[0].functionDeclarations[0]",
      name: "f",
      description: "d",
      parameters: { type: "object" },
      extra: { protocol: "gemini-generate", members: { behavior: "BLOCKING" } },
    },
    {
      kind: "hosted",
      name: "googleSearch",
      purpose: "web-search",
      protocol: "gemini-generate",
      value: { googleSearch: {} },
      at: "tools[1].googleSearch",
    },
  ])
  expect(toolChoice).toEqual({ mode: "tool", name: "f" })
})

test.each([
  [{ mode: "AUTO" }, { mode: "auto" }],
  [{ mode: "ANY" }, { mode: "required" }],
  [{ mode: "NONE" }, { mode: "none" }],
  [
    { mode: "ANY", allowed_function_names: ["a", "b"] },
    { mode: "some", names: ["a", "b"], required: true },
  ],
  [
    { mode: "VALIDATED", allowedFunctionNames: ["a"] },
    { mode: "some", names: ["a"], required: false },
  ],
  [{ mode: "VALIDATED" }, undefined],
])("the tool choice %j is decoded", (functionCallingConfig, expected) => {
  expect(decoded({ contents: [], toolConfig: { functionCallingConfig } }).toolChoice).toEqual(expected as never)
})

test("the path has the model and the method; `provider` has the routing options", () => {
  const rest = "models/openai/gpt-4o:streamGenerateContent"
  const body = { contents: [], model: "x", provider: { routing: "cost", fallback: ["a/b"] } }
  const read = ingress.decodeRequest(body, { ...envelope, rest })
  expect(read).toMatchObject({ model: "openai/gpt-4o", stream: true, routing: { strategy: "cost", fallback: ["a/b"] } })
  expect(read.extra).toBeUndefined()
})

/** Every feature at once, in both spellings, with unknown members at every level. */
const rich: JsonObject = {
  system_instruction: { role: "user", parts: [{ text: "be kind", odd: 1 }], more: true },
  tools: [
    {
      function_declarations: [
        { name: "f", parameters: { type: "OBJECT", properties: { a: { type: "STRING" } } } },
        { name: "g", odd: 1 },
      ],
      google_search: { x: 1 },
    },
    {
      functionDeclarations: [
        { name: "h", parametersJsonSchema: { $ref: "#/$defs/A", $defs: { A: { type: "object" } } } },
      ],
    },
    { codeExecution: {} },
    {},
  ],
  toolConfig: {
    functionCallingConfig: { mode: "ANY", allowedFunctionNames: ["f", "g"] },
    retrievalConfig: { languageCode: "de" },
  },
  generationConfig: {
    temperature: 0.5,
    candidate_count: 2,
    stopSequences: ["x"],
    responseLogprobs: true,
    logprobs: 2,
    responseMimeType: "application/json",
    responseJsonSchema: { type: "object", oneOf: [{}] },
    thinking_config: { includeThoughts: true, thinkingBudget: 100, odd: 1 },
    mediaResolution: "MEDIA_RESOLUTION_LOW",
  },
  safetySettings: [{ category: "HARM_CATEGORY_HARASSMENT", threshold: "BLOCK_NONE" }],
  labels: { a: "b" },
  contents: [
    { parts: [{ text: "" }, { text: "hi", partMetadata: { a: 1 } }] },
    {
      role: "user",
      parts: [
        { inlineData: { mimeType: "audio/wav", data: "aGk=", displayName: "a" } },
        { file_data: { file_uri: "https://x.org/a" } },
      ],
    },
    {
      role: "model",
      parts: [
        { text: "hm", thought: true, thoughtSignature: "s0" },
        { text: "Let me see.", thoughtSignature: "s1" },
        { functionCall: { name: "f", args: { a: 1 } }, thoughtSignature: "s2" },
        { functionCall: { id: "c2", name: "g", args: {}, odd: 1 } },
        { executableCode: { language: "PYTHON", code: "1" }, thoughtSignature: "s3" },
        { codeExecutionResult: { outcome: "OUTCOME_DEADLINE_EXCEEDED", output: "1" } },
        { toolCall: { toolType: "GOOGLE_SEARCH_WEB", id: "t" }, thoughtSignature: "s4" },
        { toolResponse: { toolType: "GOOGLE_SEARCH_WEB", id: "t", response: { a: 1 } }, thoughtSignature: "s5" },
        { text: "", thoughtSignature: "s6" },
        { newThing: { x: 1 }, thoughtSignature: "s7" },
      ],
      odd: 1,
    },
    { role: "function", parts: [{ functionResponse: { name: "f", response: { result: 1 }, scheduling: "SILENT" } }] },
    {
      role: "user",
      parts: [
        {
          functionResponse: {
            id: "c2",
            name: "g",
            response: { error: "x" },
            parts: [{ inlineData: { mimeType: "image/png", data: "aGk=" } }],
          },
        },
      ],
    },
  ],
}

describe("encoding a request in its own protocol", () => {
  const again = (body: JsonObject) => {
    const context = upstream()
    const encoded = out.encodeRequest(decoded(body), context)
    return { encoded, losses: context.losses }
  }
  test("a request with every feature and unknown members stays the same in its own protocol", () => {
    const { encoded, losses } = again(rich)
    expect(plain(encoded)).toEqual(plain(rich))
    expect(losses).toEqual([])
  })

  test("a request with any members stays the same in its own protocol", () => {
    const name = fc.constantFrom(
      "text",
      "thought",
      "functionCall",
      "function_response",
      "inlineData",
      "zzz",
      "__proto__",
      "id",
      "name",
    )
    const value = fc.letrec((tie) => ({
      json: fc.oneof(
        { depthSize: "small" },
        fc.string(),
        fc.integer(),
        fc.boolean(),
        fc.constant(null),
        fc.array(tie("json"), { maxLength: 2 }),
        fc.dictionary(name, tie("json"), { maxKeys: 3 }),
      ),
    })).json
    const part = fc.dictionary(name, value, { maxKeys: 4 })
    fc.assert(
      fc.property(
        fc.array(part, { maxLength: 4 }),
        fc.dictionary(fc.string(), fc.jsonValue(), { maxKeys: 3 }),
        (some, more) => {
          const body = { ...more, contents: [{ role: "user", parts: some }], provider: null } as JsonObject
          try {
            const { encoded } = again(body)
            const once = JSON.stringify(encoded)
            expect(JSON.stringify(out.encodeRequest(decoded(JSON.parse(once)), upstream()))).toBe(once)
          } catch (thrown) {
            expect(thrown).toBeInstanceOf(GatewayError)
          }
        },
      ),
    )
  })
})
