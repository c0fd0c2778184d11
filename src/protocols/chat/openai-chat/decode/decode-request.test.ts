// Decoding chat completions requests.
import { expect, test } from "bun:test"
import type { ChatRequest } from "../../../../canonical/chat/chat-request.ts"
import type { Json, JsonObject } from "../../../../canonical/json.ts"
import { ENVELOPE } from "../codec.fixture.ts"
import { openaiChatCodec } from "../codec.ts"

function decoded(body: JsonObject): ChatRequest {
  return openaiChatCodec.ingress.decodeRequest({ model: "a/b", messages: [], ...body }, ENVELOPE)
}

/** Removes what only this protocol needs. */
function bare(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value, (name, each) => (name === "extra" ? undefined : each)))
}

const message = (...messages: Json[]) => bare(decoded({ messages }).turns)

test("system messages before the conversation are instructions, later ones are turns", () => {
  const { instructions, turns } = decoded({
    messages: [
      { role: "developer", content: "Be brief." },
      {
        role: "system",
        content: [{ type: "text", text: "Be kind.", cache_control: { type: "ephemeral", ttl: "1h" } }],
      },
      { role: "user", content: "hi" },
      { role: "system", content: "Be loud." },
    ],
  })
  expect(bare(instructions)).toEqual([
    { kind: "text", at: "messages[0].content", text: "Be brief." },
    { kind: "text", at: "messages[1].content[0]", text: "Be kind.", cacheMark: { ttl: "1h" } },
  ])
  expect(bare(turns)).toEqual([
    { at: "messages[2]", role: "user", parts: [{ kind: "text", at: "messages[2].content", text: "hi" }] },
    { at: "messages[3]", role: "instruction", parts: [{ kind: "text", at: "messages[3].content", text: "Be loud." }] },
  ])
})

test("the form of a request is not reported as a loss in other protocols", () => {
  const { instructions, turns, extra } = decoded({
    messages: [
      { role: "developer", content: "Be brief." },
      { role: "user", content: [{ type: "text", text: "hi" }] },
    ],
    max_completion_tokens: 5,
    stop: "x",
    stream: false,
    user: "u",
    stream_options: { include_usage: true },
  })
  for (const each of [...instructions, ...turns, ...turns.flatMap(({ parts }) => parts), { extra }]) {
    expect(each.extra?.members ?? {}).toEqual({})
  }
})

test("members without a canonical counterpart are kept under their paths", () => {
  const { extra, turns } = decoded({
    messages: [
      { role: "user", name: "Ann", content: [{ type: "image_url", image_url: { url: "https://x", crop: 1 } }] },
    ],
    logit_bias: { 1: 2 },
    stream_options: { include_usage: true, include_obfuscation: false },
    response_format: { type: "json_schema", json_schema: { name: "s", schema: {}, description: "d" } },
  })
  expect(extra?.members).toEqual({
    logit_bias: { 1: 2 },
    "stream_options.include_obfuscation": false,
    "response_format.json_schema.description": "d",
  })
  expect(turns[0]?.extra?.members).toEqual({ name: "Ann" })
  expect(turns[0]?.parts[0]?.extra?.members).toEqual({ "image_url.crop": 1 })
})

const at = "messages[0].content[0]"
const parts: [JsonObject, object][] = [
  [
    { type: "text", text: "a" },
    { kind: "text", text: "a" },
  ],
  [
    { type: "image_url", image_url: { url: "https://x/y", detail: "low" } },
    { kind: "media", media: "image", source: { at: "url", url: "https://x/y" }, detail: "low" },
  ],
  [
    { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } },
    { kind: "media", media: "image", source: { at: "inline", mediaType: "image/png", base64: "AAAA" } },
  ],
  [
    { type: "input_audio", input_audio: { data: "AAAA", format: "mp3" } },
    { kind: "media", media: "audio", source: { at: "inline", mediaType: "audio/mpeg", base64: "AAAA" } },
  ],
  [
    { type: "file", file: { filename: "a.pdf", file_data: "data:application/pdf;base64,AAAA" } },
    {
      kind: "media",
      media: "document",
      source: { at: "inline", mediaType: "application/pdf", base64: "AAAA" },
      name: "a.pdf",
    },
  ],
  [
    { type: "file", file: { file_id: "file-1" } },
    { kind: "media", media: "document", source: { at: "stored", id: "file-1", mintedBy: "openai-chat" } },
  ],
  [{ type: "magic" }, { kind: "foreign", protocol: "openai-chat", value: { type: "magic" } }],
  [
    { type: "text", text: "a", prompt_cache_breakpoint: { mode: "explicit" } },
    { kind: "text", text: "a", cacheMark: {} },
  ],
]

test.each(parts)("the content part %j is decoded", (part, expected) => {
  expect(message({ role: "user", content: [part] })).toEqual([
    { at: "messages[0]", role: "user", parts: [{ ...expected, at }] },
  ])
})

