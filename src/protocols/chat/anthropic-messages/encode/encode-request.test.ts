import { describe, expect, test } from "bun:test"
import type {
  ChatRequest,
  ChatSettings,
  ConversationTurn,
  ToolDefinition,
} from "../../../../canonical/chat/chat-request.ts"
import type { ContentPart } from "../../../../canonical/chat/content-part.ts"
import { GatewayError } from "../../../../canonical/gateway-error.ts"
import type { UpstreamRequestContext } from "../../../chat-codec.ts"
import { encoded, foreignRequest } from "../codec.fixture.ts"

const settled = (settings: ChatSettings, changes: Partial<UpstreamRequestContext> = {}) => {
  const { body, lost } = encoded(foreignRequest({ settings }), changes)
  const { model: _, messages: __, ...members } = body
  return { ...members, lost }
}

function refusal(changes: Partial<ChatRequest>): string {
  try {
    encoded(foreignRequest(changes))
    return "accepted"
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error
    return `${error.code} ${error.param}`
  }
}

describe("settings", () => {
  const usual = { max_tokens: 8192, lost: [] as string[] }
  const cases: [string, ChatSettings, object, Partial<UpstreamRequestContext>?][] = [
    ["none", {}, {}],
    ["an output limit", { maxOutputTokens: 50 }, { max_tokens: 50 }],
    ["an output limit above the model's", { maxOutputTokens: 9999 }, { lost: ["approximated maxOutputTokens (hint)"] }],
    ["a temperature", { temperature: 0.3 }, { temperature: 0.3 }],
    [
      "a temperature above the vendor's maximum",
      { temperature: 1.7 },
      { temperature: 1, lost: ["approximated temperature (meaning)"] },
    ],
    ["top p", { topP: 0.5 }, { top_p: 0.5 }],
    ["both", { topP: 0.5, temperature: 0.3 }, { temperature: 0.3, lost: ["dropped topP (hint)"] }],
    ["top k", { topK: 3 }, { top_k: 3 }],
    ["penalties of zero", { frequencyPenalty: 0, presencePenalty: 0 }, {}],
    ["penalties", { frequencyPenalty: 1 }, { lost: ["dropped frequencyPenalty (hint)"] }],
    ["a seed", { seed: 0 }, { lost: ["dropped seed (hint)"] }],
    ["verbosity", { verbosity: "low" }, { lost: ["dropped verbosity (hint)"] }],
    ["a cache key", { cacheKey: "k" }, { lost: ["dropped cacheKey (hint)"] }],
    ["stops", { stop: ["a", "\n"] }, { stop_sequences: ["a"], lost: ["dropped stop (meaning)"] }],
    ["the end user", { endUser: "u" }, { metadata: { user_id: "u" } }],
    ["one candidate with text output", { candidates: 1, modalities: ["text"] }, {}],
    ["text", { format: { kind: "text" } }, {}],
    [
      "JSON",
      { format: { kind: "json" } },
      {
        system: [{ type: "text", text: expect.stringContaining("JSON object") }],
        lost: ["approximated format (meaning)"],
      },
    ],
    ["disabled reasoning", { reasoning: { effort: "none" } }, { thinking: { type: "disabled" } }],
    [
      "effort",
      { reasoning: { effort: "high" } },
      { thinking: { type: "adaptive" }, output_config: { effort: "high" } },
    ],
    [
      "an effort below the model's lowest",
      { reasoning: { effort: "minimal", show: "summary" } },
      {
        thinking: { type: "adaptive", display: "summarized" },
        output_config: { effort: "low" },
        lost: ["approximated reasoning.effort (hint)"],
      },
    ],
    ["a budget", { reasoning: { budgetTokens: 4000 } }, { thinking: { type: "enabled", budget_tokens: 4000 } }],
    [
      "a budget below the minimum",
      { reasoning: { budgetTokens: 9 } },
      { thinking: { type: "enabled", budget_tokens: 1024 }, lost: ["approximated reasoning.budgetTokens (hint)"] },
    ],
    [
      "a budget above the output limit",
      { reasoning: { budgetTokens: 4000 }, maxOutputTokens: 2000 },
      {
        max_tokens: 2000,
        thinking: { type: "enabled", budget_tokens: 1999 },
        lost: ["approximated reasoning.budgetTokens (hint)"],
      },
    ],
    [
      "an output limit too low for a budget",
      { reasoning: { budgetTokens: 4000 }, maxOutputTokens: 500 },
      { max_tokens: 500, thinking: { type: "adaptive" }, lost: ["approximated reasoning.budgetTokens (hint)"] },
    ],
    [
      "a temperature with reasoning",
      { reasoning: { effort: "low" }, temperature: 0.2, topK: 4 },
      {
        thinking: { type: "adaptive" },
        output_config: { effort: "low" },
        lost: ["dropped temperature (hint)", "dropped topK (hint)"],
      },
    ],
    [
      "reasoning settings for a model without reasoning",
      { reasoning: { effort: "high" } },
      { lost: ["dropped reasoning (hint)"] },
      { reasons: false },
    ],
  ]
  for (const [name, settings, expected, changes] of cases) {
    test(`settings are encoded: ${name}`, () => expect(settled(settings, changes)).toEqual({ ...usual, ...expected }))
  }

  test("a setting whose loss would change the response is refused", () => {
    expect(refusal({ settings: { candidates: 2 } })).toBe("unsupported_parameter candidates")
    expect(refusal({ settings: { logprobs: 0 } })).toBe("unsupported_parameter logprobs")
    expect(refusal({ settings: { modalities: ["text", "audio"] } })).toBe("unsupported_parameter modalities")
  })
})

