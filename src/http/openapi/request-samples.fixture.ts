// Request bodies that hold every member the gateway checks, and values to put in the place of each.
import type { Json, JsonObject } from "../../canonical/json.ts"
import type { ProtocolId, RequestEnvelope } from "../../protocols/contract.ts"

export interface RequestSample {
  readonly name: string
  readonly protocol: ProtocolId
  readonly does: RequestEnvelope["does"]
  readonly rest?: string
  readonly body: JsonObject
  /** Members of the other form a body may have. */
  readonly otherForm?: readonly string[]
}

/** Not null, which counts as absent. */
export const VALUES: readonly Json[] = [
  ...["", "x", "auto", "standard", "function", "text", "user", "assistant", "tool", "system", "json_schema", "cost"],
  ...[-3, -1, 0, 0.5, 1, 1.5, 2, 3, true, false],
  ...[[], [""], ["x"], [1], [[1]], [{}], [1.5], ["x", 1]],
  ...[{}, { type: "x" }, { type: "" }, { type: 1 }, { name: "x" }, { parts: [] }, { role: "user", content: "x" }],
]

const provider = {
  routing: "cost",
  fallback: ["a/b"],
  order: ["a"],
  only: ["a"],
  ignore: ["b"],
  max_price: { prompt: 1, completion: "2.5" },
  require_parameters: true,
  ...{ strict: true, hedge: false, explain: false, report: true },
}
const sampling = { temperature: 1, top_p: 0.5, frequency_penalty: -1, presence_penalty: 2, stop: ["x"], n: 2 }
const streaming = { stream: true, stream_options: { include_usage: true } }
const schema = { type: "object" }
const identifiers = { user: "u", safety_identifier: "s", prompt_cache_key: "c" }
/** They exclude `provider.fallback`. */
const LISTS = ["models", "fallbacks"]

const chat: JsonObject = {
  model: "a/b",
  messages: [
    { role: "system", content: "x" },
    {
      role: "user",
      content: [{ type: "text", text: "x" }, { type: "image_url", image_url: { url: "x" } }, { type: "y" }],
    },
    { role: "assistant", tool_calls: [{ id: "1", type: "function", function: { name: "f", arguments: "{}" } }] },
    { role: "tool", tool_call_id: "1", content: "x" },
  ],
  ...sampling,
  ...{ max_tokens: 1, max_completion_tokens: 2 },
  ...streaming,
  tools: [{ type: "function", function: { name: "f", description: "x", parameters: schema } }, { type: "other" }],
  tool_choice: { type: "function" },
  response_format: { type: "json_schema", json_schema: { name: "x", schema } },
  ...{ best_of: 2, service_tier: "auto", store: true, web_search_options: {}, search_parameters: {} },
  ...{ modalities: ["text"] },
  functions: [],
  ...{ reasoning_effort: "low", reasoning: { effort: "low" }, thinking: { type: "enabled" } },
  extra_body: { google: { thinking_config: { thinking_budget: 1 } } },
  ...identifiers,
  provider,
}

const completions: JsonObject = {
  ...{ model: "a/b", prompt: ["x", "y"] },
  ...sampling,
  ...{ max_tokens: 0, best_of: 3, suffix: "x", echo: true, logprobs: 2 },
  ...identifiers,
  ...streaming,
  provider,
}

const responses: JsonObject = {
  model: "a/b",
  input: [
    { role: "user", content: "x" },
    { type: "message", role: "assistant", content: [{ type: "output_text", text: "x" }, { type: "y" }] },
    { type: "function_call", call_id: "1", name: "f", arguments: "{}" },
    { type: "function_call_output", call_id: "1", output: "x" },
    { type: "reasoning" },
  ],
  ...{ instructions: "x", previous_response_id: "resp_1", store: true, include: ["x"] },
  ...{ temperature: 1, top_p: 0.5, max_output_tokens: 1, max_tool_calls: 1, parallel_tool_calls: true },
  reasoning: { effort: "low" },
  text: { format: { type: "json_schema", name: "x", schema } },
  tools: [{ type: "function", name: "f", parameters: schema }, { type: "web_search" }],
  tool_choice: "auto",
  ...{ stream: true, background: false, service_tier: "auto" },
  ...identifiers,
  provider,
}

const images: JsonObject = {
  ...{ model: "a/b", prompt: "x", n: 1, size: "x", quality: "x", response_format: "url" },
  ...{ output_format: "png", output_compression: 50, background: "x", user: "u", stream: false },
  provider,
}

