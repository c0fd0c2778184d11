import { describe, expect, test } from "bun:test"
import fc from "fast-check"
import { GatewayError } from "../canonical/gateway-error.ts"
import type { Json, JsonObject } from "../canonical/json.ts"
import { toByteText } from "../transport/json/byte-text.ts"
import { outlineJson } from "../transport/json/json-scan.ts"
import type { BodyGuard } from "./body-rules.ts"
import { bodyGuard as messages } from "./chat/anthropic-messages/body-rules.ts"
import { bodyGuard as gemini } from "./chat/gemini-generate/body-rules.ts"
import { bodyGuard as chat } from "./chat/openai-chat/body-rules.ts"
import { bodyGuard as responses } from "./chat/openai-responses/body-rules.ts"

const GUARDS: Readonly<Record<string, BodyGuard>> = { chat, responses, messages, gemini }

function refusalOf(guard: BodyGuard, body: object): string | undefined {
  try {
    guard.check(body as JsonObject)
    return undefined
  } catch (thrown) {
    if (!(thrown instanceof GatewayError)) throw thrown
    return thrown.param
  }
}

function holdsWatched(guard: BodyGuard, text: string): boolean {
  const bytes = new TextEncoder().encode(text)
  const isAscii = bytes.every((byte) => byte < 0x80)
  return (
    outlineJson(toByteText(bytes), undefined, { outer: guard.outer, inner: guard.inner, isAscii })?.holdsWatched ===
    true
  )
}

describe("a second spelling of a member that the gateway owns", () => {
  test.each([
    [chat, { model: "a", Model: "b" }, "Model"],
    [chat, { model: "a", MODEL: "b" }, "MODEL"],
    [chat, { max_tokens: 1, Max_Tokens: 9 }, "Max_Tokens"],
    [chat, { max_tokens: 1, "max_token\u017f": 9 }, "max_token\u017f"],
    [chat, { maxTokens: 9 }, "maxTokens"],
    [chat, { N: 4 }, "N"],
    [chat, { stream_options: { Include_Usage: true } }, "stream_options.Include_Usage"],
    [chat, { thinking: { budgetTokens: 1 } }, "thinking.budgetTokens"],
    [chat, { tools: [{ Type: "web_search" }] }, "tools[0].Type"],
    [chat, { messages: [{ Role: "system" }] }, "messages[0].Role"],
    [chat, { Service_Tier: "priority" }, "Service_Tier"],
    [responses, { Input: "x" }, "Input"],
    [responses, { reasoning: { Effort: "high" } }, "reasoning.Effort"],
    [responses, { Previous_Response_Id: "r" }, "Previous_Response_Id"],
    [messages, { MaxTokens: 1 }, "MaxTokens"],
    [messages, { thinking: { Budget_Tokens: 1 } }, "thinking.Budget_Tokens"],
    [messages, { "thin\u212aing": { type: "enabled" } }, "thin\u212aing"],
    [gemini, { GenerationConfig: {} }, "GenerationConfig"],
    [gemini, { generationConfig: { MaxOutputTokens: 1 } }, "generationConfig.MaxOutputTokens"],
    [gemini, { generation_config: { MAX_OUTPUT_TOKENS: 1 } }, "generation_config.MAX_OUTPUT_TOKENS"],
  ])("a second spelling of an owned member is refused with its path: %#", (guard, body, path) => {
    expect(refusalOf(guard, body)).toBe(path as string)
  })

  test.each([
    [gemini, { generation_config: { max_output_tokens: 1 } }],
    [gemini, { generationConfig: { maxOutputTokens: 1, max_output_tokens: 1 } }],
    [chat, { model: "a", Model: null }],
    [chat, { metadata: { Model: "x", MAX_TOKENS: "1" } }],
    [chat, { tools: [{ type: "function", function: { name: "f", parameters: { Model: 1, file_id: {} } } }] }],
    [messages, { tools: [{ name: "f", input_schema: { properties: { Type: {}, file_id: {} } } }] }],
    [messages, { messages: [{ role: "assistant", content: [{ type: "tool_use", input: { Type: 1, file_id: 2 } }] }] }],
    [responses, { input: [{ type: "message", content: [{ type: "output_text", annotations: [{ file_id: "f" }] }] }] }],
    [gemini, { contents: [{ parts: [{ functionCall: { name: "f", args: { fileUri: "gs://x", Role: 1 } } }] }] }],
    [gemini, { contents: [{ parts: [{ functionResponse: { name: "f", response: { file_uri: "gs://x" } } }] }] }],
  ])(
    "both spellings are allowed in schemas, arguments and metadata, and in members that Gemini accepts in both: %#",
    (guard, body) => {
      expect(refusalOf(guard, body)).toBeUndefined()
    },
  )
})

