// L1: decoded and encoded to the same protocol, a request is the same, whatever is in it.
import { describe, expect, test } from "bun:test"
import fc from "fast-check"
import { recordings, sampleSize } from "../../../../test/recordings/recorded.ts"
import { GatewayError } from "../../../canonical/gateway-error.ts"
import type { Json, JsonObject } from "../../../canonical/json.ts"
import { ENVELOPE, roundTrip, withoutNulls } from "./codec.fixture.ts"
import { openaiChatCodec } from "./codec.ts"
import { readRequest } from "./read-request.ts"

const hi = { role: "user", content: "hi" }
const bodyWith = (more: JsonObject): JsonObject => ({ model: "a/b", messages: [hi], ...more })
const talk = (...messages: Json[]): JsonObject => ({ model: "a/b", messages })
const pdf = "data:application/pdf;base64,JVBERi0="

const cases: [string, JsonObject][] = [
  ["the least members", bodyWith({})],
  ["both roles for instructions", talk({ role: "developer", content: "a" }, { role: "system", content: "b" }, hi)],
  ["instructions in parts", talk({ role: "system", name: "n", content: [text("a"), text("b")] }, hi)],
  ["an empty instruction", talk({ role: "system", content: "" }, hi)],
  [
    "instructions among the turns",
    talk(hi, { role: "system", content: "now" }, { role: "developer", content: [text("x")] }),
  ],
  [
    "content in every form",
    talk({ role: "user", content: "" }, { role: "user", content: [] }, { role: "user", content: [text("a")] }),
  ],
  [
    "unknown members",
    bodyWith({ zzz: { a: [1] }, messages: [{ ...hi, name: "Ann", x: 1 }], logit_bias: { 50256: -100 } }),
  ],
  ["members with dots in their names", bodyWith({ "a.b": 1, "stream_options.x": 2 })],
  ["unknown blocks", talk({ role: "user", content: [{ type: "hologram", depth: 3 }, "odd", text("a")] })],
  [
    "media",
    talk({
      role: "user",
      content: [
        { type: "image_url", image_url: { url: "https://x/y.png", detail: "low", crop: 1 } },
        { type: "image_url", image_url: { url: "data:image/png;charset=x;base64,AAAA" } },
        { type: "image_url", image_url: { url: "data:,plain" } },
        { type: "input_audio", input_audio: { data: "AAAA", format: "mp3" } },
        { type: "input_audio", input_audio: { data: "https://x/y.wav", format: "wav" } },
        { type: "input_audio", input_audio: { data: "AAAA", format: "flac" } },
        { type: "file", file: { filename: "a.pdf", file_data: pdf } },
        { type: "file", file: { file_data: "JVBERi0=" } },
        { type: "file", file: { file_id: "file-1" } },
        { type: "video_url", video_url: { url: "https://x/y.mp4" } },
        { type: "text", text: "", prompt_cache_breakpoint: { mode: "explicit" } },
        { type: "text", text: "b", cache_control: { type: "ephemeral", ttl: "1h" } },
        { type: "text", text: "c", cache_control: { type: "ephemeral" } },
        { type: "text", text: "d", cache_control: { type: "ephemeral", ttl: "7d" } },
      ],
    }),
  ],
  [
    "calls and their results in any order",
    talk(
      hi,
      { role: "assistant", content: "Look:", tool_calls: [call("1", "f", "{}"), { ...call("2", "g", "{"), index: 1 }] },
      { role: "user", content: "wait" },
      { role: "tool", tool_call_id: "1", content: "r", name: "f" },
      { role: "tool", tool_call_id: "2", content: [text("r"), { type: "image_url", image_url: { url: "https://x" } }] },
      { role: "tool", tool_call_id: "3", content: "" },
    ),
  ],
  [
    "unusual calls",
    talk(
      { role: "assistant", tool_calls: [{ function: { name: "f" } }, { id: "1", type: "magic", magic: {} }] },
      { role: "assistant", content: "", tool_calls: [] },
      {
        role: "assistant",
        content: null,
        tool_calls: [{ id: "3", type: "custom", custom: { name: "c", input: "x" } }],
      },
      { role: "assistant", function_call: { name: "f", arguments: "{}" } },
      {
        role: "assistant",
        tool_calls: [{ ...call("4", "f", "{}"), extra_content: { google: { thought_signature: "s" } } }],
      },
    ),
  ],
  [
    "reasoning in every host's member",
    talk(
      { role: "assistant", content: "a", reasoning_content: "r" },
      { role: "assistant", content: "a", reasoning: "r" },
      { role: "assistant", content: "a", reasoning: "r", reasoning_content: "r" },
      { role: "assistant", content: "a", reasoning_content: "", tool_calls: [call("1", "f", "{}")] },
      {
        role: "assistant",
        content: "a",
        reasoning: "r",
        reasoning_details: [{ type: "reasoning.text", text: "r", signature: "s" }],
      },
      { role: "assistant", content: "a", reasoning_details: [{ type: "reasoning.encrypted", data: "x" }] },
      { role: "assistant", content: [{ type: "thinking", thinking: [text("r"), text("s")], closed: true }, text("a")] },
    ),
  ],
  [
    "refusals with other members",
    talk(
      { role: "assistant", content: [{ type: "refusal", refusal: "no" }] },
      { role: "assistant", content: "x", refusal: "no", annotations: [], audio: { id: "audio_1" } },
      { role: "assistant" },
    ),
  ],
  [
    "tools",
    bodyWith({
      tools: [
        {
          type: "function",
          function: { name: "f", description: "", parameters: { type: "object" }, strict: true, x: 1 },
        },
        { function: { name: "g" } },
        { type: "custom", custom: { name: "c", description: "d", format: { type: "grammar", grammar: {} } } },
        { type: "function", function: { name: "h" }, cache_control: { type: "ephemeral", ttl: "5m" } },
        { type: "openrouter:web_search", parameters: { max_uses: 1 } },
      ],
      tool_choice: { type: "custom", custom: { name: "c" } },
      parallel_tool_calls: false,
      web_search_options: { search_context_size: "low" },
    }),
  ],
  ["the older `functions`", bodyWith({ functions: [{ name: "f", parameters: {} }], function_call: { name: "f" } })],
  ["an empty list of tools", bodyWith({ tools: [], tool_choice: "none" })],
  ...choices(),
  [
    "settings",
    bodyWith({
      max_completion_tokens: 5,
      temperature: 0,
      top_p: 1,
      top_k: 3,
      frequency_penalty: -1,
      presence_penalty: 1,
      stop: ["a", "b", "c", "d", "e"],
      seed: 7,
      n: 2,
      logprobs: true,
      top_logprobs: 3,
      reasoning_effort: "xhigh",
      verbosity: "low",
      modalities: ["text", "image"],
      prompt_cache_key: "k",
      safety_identifier: "u",
      prediction: { type: "content", content: "x" },
      store: false,
      service_tier: "auto",
    }),
  ],
  ["the alternative member names", bodyWith({ max_tokens: 5, stop: "x", user: "u", logprobs: true, stream: false })],
  ["both member names at once", bodyWith({ max_completion_tokens: 6, user: "u", safety_identifier: "v" })],
  ["default values", bodyWith({ logprobs: false, top_logprobs: 0, response_format: { type: "text" } })],
  [
    "unknown values",
    bodyWith({ reasoning_effort: "heroic", verbosity: "chatty", modalities: ["smell"], tool_choice: "any" }),
  ],
  ["OpenRouter's reasoning", bodyWith({ reasoning: { effort: "high", max_tokens: 9, exclude: true } })],
  ["enabled reasoning without settings", bodyWith({ reasoning: { enabled: true } })],
  [
    "a schema",
    bodyWith({ response_format: format({ name: "s", description: "d", schema: { type: "object" }, strict: true }) }),
  ],
  ["a schema with only a name", bodyWith({ response_format: format({ name: "s" }) })],
  ["streams", bodyWith({ stream: true, stream_options: { include_usage: true, include_obfuscation: false } })],
  ["streams without usage", bodyWith({ stream: true, stream_options: { include_obfuscation: false } })],
]

