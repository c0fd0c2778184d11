// L1: decoded and encoded to the same protocol, a request is the same, whatever is in it.
import { describe, expect, test } from "bun:test"
import fc from "fast-check"
import { recordings, sampleSize } from "../../../../test/recordings/recorded.ts"
import { GatewayError } from "../../../canonical/gateway-error.ts"
import type { Json, JsonObject } from "../../../canonical/json.ts"
import { decoded, roundTrip, upstreamContext, withoutNulls } from "./codec.fixture.ts"
import { openaiResponsesCodec } from "./codec.ts"
import { readRequest } from "./read-request.ts"

const hi = { role: "user", content: "hi" }
const bodyWith = (more: JsonObject): JsonObject => ({ model: "a/b", input: "hi", ...more })
const talk = (...input: Json[]): JsonObject => ({ model: "a/b", input })
const text = (value: string): JsonObject => ({ type: "input_text", text: value })
const f = { type: "function", name: "f", parameters: { type: "object" }, strict: false }
const patch = {
  type: "custom",
  name: "patch",
  description: "d",
  format: { type: "grammar", syntax: "lark", definition: "x" },
}
const agents = {
  type: "namespace",
  name: "agents",
  description: "Helpers.",
  tools: [
    { type: "function", name: "open", description: "d", parameters: {}, strict: false },
    { type: "custom", name: "say", defer_loading: true },
  ],
}