test("an assistant turn has reasoning, text and calls; a tool's answer is a user turn", () => {
  const call = { id: "1", type: "function", function: { name: "f", arguments: "{" } }
  const custom = { id: "2", type: "custom", custom: { name: "c", input: "x" } }
  const assistantMessage = {
    role: "assistant",
    reasoning_content: "hm",
    content: "a",
    refusal: "no",
    tool_calls: [call, custom],
  }
  expect(message(assistantMessage, { role: "tool", tool_call_id: "1", content: "r" })).toEqual([
    {
      at: "messages[0]",
      role: "assistant",
      parts: [
        { kind: "reasoning", at: "messages[0].reasoning_content", form: "full", text: "hm" },
        { kind: "text", at: "messages[0].content", text: "a" },
        { kind: "refusal", at: "messages[0].refusal", text: "no" },
        { kind: "tool-call", at: "messages[0].tool_calls[0]", id: "1", name: "f", arguments: "{", runsAt: "client" },
        {
          kind: "tool-call",
          at: "messages[0].tool_calls[1]",
          id: "2",
          name: "c",
          arguments: "x",
          input: "text",
          runsAt: "client",
        },
      ],
    },
    {
      at: "messages[1]",
      role: "user",
      parts: [
        {
          kind: "tool-result",
          at: "messages[1]",
          callId: "1",
          parts: [{ kind: "text", at: "messages[1].content", text: "r" }],
          isError: false,
        },
      ],
    },
  ])
})

test("signed reasoning and signed calls get seals of this protocol", () => {
  const details = [
    { type: "reasoning.summary", summary: "s" },
    { type: "reasoning.encrypted", data: "x" },
  ]
  const call = { id: "1", type: "function", function: { name: "f", arguments: "{}" }, extra_content: { google: {} } }
  const [turn] = decoded({ messages: [{ role: "assistant", reasoning_details: details, tool_calls: [call] }] }).turns
  expect(turn?.parts[0]).toMatchObject({ form: "summary", text: "s", sealed: { mintedBy: "openai-chat" } })
  expect(turn?.parts[1]).toMatchObject({ kind: "tool-call", sealed: { mintedBy: "openai-chat" } })
})

test("every setting is decoded", () => {
  const { settings } = decoded({
    max_tokens: 1,
    temperature: 2,
    top_p: 0.5,
    top_k: 4,
    frequency_penalty: 1,
    presence_penalty: -1,
    stop: "x",
    seed: 8,
    n: 9,
    logprobs: true,
    top_logprobs: 2,
    response_format: { type: "json_schema", json_schema: { name: "s", schema: { type: "object" }, strict: true } },
    reasoning_effort: "minimal",
    parallel_tool_calls: false,
    verbosity: "high",
    modalities: ["text", "audio"],
    prompt_cache_key: "k",
    safety_identifier: "u",
  })
  expect(settings).toEqual({
    maxOutputTokens: 1,
    temperature: 2,
    topP: 0.5,
    topK: 4,
    frequencyPenalty: 1,
    presencePenalty: -1,
    stop: ["x"],
    seed: 8,
    candidates: 9,
    logprobs: 2,
    format: { kind: "schema", name: "s", schema: { type: "object" }, strict: true },
    reasoning: { effort: "minimal" },
    parallelToolCalls: false,
    verbosity: "high",
    modalities: ["text", "audio"],
    cacheKey: "k",
    endUser: "u",
  })
  expect(decoded({ reasoning: { max_tokens: 100, exclude: true } }).settings.reasoning).toEqual({
    budgetTokens: 100,
    show: "hidden",
  })
  expect(decoded({ logprobs: false, top_logprobs: null }).settings).toEqual({})
})

test("tools are decoded: functions, tools with text input, and hosted tools", () => {
  const { tools, toolChoice } = decoded({
    tools: [
      { type: "function", function: { name: "f", description: "d", parameters: { type: "object" }, strict: false } },
      { type: "custom", custom: { name: "c", format: { type: "text" } } },
      { type: "browser_search" },
    ],
    web_search_options: { search_context_size: "low" },
    tool_choice: {
      type: "allowed_tools",
      allowed_tools: { mode: "auto", tools: [{ type: "function", function: { name: "f" } }] },
    },
  })
  const hosted = { kind: "hosted", purpose: "web-search", protocol: "openai-chat" }
  expect(tools).toEqual([
    { kind: "function", at: "tools[0]", name: "f", description: "d", parameters: { type: "object" }, strict: false },
    { kind: "custom", at: "tools[1]", name: "c", format: { type: "text" } },
    { ...hosted, at: "tools[2]", name: "browser_search", value: { type: "browser_search" } },
    { ...hosted, at: "web_search_options", name: "web_search", value: { search_context_size: "low" } },
  ] as never)
  expect(toolChoice).toEqual({ mode: "some", names: ["f"], required: false })
})

test("the older `functions` are decoded as tools", () => {
  const { tools, toolChoice } = decoded({ functions: [{ name: "f" }], function_call: "auto" })
  expect(tools).toEqual([{ kind: "function", name: "f", at: "functions[0]" }])
  expect(toolChoice).toEqual({ mode: "auto" })
})

test("the routing extension is decoded and is not a passthrough field", () => {
  const { routing, extra } = decoded({ provider: { routing: "cost", fallback: ["c/d"] } })
  expect(routing).toEqual({ strategy: "cost", fallback: ["c/d"] })
  expect(extra?.members).toEqual({})
})
