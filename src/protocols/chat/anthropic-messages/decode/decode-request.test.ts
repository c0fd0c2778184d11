import { describe, expect, test } from "bun:test"
import { encloseSeal } from "../../../../canonical/chat/sealed-content.ts"
import { decoded, rich } from "../codec.fixture.ts"
import { encloseCallSeal } from "../seals.ts"

const plain = { model: "a/b", max_tokens: 9, messages: [{ role: "user", content: "hi" }] }
const decodeOne = (...content: object[]) => decoded({ ...plain, messages: [{ role: "user", content }] }).turns[0]?.parts

test("a plain request is decoded", () => {
  expect(decoded({ ...plain, stream: true, provider: { routing: "cost", fallback: ["c/d"] } })).toEqual({
    model: "a/b",
    instructions: [],
    turns: [{ at: "messages[0]", role: "user", parts: [{ kind: "text", at: "messages[0].content", text: "hi" }] }],
    tools: [],
    settings: { maxOutputTokens: 9 },
    stream: true,
    routing: { strategy: "cost", fallback: ["c/d"] },
    extra: { protocol: "anthropic-messages", members: {} },
  })
})

test("members without a canonical counterpart pass through", () => {
  expect(decoded(rich).extra?.members).toEqual({
    output_config: { task_budget: { total: 1 } },
    metadata: { other: 1 },
    context_management: { edits: [] },
    cache_control: { type: "ephemeral" },
    service_tier: "auto",
    tomorrow: { a: [1] },
  })
})

test("every setting is decoded", () => {
  expect(decoded(rich).settings).toEqual({
    maxOutputTokens: 3000,
    temperature: 1,
    topP: 0.99,
    topK: 5,
    stop: ["x", "\n"],
    format: { kind: "schema", schema: { type: "object" } },
    reasoning: { budgetTokens: 2000, show: "summary", effort: "high" },
    parallelToolCalls: false,
    endUser: "u",
  })
})

describe("reasoning settings", () => {
  const cases: [object, object | undefined][] = [
    [{}, undefined],
    [{ thinking: { type: "disabled" } }, { effort: "none" }],
    [{ thinking: { type: "adaptive" } }, { show: "full" }],
    [{ thinking: { type: "adaptive", display: "omitted" } }, { show: "hidden" }],
    [{ thinking: { type: "enabled", budget_tokens: 2048 } }, { budgetTokens: 2048, show: "full" }],
    [{ output_config: { effort: "low" } }, { effort: "low" }],
    [{ thinking: { type: "disabled" }, output_config: { effort: "low" } }, { effort: "none" }],
    [{ thinking: { type: "between_tools" } }, undefined],
  ]
  for (const [members, expected] of cases) {
    test(`the settings ${JSON.stringify(members)} are decoded`, () => {
      const { reasoning } = decoded({ ...plain, ...members }).settings
      expect(reasoning as object | undefined).toEqual(expected)
    })
  }
})

test("instructions keep their cache marks and their position among the turns", () => {
  const { instructions, turns } = decoded(rich)
  expect(instructions).toEqual([
    { kind: "text", at: "system[0]", text: "be kind", cacheMark: {} },
    { kind: "text", at: "system[1]", text: "be brief", cacheMark: { ttl: "1h" } },
  ])
  expect(turns[5]).toEqual({
    at: "messages[5]",
    role: "instruction",
    parts: [{ kind: "text", at: "messages[5].content[0]", text: "now shout" }],
  })
})

