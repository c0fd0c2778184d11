import { describe, expect, test } from "bun:test"
import type { ChatRequest } from "../../../../canonical/chat/chat-request.ts"
import { encloseSeal } from "../../../../canonical/chat/sealed-content.ts"
import type { Json, JsonObject } from "../../../../canonical/json.ts"
import { decoded } from "../codec.fixture.ts"
import { encloseCallSeal } from "../seals.ts"

const decodeWith = (more: JsonObject) => decoded({ model: "a/b", input: "hi", ...more })
const talk = (...input: Json[]) => decoded({ model: "a/b", input })

/** Turns as other protocols see them: without passthrough fields. */
function turnsOf({ turns }: ChatRequest): unknown {
  return turns.map(({ role, parts }) => [role, ...parts.map(({ extra: _, ...part }) => part)])
}

describe("the input", () => {
  test("input that is a string is a user turn", () => {
    expect(turnsOf(decodeWith({}))).toEqual([["user", { kind: "text", at: "input", text: "hi" }]])
  })

  test("each input item is a turn with its path", () => {
    const request = talk(
      { type: "message", role: "user", content: [{ type: "input_text", text: "a" }] },
      {
        role: "assistant",
        content: [
          { type: "output_text", text: "b", annotations: [] },
          { type: "refusal", refusal: "c" },
        ],
      },
      { role: "developer", content: "d" },
    )
    expect(turnsOf(request)).toEqual([
      ["user", { kind: "text", at: "input[0].content[0]", text: "a" }],
      [
        "assistant",
        { kind: "text", at: "input[1].content[0]", text: "b" },
        { kind: "refusal", at: "input[1].content[1]", text: "c" },
      ],
      ["instruction", { kind: "text", at: "input[2].content", text: "d" }],
    ])
    expect(request.turns.map(({ at }) => at)).toEqual(["input[0]", "input[1]", "input[2]"])
  })

  test("a developer message before the first turn is an instruction", () => {
    const { instructions, turns } = decoded({
      model: "a/b",
      instructions: "be kind",
      input: [
        {
          type: "message",
          id: "msg_1",
          role: "developer",
          content: [
            { type: "input_text", text: "a" },
            { type: "input_text", text: "b" },
          ],
        },
        { role: "system", content: "c" },
        { role: "user", content: "hi" },
      ],
    })
    expect(instructions.map((part) => [part.at, part.kind === "text" && part.text])).toEqual([
      ["instructions", "be kind"],
      ["input[0].content[0]", "a"],
      ["input[0].content[1]", "b"],
      ["input[1].content", "c"],
    ])
    expect(turns).toHaveLength(1)
  })

  test("images, files and audio are decoded", () => {
    const content = [
      { type: "input_image", image_url: "data:image/png;base64,AAAA", detail: "low" },
      { type: "input_image", image_url: "https://x/y.png" },
      { type: "input_file", filename: "a.pdf", file_data: "data:application/pdf;base64,JVBERi0=" },
      { type: "input_file", file_url: "https://x/y.pdf" },
      { type: "input_file", file_data: "JVBERi0=" },
      { type: "input_audio", input_audio: { data: "AAAA", format: "mp3" } },
      { type: "input_text", text: "x", prompt_cache_breakpoint: { mode: "explicit" } },
    ]
    expect(turnsOf(talk({ role: "user", content }))).toMatchObject([
      [
        "user",
        { media: "image", source: { at: "inline", mediaType: "image/png", base64: "AAAA" }, detail: "low" },
        { media: "image", source: { at: "url", url: "https://x/y.png" } },
        {
          media: "document",
          name: "a.pdf",
          source: { at: "inline", mediaType: "application/pdf", base64: "JVBERi0=" },
        },
        { media: "document", source: { at: "url", url: "https://x/y.pdf" } },
        { media: "document", source: { at: "inline", mediaType: "application/pdf", base64: "JVBERi0=" } },
        { media: "audio", source: { at: "inline", mediaType: "audio/mpeg", base64: "AAAA" } },
        { kind: "text", text: "x", cacheMark: {} },
      ],
    ])
  })
})