describe("a member that selects a model at the provider", () => {
  test.each([
    ...["route", "preset", "plugins", "extra_body", "extraBody", "providerOptions", "compound_custom", "Plugins"],
  ])("a member that selects a model at the provider is refused: %s", (name) => {
    for (const guard of Object.values(GUARDS)) expect(refusalOf(guard, { [name]: { models: ["dear"] } })).toBe(name)
  })

  test("Google's thinking settings are allowed in an extra body, model choices are not", () => {
    expect(refusalOf(chat, { extra_body: { google: { thinking_config: { thinking_budget: 1 } } } })).toBeUndefined()
    const extraBody = { google: { thinking_config: {}, cached_content: "c" } }
    expect(refusalOf(chat, { extra_body: extraBody })).toBe("extra_body")
    expect(refusalOf(chat, { extra_body: { google: { thinking_config: {} }, model: "x" } })).toBe("extra_body")
  })

  test("the model of an advisor tool is refused, that of image generation is not", () => {
    expect(refusalOf(messages, { tools: [{ type: "advisor_20260301", model: "dear" }] })).toBe("tools[0].model")
    expect(refusalOf(responses, { tools: [{ type: "image_generation", model: "gpt-image-1" }] })).toBeUndefined()
  })

  test("the routing of a Gemini model is refused", () => {
    const routing = { autoMode: { modelRoutingPreference: "PRIORITIZE_QUALITY" } }
    expect(refusalOf(gemini, { generationConfig: { routingConfig: routing } })).toBe("generationConfig.routingConfig")
    expect(refusalOf(gemini, { generation_config: { routing_config: routing } })).toBe(
      "generation_config.routing_config",
    )
  })
})

describe("an output limit under another protocol's name", () => {
  test.each([
    [chat, "max_output_tokens"],
    [chat, "max_new_tokens"],
    [responses, "max_tokens"],
    [messages, "max_completion_tokens"],
    [messages, "num_predict"],
  ])("an output limit under another protocol's name is refused: %#", (guard, name) => {
    expect(refusalOf(guard, { [name]: 1 })).toBe(name)
  })
})

/** The positions of account objects, by protocol; `*` is the object's member. */
const ACCOUNT_PLACES: readonly (readonly [BodyGuard, string, (held: object) => object])[] = [
  [chat, "file", (file) => ({ messages: [{ role: "user", content: [{ type: "file", file }] }] })],
  [chat, "in a tool's result", (file) => ({ messages: [{ role: "tool", content: [{ type: "file", file }] }] })],
  [chat, "deep inside", (file) => ({ messages: [{ role: "user", content: [{ a: [{ b: { c: file } }] }] }] })],
  [responses, "message", (part) => ({ input: [{ role: "user", content: [part] }] })],
  [responses, "function output", (part) => ({ input: [{ type: "function_call_output", output: [part] }] })],
  [responses, "custom output", (part) => ({ input: [{ type: "custom_tool_call_output", output: [part] }] })],
  [responses, "computer output", (output) => ({ input: [{ type: "computer_call_output", output }] })],
  [responses, "image mask", (input_image_mask) => ({ tools: [{ type: "image_generation", input_image_mask }] })],
  [responses, "container", (container) => ({ tools: [{ type: "code_interpreter", container }] })],
  [responses, "shell", (environment) => ({ tools: [{ type: "shell", environment }] })],
  [messages, "document", (source) => ({ messages: [{ role: "user", content: [{ type: "document", source }] }] })],
  [
    messages,
    "document's content",
    (source) => ({
      messages: [{ role: "user", content: [{ type: "document", source: { content: [{ type: "image", source }] } }] }],
    }),
  ],
  [
    messages,
    "search result",
    (source) => ({ messages: [{ role: "user", content: [{ type: "search_result", content: [{ source }] }] }] }),
  ],
  [
    messages,
    "remote tool's result",
    (source) => ({ messages: [{ role: "user", content: [{ type: "mcp_tool_result", content: [{ source }] }] }] }),
  ],
  [messages, "system", (source) => ({ system: [{ type: "document", source }] })],
  [messages, "upload", (held) => ({ messages: [{ role: "user", content: [{ type: "container_upload", ...held }] }] })],
]
const ACCOUNT_MEMBERS = ["file_id", "file_ids", "container_id", "vector_store_ids", "File_Id", "fileId", "FILE_ID"]