test("the output schema keeps the keywords that the vendor knows; the others move to the description", () => {
  const schema = {
    type: "object",
    properties: { age: { type: "integer", minimum: 0, description: "Years" }, at: { type: "string", format: "x" } },
    oneOf: [{ $ref: "#/$defs/a" }],
    $defs: { a: { type: "object", properties: {} } },
    additionalProperties: false,
  }
  const { body, lost } = encoded(foreignRequest({ settings: { format: { kind: "schema", name: "n", schema } } }))
  expect(body.output_config).toEqual({
    format: {
      type: "json_schema",
      schema: {
        type: "object",
        properties: {
          age: { type: "integer", description: "Years\n\n{minimum: 0}" },
          at: { type: "string", description: '{format: "x"}' },
        },
        anyOf: [{ $ref: "#/$defs/a" }],
        $defs: { a: { type: "object", properties: {}, additionalProperties: false } },
        additionalProperties: false,
      },
    },
  })
  expect(lost).toEqual([
    "dropped format.name (hint)",
    "approximated format.schema.properties.age.minimum (meaning)",
    "approximated format.schema.properties.at.format (meaning)",
    "approximated format.schema.$defs.a.additionalProperties (meaning)",
  ])
})

const text = (value: string, at = "m"): ContentPart => ({ kind: "text", at, text: value })
const call = (id: string): ContentPart => ({
  kind: "tool-call",
  id,
  name: "f",
  arguments: '{"a": 1}',
  runsAt: "client",
})
const result = (callId: string): ContentPart => ({ kind: "tool-result", callId, parts: [text("ok")], isError: false })
const turn = (role: ConversationTurn["role"], ...parts: ContentPart[]): ConversationTurn => ({
  role,
  at: "messages[0]",
  parts,
})
const encodeTurns = (...turns: ConversationTurn[]) => {
  const { body, lost } = encoded(foreignRequest({ turns }))
  return { messages: body.messages, system: body.system, lost }
}