describe("calls and results", () => {
  test("calls of functions, of namespaced tools, of tools with text input, and of the shell are decoded", () => {
    const request = talk(
      { type: "function_call", id: "fc_1", call_id: "1", name: "f", arguments: "{}", status: "completed" },
      { type: "function_call", call_id: "2", name: "open", namespace: "agents", arguments: "{}" },
      { type: "custom_tool_call", call_id: "3", name: "patch", input: "*** Begin" },
      {
        type: "local_shell_call",
        id: "l",
        call_id: "4",
        status: "completed",
        action: { type: "exec", command: ["ls"], env: {} },
      },
    )
    const call = { kind: "tool-call", runsAt: "client" }
    expect(turnsOf(request)).toEqual([
      ["assistant", { ...call, at: "input[0]", id: "1", name: "f", arguments: "{}" }],
      ["assistant", { ...call, at: "input[1]", id: "2", name: "agents__open", arguments: "{}" }],
      ["assistant", { ...call, at: "input[2]", id: "3", name: "patch", arguments: "*** Begin", input: "text" }],
      [
        "assistant",
        { ...call, at: "input[3]", id: "4", name: "local_shell", arguments: '{"command":["ls"],"env":{}}' },
      ],
    ])
  })

  test("calls and their results are decoded", () => {
    const request = talk(
      { type: "function_call_output", call_id: "1", output: "r" },
      {
        type: "function_call_output",
        call_id: "2",
        output: [
          { type: "input_text", text: "r" },
          { type: "input_image", image_url: "https://x" },
        ],
      },
      { type: "custom_tool_call_output", call_id: "3", output: "ok" },
      { type: "local_shell_call_output", id: "4", output: "{}" },
    )
    const result = { kind: "tool-result", isError: false }
    expect(turnsOf(request)).toEqual([
      ["user", { ...result, at: "input[0]", callId: "1", parts: [{ kind: "text", at: "input[0].output", text: "r" }] }],
      [
        "user",
        {
          ...result,
          at: "input[1]",
          callId: "2",
          parts: [
            { kind: "text", at: "input[1].output[0]", text: "r" },
            { kind: "media", at: "input[1].output[1]", media: "image", source: { at: "url", url: "https://x" } },
          ],
        },
      ],
      [
        "user",
        { ...result, at: "input[2]", callId: "3", parts: [{ kind: "text", at: "input[2].output", text: "ok" }] },
      ],
      [
        "user",
        { ...result, at: "input[3]", callId: "4", parts: [{ kind: "text", at: "input[3].output", text: "{}" }] },
      ],
    ])
  })

  test("calls of the vendor's own tools are foreign parts", () => {
    const item = { type: "web_search_call", id: "ws_1", status: "completed" }
    expect(turnsOf(talk(item))).toEqual([
      ["assistant", { kind: "foreign", at: "input[0]", protocol: "openai-responses", value: item }],
    ])
  })
})

describe("reasoning", () => {
  const summary = [
    { type: "summary_text", text: "a" },
    { type: "summary_text", text: "b" },
  ]

  test("reasoning is decoded with its visible text and its seal", () => {
    const [turn] = talk({ type: "reasoning", id: "rs_1", summary, encrypted_content: "enc" }).turns
    expect(turn?.parts[0]).toMatchObject({
      kind: "reasoning",
      form: "summary",
      text: "a\n\nb",
      sealed: { mintedBy: "openai-responses" },
    })
    const [full] = talk({
      type: "reasoning",
      id: "rs_1",
      summary: [],
      content: [{ type: "reasoning_text", text: "x" }],
    }).turns
    expect(full?.parts[0]).toMatchObject({ form: "full", text: "x" })
    const [hidden] = talk({ type: "reasoning", id: "rs_1", summary: [], encrypted_content: "enc" }).turns
    expect(hidden?.parts[0]).toMatchObject({ form: "hidden", text: "" })
  })

  test("reasoning sealed by another provider keeps its minter", () => {
    const sealed = { mintedBy: "anthropic", data: "sig" }
    const [turn] = talk({ type: "reasoning", id: "rs_1", summary, encrypted_content: encloseSeal(sealed) }).turns
    expect(turn?.parts).toEqual([{ kind: "reasoning", at: "input[0]", form: "summary", text: "a\n\nb", sealed }])
  })

  test("reasoning that holds only a call's seal is attached to that call", () => {
    const sealed = { mintedBy: "google", data: "sig" }
    const request = talk(
      { type: "function_call", call_id: "1", name: "f", arguments: "{}" },
      { type: "reasoning", id: "rs_1", summary: [], encrypted_content: encloseCallSeal("1", sealed) },
      { type: "function_call_output", call_id: "1", output: "r" },
    )
    expect(request.turns.map(({ parts }) => parts[0]?.kind)).toEqual(["tool-call", "tool-result"])
    expect(request.turns[0]?.parts[0]).toMatchObject({ id: "1", sealed })
  })
})