function text(value: string): JsonObject {
  return { type: "text", text: value }
}

function call(id: string, name: string, args: string): JsonObject {
  return { id, type: "function", function: { name, arguments: args } }
}

function format(json_schema: JsonObject): JsonObject {
  return { type: "json_schema", json_schema }
}

function choices(): [string, JsonObject][] {
  const f = { type: "function", function: { name: "f" } }
  const tools = [{ type: "function", function: { name: "f" } }]
  const some = { type: "allowed_tools", allowed_tools: { mode: "required", tools: [f] } }
  return ["auto", "required", f, some].map((tool_choice) => [
    `choice ${JSON.stringify(tool_choice)}`,
    bodyWith({ tools, tool_choice }),
  ])
}

test.each(cases)("a request with %s stays the same in its own protocol", (_, body) => {
  expect(roundTrip(body)).toEqual(withoutNulls(body) as JsonObject)
})

test("messages come last, so that a longer conversation begins with the bytes of the shorter one", () => {
  for (const [, body] of cases) {
    const messages = body.messages as Json[]
    const short = JSON.stringify(roundTrip({ ...body, messages: messages.slice(0, -1) }))
    if (messages.length > 1) expect(JSON.stringify(roundTrip(body))).toStartWith(short.slice(0, -2))
  }
})