describe("turns", () => {
  const use = (id: string) => ({ type: "tool_use", id, name: "f", input: { a: 1 } })
  const answer = (id: string) => ({ type: "tool_result", tool_use_id: id, content: "ok" })

  test("results of parallel calls are in one message, before other content", () => {
    const { messages, lost } = encodeTurns(
      turn("user", text("hi")),
      turn("assistant", text("let me", "m[0]")),
      turn("assistant", call("1"), call("2")),
      turn("user", result("1")),
      turn("user", text("quick")),
      turn("user", result("2")),
    )
    expect(messages).toEqual([
      { role: "user", content: "hi" },
      { role: "assistant", content: [{ type: "text", text: "let me" }, use("1"), use("2")] },
      { role: "user", content: [answer("1"), answer("2"), { type: "text", text: "quick" }] },
    ])
    expect(lost).toEqual([])
  })

  test("leading instructions go to `system`; later ones become user messages", () => {
    const { messages, system, lost } = encodeTurns(
      turn("instruction", text("be kind")),
      turn("user", text("hi")),
      turn("instruction", text("shout")),
    )
    expect(system).toBe("be kind")
    expect(messages).toEqual([
      { role: "user", content: "hi" },
      { role: "user", content: "shout" },
    ])
    expect(lost).toEqual(["approximated messages[0] (meaning)"])
  })

  test("the first message is the user's, and empty turns are dropped", () => {
    expect(encodeTurns(turn("assistant", text("hi")), turn("user", text(" ")), turn("user"))).toMatchObject({
      messages: [
        { role: "user", content: "." },
        { role: "assistant", content: "hi" },
      ],
      lost: ["approximated messages (hint)"],
    })
  })

  test("an unfinished assistant message ends without white space", () => {
    expect(encodeTurns(turn("user", text("hi")), turn("assistant", text("so ")))).toMatchObject({
      messages: [{}, { role: "assistant", content: "so" }],
      lost: ["approximated messages[0] (hint)"],
    })
    expect(encodeTurns(turn("user", text("hi")), turn("assistant", text("so ", "m[0]"))).messages).toMatchObject([
      {},
      { content: [{ type: "text", text: "so" }] },
    ])
    expect(encodeTurns(turn("assistant", text("so ")), turn("user", text("hi "))).messages).toMatchObject([
      {},
      { content: "so " },
      { content: "hi " },
    ])
  })

  test("the last four cache marks are sent, and none lasts longer than the one before it", () => {
    const marked = (at: string, ttl?: "1h"): ContentPart => ({
      kind: "text",
      text: at,
      at,
      cacheMark: ttl ? { ttl } : {},
    })
    const inner: ContentPart = {
      kind: "tool-result",
      at: "r",
      callId: "1",
      isError: false,
      parts: [marked("d[0]", "1h")],
    }
    const { messages, lost } = encodeTurns(
      turn("user", marked("a[0]"), marked("b[0]", "1h"), marked("c[0]")),
      turn("assistant", call("1")),
      turn("user", inner, marked("e[0]", "1h")),
    )
    const marks = JSON.stringify(messages).match(/"cache_control":\{[^}]*\}/g)
    const [hour, usual, short] = [',"ttl":"1h"', "", ',"ttl":"5m"'].map(
      (ttl) => `"cache_control":{"type":"ephemeral"${ttl}}`,
    )
    expect<unknown>(marks).toEqual([hour, usual, short, short])
    expect(lost).toEqual([
      "dropped a[0].cache_control (hint)",
      "approximated d[0].cache_control.ttl (hint)",
      "approximated e[0].cache_control.ttl (hint)",
    ])
  })

  test("a longer conversation begins with the bytes of the shorter one", () => {
    const turns = [
      turn("user", text("hi")),
      turn("assistant", text("a"), call("1")),
      turn("user", result("1")),
      turn("user", text("more")),
      turn("assistant", text("b")),
      turn("user", text("on", "m[0]"), text("and on", "m[1]")),
    ]
    const bytes = (count: number) => JSON.stringify(encoded(foreignRequest({ turns: turns.slice(0, count) })).body)
    for (const [shorter, longer] of [
      [1, 3],
      [3, 4],
      [4, 6],
    ] as const) {
      expect(bytes(longer)).toStartWith(bytes(shorter).replace(/[\]}]+$/, ""))
    }
  })
})