const messagesCounted: JsonObject = {
  model: "a/b",
  messages: [
    { role: "user", content: "x" },
    {
      role: "assistant",
      content: [{ type: "text", text: "x" }, { type: "tool_use", id: "1", name: "f", input: {} }, { type: "y" }],
    },
    {
      role: "user",
      content: [
        { type: "tool_result", tool_use_id: "1", content: "x", is_error: false },
        { type: "image", source: { type: "base64", media_type: "image/png", data: "" } },
        { type: "document", source: { type: "url", url: "https://example.com" } },
      ],
    },
  ],
  system: [{ type: "text", text: "x" }],
  ...{ temperature: 1, top_p: 0.5, top_k: 0, stop_sequences: ["x"] },
  tools: [
    { name: "f", description: "x", input_schema: schema },
    { type: "web_search_1", name: "w" },
  ],
  tool_choice: { type: "tool", name: "f" },
  ...{ service_tier: "auto", speed: "standard", inference_geo: "global" },
  ...{ metadata: { user_id: "u" }, mcp_servers: [] },
  provider,
}

const part = { text: "x", inlineData: { mimeType: "image/png", data: "" } }
const content: JsonObject = {
  contents: [
    { role: "user", parts: [part] },
    { role: "model", parts: [{ functionCall: { name: "f" } }] },
    { role: "function", parts: [{ functionResponse: { name: "f" } }] },
  ],
  systemInstruction: { parts: [{ text: "x" }] },
  tools: [{ functionDeclarations: [{ name: "f", description: "x" }] }],
  generationConfig: {
    ...{ temperature: 1, topP: 0.5, topK: 1, maxOutputTokens: 1, candidateCount: 1, stopSequences: ["x"] },
  },
}
const generate: JsonObject = { ...content, serviceTier: "standard", provider }

const settings = { taskType: "x", title: "x", outputDimensionality: 1 }
const embedded: JsonObject = { content: { parts: [{ text: "x" }] }, ...settings, embedContentConfig: settings }

const ONE = Object.keys(embedded)
const WRAPPED = Object.keys(content)
const path = (method: string) => `models/a/b:${method}`

export const SAMPLES: readonly RequestSample[] = [
  { name: "chat", protocol: "openai-chat", does: "generate", body: chat, otherForm: LISTS },
  { name: "completions", protocol: "openai-completions", does: "generate", body: completions, otherForm: LISTS },
  { name: "responses", protocol: "openai-responses", does: "generate", body: responses, otherForm: LISTS },
  {
    name: "embeddings",
    protocol: "openai-embeddings",
    does: "generate",
    body: { model: "a/b", input: ["x"], dimensions: 1, encoding_format: "float", user: "u", provider },
    otherForm: LISTS,
  },
  {
    name: "images",
    protocol: "openai-images",
    does: "generate",
    body: images,
    otherForm: LISTS,
  },
  {
    name: "moderations",
    protocol: "openai-moderations",
    does: "generate",
    body: {
      model: "a/b",
      input: [
        { type: "text", text: "x" },
        { type: "image_url", image_url: { url: "x" } },
      ],
      provider,
    },
    otherForm: LISTS,
  },
  {
    name: "messages",
    protocol: "anthropic-messages",
    does: "generate",
    body: { ...messagesCounted, max_tokens: 1, stream: true },
    otherForm: LISTS,
  },
  {
    name: "messages, counted",
    protocol: "anthropic-messages",
    does: "count-tokens",
    body: messagesCounted,
    otherForm: LISTS,
  },
  {
    name: "generateContent",
    protocol: "gemini-generate",
    does: "generate",
    rest: path("generateContent"),
    body: generate,
    otherForm: LISTS,
  },
  {
    name: "countTokens",
    protocol: "gemini-generate",
    does: "count-tokens",
    rest: path("countTokens"),
    body: { generateContentRequest: content, serviceTier: "standard", provider },
    otherForm: [...WRAPPED, ...LISTS],
  },
  {
    name: "embedContent",
    protocol: "gemini-embed",
    does: "generate",
    rest: path("embedContent"),
    body: { ...embedded, provider },
    otherForm: ["requests", ...LISTS],
  },
  {
    name: "batchEmbedContents",
    protocol: "gemini-embed",
    does: "generate",
    rest: path("batchEmbedContents"),
    body: { requests: [embedded], provider },
    otherForm: [...ONE, ...LISTS],
  },
]