const cases: [string, JsonObject][] = [
  ["the least members", bodyWith({})],
  ["nothing", bodyWith({ input: "" })],
  ["no items", bodyWith({ input: [] })],
  ["instructions", bodyWith({ instructions: "be kind" })],
  [
    "an agent's instructions",
    talk(
      { type: "message", id: "msg_1", role: "developer", content: [text("a")] },
      { type: "message", id: "msg_2", role: "developer", content: [text("b"), text("c")], later: 1 },
      { role: "system", content: "d" },
      hi,
      { role: "developer", content: "now" },
    ),
  ],
  ["both kinds of instructions", { ...talk({ role: "system", content: "d" }, hi), instructions: "be kind" }],
  ["an empty instruction", talk({ role: "system", content: "" }, hi)],
  [
    "content in every form",
    talk({ role: "user", content: "" }, { role: "user", content: [] }, { role: "user", content: [text("a")] }),
  ],
  ["unknown members", { ...talk({ ...hi, x: 1 }), zzz: { a: [1] }, "a.b": 1 }],
  [
    "unknown blocks",
    talk({ role: "user", content: [{ type: "hologram", depth: 3 }, text("a")] }, { type: "tomorrow", x: [1] }),
  ],
  [
    "media",
    talk({
      role: "user",
      content: [
        { type: "input_image", image_url: "https://x/y.png", detail: "low" },
        { type: "input_image", image_url: "data:image/png;base64,AAAA" },
        { type: "input_image", file_id: "file-1", detail: "auto" },
        { type: "input_file", filename: "a.pdf", file_data: "data:application/pdf;base64,JVBERi0=" },
        { type: "input_file", file_data: "JVBERi0=" },
        { type: "input_file", file_url: "https://x/y.pdf", detail: "high" },
        { type: "input_file", file_id: "file-1" },
        { type: "input_audio", input_audio: { data: "AAAA", format: "mp3", x: 1 } },
        { type: "input_video", video_url: "https://x/y.mp4" },
        { type: "input_text", text: "", prompt_cache_breakpoint: { mode: "explicit" } },
        { type: "input_text", text: "x", prompt_cache_breakpoint: { mode: "later" } },
      ],
    }),
  ],
  [
    "an assistant's messages",
    talk(
      hi,
      {
        type: "message",
        id: "msg_3",
        role: "assistant",
        status: "completed",
        phase: "commentary",
        content: [
          {
            type: "output_text",
            text: "a",
            annotations: [{ type: "url_citation", url: "u", title: "t", start_index: 0, end_index: 1 }],
            logprobs: [],
          },
          { type: "output_text", text: "b" },
          { type: "refusal", refusal: "no" },
          { type: "input_text", text: "odd" },
        ],
      },
      { role: "assistant", content: "c" },
    ),
  ],
  [
    "calls and their results in any order",
    talk(
      hi,
      { type: "function_call", id: "fc_1", call_id: "1", name: "f", arguments: "{}", status: "completed" },
      {
        type: "function_call",
        call_id: "2",
        name: "open",
        namespace: "agents",
        arguments: "{",
        caller: { type: "direct" },
      },
      hi,
      { type: "function_call_output", call_id: "1", output: "r", id: "fco_1", status: "completed" },
      {
        type: "function_call_output",
        call_id: "2",
        output: [text("r"), { type: "input_image", image_url: "https://x", detail: "auto" }],
      },
      { type: "function_call_output", call_id: "3", output: "" },
      { type: "custom_tool_call", id: "ctc_1", call_id: "4", name: "patch", input: "x" },
      { type: "custom_tool_call_output", call_id: "4", output: "ok" },
      {
        type: "local_shell_call",
        id: "lsh_1",
        call_id: "5",
        status: "completed",
        action: { type: "exec", command: ["ls"], env: {} },
      },
      { type: "local_shell_call_output", id: "5", output: "{}" },
      { type: "local_shell_call_output", id: "x", call_id: "5", output: "{}" },
    ),
  ],
  [
    "reasoning in every form",
    talk(
      { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "enc" },
      {
        type: "reasoning",
        id: "rs_2",
        summary: [
          { type: "summary_text", text: "a" },
          { type: "summary_text", text: "b" },
        ],
        status: "completed",
      },
      {
        type: "reasoning",
        id: "rs_3",
        summary: [{ type: "summary_text", text: "a" }],
        content: [{ type: "reasoning_text", text: "b" }],
        encrypted_content: "enc",
      },
      { type: "reasoning", summary: [] },
    ),
  ],
  [
    "items of the vendor's own tools",
    talk(
      { type: "web_search_call", id: "ws_1", status: "completed", action: { type: "search", query: "q" } },
      { type: "computer_call_output", call_id: "c", output: { type: "computer_screenshot", image_url: "data:," } },
      { type: "compaction", encrypted_content: "x" },
    ),
  ],
  [
    "tools",
    bodyWith({
      tools: [
        f,
        { ...f, name: "g", description: "", later: 1 },
        patch,
        agents,
        { type: "local_shell" },
        { type: "web_search", external_web_access: false },
        { type: "mcp", server_label: "s", server_url: "u" },
      ],
    }),
  ],
  [
    "several namespaces of tools",
    bodyWith({ tools: [agents, { ...agents, name: "others" }, f, { type: "namespace", name: "none", tools: [] }] }),
  ],
  ["an empty list of tools", bodyWith({ tools: [], tool_choice: "none" })],
  ...choices(),
  [
    "settings",
    bodyWith({
      max_output_tokens: 5,
      temperature: 0,
      top_p: 1,
      frequency_penalty: 1,
      presence_penalty: -1,
      top_logprobs: 3,
      include: ["message.output_text.logprobs", "reasoning.encrypted_content", "web_search_call.action.sources"],
      text: {
        format: { type: "json_schema", name: "s", description: "d", schema: { type: "object" }, strict: true },
        verbosity: "low",
        later: 1,
      },
      reasoning: { effort: "xhigh", summary: "detailed", context: "auto" },
      parallel_tool_calls: false,
      prompt_cache_key: "k",
      safety_identifier: "u",
      user: "v",
      metadata: { a: "b" },
      truncation: "auto",
      max_tool_calls: 3,
      service_tier: "auto",
      background: false,
      store: false,
      client_metadata: { x: "y" },
    }),
  ],
  [
    "the alternative member names",
    bodyWith({
      user: "u",
      truncation: "disabled",
      service_tier: "default",
      stream: false,
      top_logprobs: 0,
      include: [],
    }),
  ],
  ["empty settings", bodyWith({ text: {}, reasoning: {}, include: ["message.output_text.logprobs"] })],
  ["formats", bodyWith({ text: { format: { type: "json_object" } } })],
  [
    "unknown values",
    bodyWith({
      reasoning: { effort: "heroic" },
      text: { verbosity: "chatty", format: { type: "xml" } },
      tool_choice: "any",
      include: [1],
    }),
  ],
  ["streams", bodyWith({ stream: true, stream_options: { include_obfuscation: false } })],
]

function choices(): [string, JsonObject][] {
  const tools = [f, patch, agents, { type: "local_shell" }, { type: "web_search" }]
  const named = [
    { type: "function", name: "f" },
    { type: "custom", name: "patch" },
    { type: "function", name: "open", namespace: "agents" },
    { type: "web_search" },
    { type: "local_shell" },
  ]
  const odd = [
    { type: "custom", name: "f" },
    { type: "mcp", server_label: "s" },
    { type: "function", name: "nobody" },
  ]
  const some = { type: "allowed_tools", mode: "required", tools: named }
  return ["auto", "required", ...named, ...odd, some, { ...some, mode: "never" }].map((tool_choice) => [
    `choice ${JSON.stringify(tool_choice)}`,
    bodyWith({ tools, tool_choice }),
  ])
}