describe("tools", () => {
  const agents = {
    type: "namespace",
    name: "agents",
    description: "Helpers.",
    tools: [
      { type: "function", name: "open", description: "d", parameters: { type: "object" }, strict: false },
      { type: "custom", name: "say" },
    ],
  }
  const search = { type: "web_search", external_web_access: false }
  const request = decodeWith({
    tools: [
      { type: "function", name: "f", parameters: {}, strict: true },
      { type: "custom", name: "patch", format: { type: "text" } },
      agents,
      { type: "local_shell" },
      search,
    ],
    tool_choice: {
      type: "allowed_tools",
      mode: "required",
      tools: [{ type: "function", name: "open", namespace: "agents" }, { type: "web_search" }],
    },
  })

  test("functions, tools with text input and hosted tools are decoded", () => {
    expect(request.tools).toMatchObject([
      { kind: "function", at: "tools[0]", name: "f", parameters: {}, strict: true },
      { kind: "custom", at: "tools[1]", name: "patch", format: { type: "text" } },
      { kind: "function", at: "tools[2].tools[0]", name: "agents__open", description: "d", strict: false },
      { kind: "custom", at: "tools[2].tools[1]", name: "agents__say" },
      { kind: "function", at: "tools[3]", name: "local_shell", parameters: { required: ["command"] } },
      { kind: "hosted", at: "tools[4]", name: "web_search", purpose: "web-search", value: search },
    ])
  })

  test("the first tool of a namespace carries the namespace's members, so that dropping them is reported", () => {
    expect(request.tools.map(({ extra }) => extra?.members ?? {})).toEqual([
      {},
      {},
      { "namespace.description": "Helpers." },
      {},
      {},
      {},
    ])
  })

  test("tool choices are decoded by name", () => {
    expect(request.toolChoice).toEqual({ mode: "some", names: ["agents__open", "web_search"], required: true })
    expect(decodeWith({ tool_choice: "required" }).toolChoice).toEqual({ mode: "required" })
    expect(decodeWith({ tool_choice: { type: "function", name: "f" } }).toolChoice).toEqual({ mode: "tool", name: "f" })
  })
})

test("settings are decoded, and other members pass through", () => {
  const request = decodeWith({
    max_output_tokens: 5,
    temperature: 0,
    top_p: 1,
    top_logprobs: 3,
    include: ["message.output_text.logprobs", "reasoning.encrypted_content"],
    text: { format: { type: "json_schema", name: "s", schema: { type: "object" }, strict: true }, verbosity: "low" },
    reasoning: { effort: "high", summary: "auto" },
    parallel_tool_calls: false,
    prompt_cache_key: "k",
    user: "u",
    store: true,
    truncation: "disabled",
    metadata: { a: "b" },
    client_metadata: { x: "y" },
    provider: { fallback: ["c/d"] },
    stream: true,
  })
  expect(request.settings).toEqual({
    maxOutputTokens: 5,
    temperature: 0,
    topP: 1,
    logprobs: 3,
    format: { kind: "schema", name: "s", schema: { type: "object" }, strict: true },
    reasoning: { effort: "high", show: "summary" },
    parallelToolCalls: false,
    verbosity: "low",
    cacheKey: "k",
    endUser: "u",
  })
  expect(request).toMatchObject({ model: "a/b", stream: true, routing: { fallback: ["c/d"] } })
  expect(request.extra).toMatchObject({
    protocol: "openai-responses",
    members: { metadata: { a: "b" }, client_metadata: { x: "y" } },
  })
  expect(Object.keys(request.extra?.members ?? {})).toEqual(["metadata", "client_metadata"])
})