describe("content blocks", () => {
  const at = "messages[0].content[0]"
  const extra = (members: object) => ({ protocol: "anthropic-messages", members })
  const cases: [string, object, object][] = [
    [
      "an image",
      { type: "image", source: { type: "base64", media_type: "image/png", data: "AA==" } },
      { kind: "media", at, media: "image", source: { at: "inline", mediaType: "image/png", base64: "AA==" } },
    ],
    [
      "a document with a title",
      { type: "document", title: "T", citations: { enabled: true }, source: { type: "url", url: "https://a" } },
      {
        kind: "media",
        at,
        media: "document",
        name: "T",
        source: { at: "url", url: "https://a" },
        extra: extra({ citations: { enabled: true } }),
      },
    ],
    [
      "a text document",
      { type: "document", source: { type: "text", media_type: "text/plain", data: "x" } },
      { kind: "media", at, media: "document", source: { at: "text", mediaType: "text/plain", text: "x" } },
    ],
    [
      "a call",
      { type: "tool_use", id: "i", name: "n", input: { a: 1 }, caller: { type: "direct" } },
      { kind: "tool-call", at, id: "i", name: "n", arguments: '{"a":1}', runsAt: "client" },
    ],
    [
      "a call that the provider ran",
      { type: "server_tool_use", id: "i", name: "web_search", input: {} },
      { kind: "tool-call", at, id: "i", name: "web_search", arguments: "{}", runsAt: "provider" },
    ],
    [
      "the result of a call that the provider ran",
      { type: "web_search_tool_result", tool_use_id: "i", content: [{ url: "u" }] },
      {
        kind: "tool-result",
        at,
        callId: "i",
        name: "web_search",
        isError: false,
        parts: [{ kind: "foreign", protocol: "anthropic-messages", value: [{ url: "u" }] }],
      },
    ],
    [
      "a failed result with an image",
      {
        type: "tool_result",
        tool_use_id: "i",
        is_error: true,
        content: [{ type: "image", source: { type: "url", url: "https://a" } }],
      },
      {
        kind: "tool-result",
        at,
        callId: "i",
        isError: true,
        parts: [{ kind: "media", at: `${at}.content[0]`, media: "image", source: { at: "url", url: "https://a" } }],
      },
    ],
    [
      "a thinking block",
      { type: "thinking", thinking: "hm", signature: "s" },
      { kind: "reasoning", at, form: "full", text: "hm", sealed: { mintedBy: "anthropic-messages", data: "s" } },
    ],
    [
      "a thinking block with another minter's seal",
      { type: "thinking", thinking: "hm", signature: encloseSeal({ mintedBy: "google", data: "s" }) },
      { kind: "reasoning", at, form: "full", text: "hm", sealed: { mintedBy: "google", data: "s" } },
    ],
    [
      "a redacted block with another minter's seal",
      { type: "redacted_thinking", data: encloseSeal({ mintedBy: "openai", data: "s" }) },
      { kind: "reasoning", at, form: "hidden", text: "", sealed: { mintedBy: "openai", data: "s" } },
    ],
    [
      "an unknown block",
      { type: "tomorrow", x: 1 },
      { kind: "foreign", at, protocol: "anthropic-messages", value: { type: "tomorrow", x: 1 } },
    ],
  ]
  for (const [name, block, expected] of cases) {
    test(`${name} is decoded`, () => expect(decodeOne(block)?.[0] as object).toEqual(expected))
  }

  test("the seal of a call is put back on the call", () => {
    const sealed = { mintedBy: "google", data: "s" }
    expect(
      decodeOne(
        { type: "tool_use", id: "i", name: "n", input: {} },
        { type: "redacted_thinking", data: encloseCallSeal("i", sealed) },
        { type: "text", text: "x" },
      ) as object[],
    ).toEqual([
      { kind: "tool-call", at, id: "i", name: "n", arguments: "{}", runsAt: "client", sealed },
      { kind: "text", at: "messages[0].content[2]", text: "x" },
    ])
  })
})

test("tools are decoded: the caller's own, and the vendor's by kind", () => {
  const { tools, toolChoice } = decoded(rich)
  expect(tools.map((tool) => (tool.kind === "hosted" ? `${tool.name} ${tool.purpose}` : tool.name))).toEqual([
    "f",
    "g",
    "web_search web-search",
    "computer computer",
    "mcp_toolset mcp",
  ])
  expect(tools[0]).toEqual({
    kind: "function",
    at: "tools[0]",
    name: "f",
    description: "d",
    parameters: { type: "object", minProperties: 1 },
    strict: true,
    extra: { protocol: "anthropic-messages", members: { defer_loading: true } },
  })
  expect(toolChoice).toEqual({ mode: "tool", name: "f" })
})