test("any valid request stays the same in its own protocol", () => {
  const content = fc.oneof(
    fc.string(),
    fc.array(fc.oneof(fc.record({ type: fc.constant("text"), text: fc.string(), x: fc.jsonValue() }), strange())),
  )
  const message = fc.oneof(
    fc.record({ role: fc.constantFrom("system", "developer", "user"), content }),
    fc.record({ role: fc.constant("tool"), content, tool_call_id: fc.string() }),
    fc.record(
      {
        role: fc.constant("assistant"),
        content,
        reasoning_content: fc.string(),
        refusal: fc.string(),
        zz: fc.jsonValue(),
      },
      { requiredKeys: ["role"] },
    ),
  )
  const body = fc.record(
    {
      model: fc.constant("a/b"),
      messages: fc.array(message, { minLength: 1 }),
      zz: fc.jsonValue(),
      seed: fc.jsonValue(),
      stop: fc.jsonValue(),
      user: fc.jsonValue(),
    },
    { requiredKeys: ["model", "messages"] },
  )
  fc.assert(
    fc.property(body, (generated) => {
      const sound = JSON.parse(JSON.stringify(generated)) as JsonObject
      if (!isSound(sound)) return
      expect(withoutNulls(roundTrip(sound))).toEqual(withoutNulls(sound))
    }),
  )
})

function strange() {
  return fc
    .record({ type: fc.constantFrom("image_url", "file", "thinking", "refusal", "input_audio"), value: fc.jsonValue() })
    .map(({ type, value }) => ({ type, [type]: type === "image_url" ? { url: "https://x", y: value } : value }))
}

function isSound(body: JsonObject): boolean {
  try {
    readRequest(body)
    return true
  } catch {
    return false
  }
}

test("an invalid request throws nothing but a GatewayError", () => {
  const odd = fc.dictionary(
    fc.constantFrom(
      "model",
      "messages",
      "tools",
      "functions",
      "tool_choice",
      "response_format",
      "stream_options",
      "provider",
      "reasoning",
      "web_search_options",
      "stop",
    ),
    fc.jsonValue(),
  )
  fc.assert(
    fc.property(odd, (body) => {
      try {
        openaiChatCodec.ingress.decodeRequest(body as JsonObject, ENVELOPE)
      } catch (error) {
        expect(error).toBeInstanceOf(GatewayError)
      }
    }),
  )
})

describe("recorded exchanges", () => {
  test("every recorded request stays the same in its own protocol", () => {
    const bodies = recordings("chat").flatMap(({ source, request }) => {
      // OpenRouter's `provider` object differs from the gateway's, and the gateway tries its `models` itself.
      const { provider: _, models: __, ...body } = request?.body ?? {}
      return Array.isArray(body.messages) ? [{ source, body }] : []
    })
    expect(bodies.length).toBeGreaterThanOrEqual(sampleSize(100))
    for (const { source, body } of bodies) {
      expect({ source, body: withoutNulls(roundTrip(body)) }).toEqual({ source, body: withoutNulls(body) })
    }
  })
})