describe("an object of the provider's account", () => {
  test.each(ACCOUNT_PLACES.map(([guard, place, body]) => [place, guard, body] as const))(
    "an object of the provider's account is rejected at any depth: %s",
    (_, guard, bodyWith) => {
      for (const member of ACCOUNT_MEMBERS) {
        const body = bodyWith({ [member]: "x" })
        expect(refusalOf(guard, body)).toEndWith(member)
        expect(holdsWatched(guard, JSON.stringify(body))).toBe(true)
        expect(refusalOf(guard, bodyWith({ [member]: null }))).toBeUndefined()
      }
    },
  )

  test.each([
    [chat, { messages: [{ role: "assistant", audio: { id: "audio_1" } }] }, "messages[0].audio.id"],
    [chat, { audio: { voice: { id: "voice_1" }, format: "wav" } }, "audio.voice.id"],
    [responses, { conversation: "c" }, "conversation"],
    [responses, { prompt: { id: "p" } }, "prompt"],
    [responses, { tools: [{ type: "code_interpreter", container: "c" }] }, "tools[0].container"],
    [responses, { input: [{ type: "code_interpreter_call", container_id: "c" }] }, "input[0].container_id"],
    [messages, { container: { skills: [] } }, "container"],
    [gemini, { cachedContent: "c" }, "cachedContent"],
    [gemini, { generateContentRequest: { cached_content: "c" } }, "generateContentRequest.cached_content"],
    [gemini, { tools: { fileSearch: {} } }, "tools.fileSearch"],
  ])("an object of the provider's account is refused with its path: %#", (guard, body, path) => {
    expect(refusalOf(guard, body)).toBe(path)
  })

  test("output of code that the provider ran may name objects of the account", () => {
    const result = { type: "code_execution_tool_result", content: { content: [{ file_id: "f" }] } }
    const body = (content: Json[]) => ({ messages: [{ role: "assistant", content }] })
    expect(refusalOf(messages, body([result]))).toBeUndefined()
    expect(refusalOf(messages, { type: "code_execution_tool_result", ...body([{ source: { file_id: "f" } }]) })).toBe(
      "messages[0].content[0].source.file_id",
    )
  })

  test("a public URL is not an object of the provider's account", () => {
    const body = (fileUri: string) => ({ contents: [{ parts: [{ fileData: { fileUri } }] }] })
    expect(refusalOf(gemini, body("https://example.com/a.png"))).toBeUndefined()
    expect(refusalOf(gemini, body("gs://bucket/a.png"))).toBe("contents[0].parts[0].fileData.fileUri")
  })
})

/** Names that rules are about, their neighbours, and spellings of either. */
const NAMES = [
  ...["model", "models", "max_tokens", "n", "messages", "contents", "input", "content", "parts", "tools", "type"],
  ...["generationConfig", "max_output_tokens", "maxOutputTokens", "file_id", "container", "audio", "id", "metadata"],
  ...["parameters", "fileData", "fileUri", "thinking", "budget_tokens", "reasoning", "effort", "plugins", "text"],
]
const spelled = fc
  .constantFrom(...NAMES)
  .chain((name) =>
    fc.constantFrom(
      ...[name, name, name, name.toUpperCase(), `${name[0]?.toUpperCase()}${name.slice(1)}`],
      ...[name.replaceAll("_", ""), name.replace("s", "\u017f"), name.replace("k", "\u212a"), `x${name}`],
    ),
  )
const { body: anyBody } = fc.letrec<{ value: Json; object: JsonObject; body: JsonObject }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small" },
    fc.constantFrom<Json>("x", 'a "quoted" \\ text', "\u00fc", 1, true, null, "https://example.com/x"),
    fc.array(tie("value"), { maxLength: 3 }),
    tie("object"),
  ),
  object: fc.dictionary(spelled, tie("value"), { maxKeys: 4 }) as fc.Arbitrary<JsonObject>,
  body: tie("object"),
}))

/** JSON with white space and escapes wherever they are allowed. */
function written(body: JsonObject, { spaced, escaped }: { spaced: boolean; escaped: boolean }): string {
  const text = JSON.stringify(body, null, spaced ? 2 : undefined)
  const wide = spaced ? text.replaceAll('":', '" \n :') : text
  return escaped ? wide.replace(/e(?=[a-z_]*" ?\n? ?:)/g, "\\u0065") : wide
}

test("the scan also reports names that are allowed elsewhere", () => {
  expect(holdsWatched(gemini, '{"maxOutputTokens":1}')).toBe(true)
  expect(holdsWatched(gemini, '{"generationConfig":{"maxOutputTokens":1}}')).toBe(false)
  expect(holdsWatched(chat, '{"max_tokens":1,"model":"a","messages":[{"role":"user","content":"hi"}]}')).toBe(false)
  expect(holdsWatched(chat, '{"tools":[{"model":"a"}]}')).toBe(true)
})

test("the scan reports every body that the check refuses", () => {
  const ways = fc.record({ spaced: fc.boolean(), escaped: fc.boolean() })
  fc.assert(
    fc.property(fc.constantFrom(...Object.keys(GUARDS)), anyBody, ways, (name, body, way) => {
      const guard = GUARDS[name] ?? chat
      const text = written(body, way)
      expect(JSON.parse(text)).toEqual(body)
      if (refusalOf(guard, body) !== undefined) expect(holdsWatched(guard, text)).toBe(true)
    }),
    { numRuns: 5000 },
  )
})