describe("content blocks", () => {
  const encodeOne = (part: ContentPart, role: ConversationTurn["role"] = "user") => {
    const before =
      role === "user" ? [turn("user", text("hi")), turn("assistant", text("yes"))] : [turn("user", text("hi"))]
    const { messages, lost } = encodeTurns(...before, turn(role, part))
    return { content: (messages as { content: unknown }[])[before.length]?.content, lost }
  }
  const media = (part: Partial<Extract<ContentPart, { kind: "media" }>>): ContentPart =>
    ({ kind: "media", at: "p", media: "image", source: { at: "url", url: "https://a" }, ...part }) as ContentPart
  const inline = (mediaType: string, base64: string) => ({ at: "inline", mediaType, base64 }) as const

  const cases: [string, ContentPart, ConversationTurn["role"], unknown, string[]][] = [
    ["an image", media({}), "user", [{ type: "image", source: { type: "url", url: "https://a" } }], []],
    [
      "an image with detail, in URL-safe base64",
      media({ detail: "low", source: inline("image/jpg", "-_8") }),
      "user",
      [{ type: "image", source: { type: "base64", media_type: "image/jpeg", data: "+/8=" } }],
      ["dropped p.detail (hint)"],
    ],
    [
      "a text document",
      media({ media: "document", name: "n", source: inline("text/csv", "YSxi") }),
      "user",
      [{ type: "document", source: { type: "text", media_type: "text/plain", data: "a,b" }, title: "n" }],
      ["approximated p.mediaType (hint)"],
    ],
    ["an image that the model generated", media({}), "assistant", undefined, ["dropped p (meaning)"]],
    ["a refusal", { kind: "refusal", text: "no" }, "assistant", [{ type: "text", text: "no" }], []],
    [
      "another minter's reasoning",
      { kind: "reasoning", at: "p", form: "full", text: "hm", sealed: { mintedBy: "google", data: "s" } },
      "assistant",
      undefined,
      ["dropped p (hint)"],
    ],
    [
      "unsigned reasoning",
      { kind: "reasoning", at: "p", form: "full", text: "hm" },
      "assistant",
      undefined,
      ["dropped p (hint)"],
    ],
    [
      "the minter's own reasoning",
      { kind: "reasoning", form: "summary", text: "hm", sealed: { mintedBy: "anthropic", data: "s" } },
      "assistant",
      [{ type: "thinking", thinking: "hm", signature: "s" }],
      [],
    ],
    [
      "the minter's own redacted reasoning",
      { kind: "reasoning", form: "summary", text: "", sealed: { mintedBy: "anthropic", data: "redacted:s" } },
      "assistant",
      [{ type: "redacted_thinking", data: "s" }],
      [],
    ],
    [
      "a call with text input and another minter's seal",
      {
        kind: "tool-call",
        at: "p",
        id: "1",
        name: "f",
        arguments: "ls",
        input: "text",
        runsAt: "client",
        sealed: { mintedBy: "x", data: "y" },
      },
      "assistant",
      [{ type: "tool_use", id: "1", name: "f", input: { input: "ls" } }],
      ["dropped p.sealed (hint)"],
    ],
    [
      "a call with invalid JSON",
      { kind: "tool-call", at: "p", id: "1", name: "f", arguments: '{"a', runsAt: "client" },
      "assistant",
      [{ type: "tool_use", id: "1", name: "f", input: { input: '{"a' } }],
      ["approximated p.arguments (meaning)"],
    ],
    [
      "a call that another provider ran",
      { kind: "tool-call", at: "p", id: "1", name: "f", arguments: "", runsAt: "provider" },
      "assistant",
      undefined,
      ["dropped p (meaning)"],
    ],
    [
      "content that exists only in another protocol",
      { kind: "foreign", at: "p", protocol: "gemini-generate", value: {} },
      "user",
      undefined,
      ["dropped p (meaning)"],
    ],
    [
      "another vendor's citation, and a passthrough field",
      {
        kind: "text",
        at: "p[0]",
        text: "x",
        citations: [{ url: "u" }],
        extra: { protocol: "openai-chat", members: { y: 1 } },
      },
      "assistant",
      [{ type: "text", text: "x" }],
      ["dropped p[0].citations (hint)", "dropped p[0].y (hint)"],
    ],
    [
      "a cache mark",
      { kind: "text", text: "x", cacheMark: { ttl: "1h" } },
      "user",
      [{ type: "text", text: "x", cache_control: { type: "ephemeral", ttl: "1h" } }],
      [],
    ],
  ]
  for (const [name, part, role, content, lost] of cases) {
    test(`content is encoded: ${name}`, () => expect(encodeOne(part, role)).toEqual({ content, lost }))
  }

  test("content that cannot be sent is refused", () => {
    const turns = (part: ContentPart) => ({ turns: [turn("user", part)] })
    for (const part of [
      media({ media: "audio", source: inline("audio/wav", "") }),
      media({ source: inline("image/heic", "") }),
      media({ media: "document", source: inline("application/zip", "") }),
      media({ source: { at: "url", url: "gs://a" } }),
      media({ source: { at: "stored", id: "f", mintedBy: "openai" } }),
    ]) {
      expect(refusal(turns(part))).toBe("unsupported_parameter p")
    }
  })
})