test.each(cases)("a request with %s stays the same in its own protocol", (_, body) => {
  expect(roundTrip(body)).toEqual(withoutNulls(body) as JsonObject)
})

test("the input comes last, so that a longer conversation begins with the bytes of the shorter one", () => {
  for (const [, body] of cases) {
    const { input } = body
    if (!Array.isArray(input) || input.length < 2) continue
    const short = JSON.stringify(roundTrip({ ...body, input: input.slice(0, -1) }))
    expect(JSON.stringify(roundTrip(body))).toStartWith(short.slice(0, -2))
  }
})

test("any valid request stays the same in its own protocol", () => {
  const part = fc.oneof(
    fc.record({ type: fc.constantFrom("input_text", "output_text"), text: fc.string(), x: fc.jsonValue() }),
    fc
      .record({ type: fc.constantFrom("input_image", "input_file", "refusal", "input_audio"), value: fc.jsonValue() })
      .map(({ type, value }) => ({
        type,
        image_url: "https://x",
        file_data: "AAAA",
        refusal: value,
        input_audio: value,
      })),
  )
  const content = fc.oneof(fc.string(), fc.array(part))
  const item = fc.oneof(
    fc.record({ role: fc.constantFrom("system", "developer", "user", "assistant"), content, zz: fc.jsonValue() }),
    fc.record({
      type: fc.constant("function_call"),
      call_id: fc.constant("c"),
      name: fc.constant("f"),
      arguments: fc.string(),
      id: fc.jsonValue(),
    }),
    fc.record({
      type: fc.constantFrom("function_call_output", "custom_tool_call_output", "local_shell_call_output"),
      call_id: fc.constant("c"),
      output: fc.oneof(content, fc.jsonValue()),
    }),
    fc.record({
      type: fc.constant("reasoning"),
      summary: fc.jsonValue(),
      content: fc.jsonValue(),
      encrypted_content: fc.jsonValue(),
    }),
    fc.record({
      type: fc.constantFrom("custom_tool_call", "local_shell_call", "x_call"),
      call_id: fc.jsonValue(),
      action: fc.jsonValue(),
    }),
  )
  const odd = fc.jsonValue()
  const body = fc.record(
    {
      model: fc.constant("a/b"),
      input: fc.oneof(fc.string(), fc.array(item)),
      zz: odd,
      top_logprobs: odd,
      user: odd,
      metadata: odd,
      reasoning: fc.record({ effort: fc.string(), summary: odd }),
    },
    { requiredKeys: ["model", "input"] },
  )
  fc.assert(
    fc.property(body, (generated) => {
      const sound = JSON.parse(JSON.stringify(generated)) as JsonObject
      if (!isSound(sound)) return
      expect(withoutNulls(roundTrip(sound))).toEqual(withoutNulls(sound))
    }),
    { numRuns: 300 },
  )
})

function isSound(body: JsonObject): boolean {
  try {
    readRequest(body)
    return true
  } catch {
    return false
  }
}

test("an invalid request throws nothing but a GatewayError", () => {
  const names = fc.constantFrom(
    "model",
    "input",
    "instructions",
    "tools",
    "tool_choice",
    "text",
    "reasoning",
    "include",
    "provider",
    "metadata",
  )
  fc.assert(
    fc.property(fc.dictionary(names, fc.jsonValue()), (body) => {
      try {
        openaiResponsesCodec.upstream.encodeRequest(decoded(body), upstreamContext())
      } catch (error) {
        expect(error).toBeInstanceOf(GatewayError)
      }
    }),
  )
})

describe("recorded exchanges", () => {
  test("every recorded request stays the same in its own protocol", () => {
    const bodies = recordings("responses").flatMap(({ source, request }) => {
      // OpenRouter's `provider` object differs from the gateway's.
      const { provider: _, ...body } = request?.body ?? {}
      return body.input === undefined ? [] : [{ source, body }]
    })
    expect(bodies.length).toBeGreaterThanOrEqual(sampleSize(100))
    for (const { source, body } of bodies) {
      expect({ source, body: withoutNulls(roundTrip(body)) }).toEqual({ source, body: withoutNulls(body) })
    }
  })
})