describe("tools", () => {
  const f: ToolDefinition = {
    kind: "function",
    at: "tools[0]",
    name: "f",
    parameters: { type: "object", properties: {} },
  }
  const search: ToolDefinition = {
    kind: "hosted",
    at: "tools[1]",
    name: "search",
    purpose: "web-search",
    protocol: "x",
    value: { type: "y", size: 1 },
  }
  const images: ToolDefinition = {
    kind: "hosted",
    at: "tools[2]",
    name: "draw",
    purpose: "images",
    protocol: "x",
    value: {},
  }
  const encodeToolsOf = (changes: Partial<ChatRequest>) => {
    const { body, lost } = encoded(foreignRequest(changes))
    return { tools: body.tools, choice: body.tool_choice, lost }
  }

  test("tools are encoded, including the vendor's own", () => {
    expect(
      encodeToolsOf({
        tools: [f, { kind: "custom", name: "c", at: "c", format: { type: "grammar" } }, search, images],
      }),
    ).toEqual({
      tools: [
        { name: "f", input_schema: { type: "object", properties: {} } },
        { name: "c", input_schema: { type: "object", properties: { input: { type: "string" } }, required: ["input"] } },
        { type: "web_search_20250305", name: "web_search" },
      ],
      choice: undefined,
      lost: ["dropped c.format (meaning)", "approximated tools[1].size (hint)", "dropped tools[2] (meaning)"],
    })
  })

  test("the search tool has the user's location, at either nesting level", () => {
    const user_location = { type: "approximate", city: "Basel" }
    const encodeSearch = (value: object) => encodeToolsOf({ tools: [{ ...search, value: value as never }] })
    const expected = { tools: [{ type: "web_search_20250305", name: "web_search", user_location }], lost: [] }
    expect(encodeSearch({ user_location })).toMatchObject(expected)
    expect(encodeSearch({ user_location: { type: "approximate", approximate: { city: "Basel" } } })).toMatchObject(
      expected,
    )
  })

  test("a tool's input schema is always an object", () => {
    const variant = (name: string) => ({ properties: { [name]: {}, both: {} }, required: [name, "both"] })
    expect(encodeToolsOf({ tools: [{ ...f, parameters: { anyOf: [variant("a"), variant("b")] } }] })).toMatchObject({
      tools: [{ input_schema: { type: "object", properties: { a: {}, b: {}, both: {} }, required: ["both"] } }],
      lost: ["approximated tools[0].parameters.anyOf (meaning)"],
    })
    const $defs = { a: { type: "object", properties: { x: {} } } }
    expect(encodeToolsOf({ tools: [{ ...f, strict: true, parameters: { $ref: "#/$defs/a", $defs } }] }).tools).toEqual([
      {
        name: "f",
        input_schema: {
          type: "object",
          properties: { x: {} },
          $defs: { a: { ...$defs.a, additionalProperties: false } },
          additionalProperties: false,
        },
        strict: true,
      },
    ])
    expect(
      encodeToolsOf({ tools: [{ ...f, parameters: { $ref: "#/$defs/a", $defs: { a: { $ref: "#/$defs/a" } } } }] }).lost,
    ).toEqual([])
    const { parameters: _, ...bare } = f
    expect(encodeToolsOf({ tools: [bare] }).tools).toEqual([
      { name: "f", input_schema: { type: "object", properties: {} } },
    ])
  })

  const choices: [object, object | undefined][] = [
    [{ toolChoice: { mode: "auto" } }, { type: "auto" }],
    [{ toolChoice: { mode: "none" }, settings: { parallelToolCalls: false } }, { type: "none" }],
    [{ toolChoice: { mode: "required" } }, { type: "any" }],
    [{ toolChoice: { mode: "tool", name: "search" } }, { type: "tool", name: "web_search" }],
    [{ toolChoice: { mode: "some", names: ["f"], required: true } }, { type: "tool", name: "f" }],
    [{ toolChoice: { mode: "some", names: ["f", "search"], required: false } }, { type: "auto" }],
    [{ settings: { parallelToolCalls: false } }, { type: "auto", disable_parallel_tool_use: true }],
    [{ settings: { parallelToolCalls: true } }, undefined],
    [{ toolChoice: { mode: "auto" }, tools: [] }, undefined],
  ]
  for (const [changes, expected] of choices) {
    test(`tools are encoded: ${JSON.stringify(changes)}`, () => {
      const { choice } = encodeToolsOf({ tools: [f, search], ...changes })
      expect(choice as object | undefined).toEqual(expected)
    })
  }

  test("tools that may not be called are omitted", () => {
    const { tools } = encodeToolsOf({ tools: [f, search], toolChoice: { mode: "some", names: ["f"], required: false } })
    expect(tools).toHaveLength(1)
  })

  test("a required tool that cannot be called is refused", () => {
    expect(refusal({ tools: [images], toolChoice: { mode: "required" } })).toBe("unsupported_parameter tool_choice")
    expect(refusal({ tools: [f, images], toolChoice: { mode: "tool", name: "draw" } })).toBe(
      "unsupported_parameter tool_choice",
    )
    expect(refusal({ tools: [f, images], toolChoice: { mode: "required" } })).toBe("accepted")
  })

  test("a required tool excludes a thinking budget", () => {
    for (const toolChoice of [{ mode: "required" }, { mode: "some", names: ["f"], required: true }] as const) {
      const { body } = encoded(
        foreignRequest({ tools: [f], toolChoice, settings: { reasoning: { budgetTokens: 2000 } } }),
      )
      expect(body.thinking).toEqual({ type: "adaptive" })
    }
  })
})

test("every passthrough field of another protocol is reported as lost", () => {
  const extra = (...names: string[]) => ({
    protocol: "openai-chat",
    members: Object.fromEntries(names.map((name) => [name, 1])),
  })
  const { body, lost } = encoded(
    foreignRequest({
      extra: extra("store", "logit_bias"),
      turns: [{ ...turn("user", text("hi")), extra: extra("name") }],
      tools: [{ kind: "function", name: "f", at: "tools[0]", extra: extra("x") }],
    }),
  )
  expect(lost).toEqual([
    "dropped tools[0].x (hint)",
    "dropped messages[0].name (hint)",
    "dropped store (hint)",
    "dropped logit_bias (hint)",
  ])
  expect(JSON.stringify(body)).not.toContain("logit_bias")
})
