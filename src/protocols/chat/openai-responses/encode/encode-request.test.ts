import { describe, expect, test } from "bun:test"
import type {
  ChatRequest,
  ChatSettings,
  ConversationTurn,
  ToolChoice,
  ToolDefinition,
} from "../../../../canonical/chat/chat-request.ts"
import type { ContentPart, ReasoningPart } from "../../../../canonical/chat/content-part.ts"
import { GatewayError } from "../../../../canonical/gateway-error.ts"
import type { UpstreamRequestContext } from "../../../chat-codec.ts"
import { encoded } from "../codec.fixture.ts"
import { sealReasoning } from "../seals.ts"

const text = (value: string, at = "m"): ContentPart => ({ kind: "text", at, text: value })
const user = (...parts: ContentPart[]): ConversationTurn => ({ role: "user", at: "messages[0]", parts })
const assistant = (...parts: ContentPart[]): ConversationTurn => ({ role: "assistant", at: "messages[1]", parts })
const input = (turns: ConversationTurn[], more?: Partial<UpstreamRequestContext>) => {
  const { body, losses } = encoded({ turns }, more)
  return { input: body.input, losses }
}

function refusal(request: Partial<ChatRequest>): string {
  try {
    encoded(request)
    return "accepted"
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error
    return `${error.code} ${error.param}`
  }
}

describe("the input", () => {
  test("turns become instructions and items", () => {
    const { body, losses } = encoded({
      instructions: [text("be kind", "system[0]"), { ...text("be brief", "system[1]"), cacheMark: { ttl: "1h" } }],
      turns: [user(text("hi")), assistant(text("hello"), text("you")), { role: "instruction", parts: [text("now")] }],
    })
    expect(body).toEqual({
      instructions: "be kind\n\nbe brief",
      input: [
        { type: "message", role: "user", content: "hi" },
        {
          type: "message",
          role: "assistant",
          content: [
            { type: "output_text", text: "hello", annotations: [] },
            { type: "output_text", text: "you", annotations: [] },
          ],
        },
        { type: "message", role: "developer", content: "now" },
      ],
    })
    expect(losses).toEqual(["hint dropped system[1].cache_control"])
  })

  test("images and files keep their position", () => {
    const media = (
      source: Extract<ContentPart, { kind: "media" }>["source"],
      kind: "image" | "document" = "image",
    ): ContentPart => ({
      kind: "media",
      media: kind,
      source,
      at: "p",
    })
    const pdf = { at: "inline", mediaType: "application/pdf", base64: "JVBERi0=" } as const
    expect(
      input([
        user(
          text("look"),
          media({ at: "inline", mediaType: "image/png", base64: "AAAA" }),
          media({ at: "url", url: "https://x/y.png" }),
          media(pdf, "document"),
          media({ at: "url", url: "https://x/y.pdf" }, "document"),
          media({ at: "text", mediaType: "text/plain", text: "words" }, "document"),
        ),
      ]),
    ).toEqual({
      input: [
        {
          type: "message",
          role: "user",
          content: [
            { type: "input_text", text: "look" },
            { type: "input_image", image_url: "data:image/png;base64,AAAA", detail: "auto" },
            { type: "input_image", image_url: "https://x/y.png", detail: "auto" },
            { type: "input_file", filename: "document.pdf", file_data: "data:application/pdf;base64,JVBERi0=" },
            { type: "input_file", file_url: "https://x/y.pdf" },
            { type: "input_text", text: "words" },
          ],
        },
      ],
      losses: ["hint approximated p"],
    })
  })

  test("content that would be lost in part is refused", () => {
    const video: ContentPart = { kind: "media", media: "video", at: "v", source: { at: "url", url: "https://x" } }
    const stored: ContentPart = {
      kind: "media",
      media: "image",
      at: "s",
      source: { at: "stored", id: "f", mintedBy: "other" },
    }
    const ogg: ContentPart = {
      kind: "media",
      media: "audio",
      at: "o",
      source: { at: "inline", mediaType: "audio/ogg", base64: "" },
    }
    expect([video, stored, ogg].map((part) => refusal({ turns: [user(part)] }))).toEqual([
      "unsupported_parameter v",
      "unsupported_parameter s",
      "unsupported_parameter o",
    ])
  })

  test("foreign blocks and images of the assistant are reported as lost", () => {
    const foreign: ContentPart = { kind: "foreign", protocol: "x", value: {}, at: "b" }
    const picture: ContentPart = { kind: "media", media: "image", at: "p", source: { at: "url", url: "https://x" } }
    expect(input([user(foreign, text("a")), assistant(picture)])).toEqual({
      input: [{ type: "message", role: "user", content: "a" }],
      losses: ["meaning dropped b", "meaning dropped p"],
    })
  })

  test("a longer conversation begins with the bytes of the shorter one", () => {
    const turns = [user(text("a")), assistant(text("b")), user(text("c"))]
    const short = JSON.stringify(encoded({ turns: turns.slice(0, 2) }).body)
    expect(JSON.stringify(encoded({ turns }).body)).toStartWith(short.slice(0, -2))
  })
})

describe("tools", () => {
  const call = (id: string, more: object = {}): ContentPart => ({
    kind: "tool-call",
    at: `c${id}`,
    id,
    name: "f",
    arguments: "{}",
    runsAt: "client",
    ...more,
  })

  test("calls and results are encoded", () => {
    const picture: ContentPart = {
      kind: "media",
      media: "image",
      source: { at: "inline", mediaType: "image/png", base64: "AAAA" },
    }
    const result = (callId: string, parts: ContentPart[], isError = false): ContentPart => ({
      kind: "tool-result",
      at: `r${callId}`,
      callId,
      parts,
      isError,
    })
    expect(
      input([
        assistant(
          text("Look:"),
          call("1", { arguments: "" }),
          call("2", { name: "patch", arguments: "x", input: "text" }),
          call("3", { runsAt: "provider" }),
          call("4", { sealed: { mintedBy: "other", data: "s" } }),
        ),
        user(
          result("1", [text("r"), picture]),
          result("2", [text("ok")]),
          result("4", [text("bad")], true),
          text("and?"),
        ),
      ]),
    ).toEqual({
      input: [
        { type: "message", role: "assistant", content: "Look:" },
        { type: "function_call", call_id: "1", name: "f", arguments: "{}" },
        { type: "custom_tool_call", call_id: "2", name: "patch", input: "x" },
        { type: "function_call", call_id: "4", name: "f", arguments: "{}" },
        {
          type: "function_call_output",
          call_id: "1",
          output: [
            { type: "input_text", text: "r" },
            { type: "input_image", image_url: "data:image/png;base64,AAAA", detail: "auto" },
          ],
        },
        { type: "custom_tool_call_output", call_id: "2", output: "ok" },
        { type: "function_call_output", call_id: "4", output: "Error: bad" },
        { type: "message", role: "user", content: "and?" },
      ],
      losses: ["meaning dropped c3", "hint dropped c4.sealed", "hint approximated r4"],
    })
  })

  const closed = { type: "object", properties: { a: { type: "string" } }, required: ["a"], additionalProperties: false }
  const f: ToolDefinition = {
    kind: "function",
    name: "f",
    at: "f",
    description: "d",
    parameters: { type: "object", properties: {} },
  }
  const patch: ToolDefinition = { kind: "custom", name: "patch", at: "patch", format: { type: "grammar" } }
  const hosted = (
    name: string,
    purpose: Extract<ToolDefinition, { kind: "hosted" }>["purpose"],
    value = {},
  ): ToolDefinition => ({
    kind: "hosted",
    name,
    purpose,
    protocol: "x",
    value: { type: name, ...value },
    at: name,
  })
  const tools = (given: ToolDefinition[], toolChoice?: ToolChoice) => {
    const { body, losses } = encoded({ tools: given, ...(toolChoice && { toolChoice }) })
    return { tools: body.tools, choice: body.tool_choice, losses }
  }

  test("a schema is enforced only on request, although the vendor's default is to enforce it", () => {
    expect(tools([f, { kind: "function", name: "g", strict: true, parameters: closed }, patch]).tools).toEqual([
      { type: "function", name: "f", description: "d", parameters: { type: "object", properties: {} }, strict: false },
      { type: "function", name: "g", strict: true, parameters: closed },
      { type: "custom", name: "patch", format: { type: "grammar" } },
    ])
  })

  test("a schema that is not closed is not enforced, which is reported", () => {
    const open = { ...closed, required: [] }
    const [held, loose] = [closed, open].map((parameters) =>
      tools([{ ...f, strict: true, parameters } as ToolDefinition]),
    )
    expect(held).toMatchObject({ tools: [{ strict: true }], losses: [] })
    expect(loose).toMatchObject({ tools: [{ strict: false }], losses: ["meaning approximated f.strict"] })
  })

  test("another provider's hosted tools map to the vendor's own", () => {
    const location = { user_location: { type: "approximate", city: "Basel" } }
    expect(
      tools([
        hosted("search", "web-search", { ...location, max_uses: 3 }),
        hosted("python", "code"),
        hosted("bash", "shell"),
      ]),
    ).toEqual({
      tools: [
        { type: "web_search", ...location },
        { type: "code_interpreter", container: { type: "auto" } },
      ],
      choice: undefined,
      losses: ["hint approximated search.max_uses", "meaning dropped bash"],
    })
  })

  test.each<[ToolChoice, unknown]>([
    [{ mode: "auto" }, "auto"],
    [{ mode: "none" }, "none"],
    [{ mode: "required" }, "required"],
    [
      { mode: "tool", name: "f" },
      { type: "function", name: "f" },
    ],
    [
      { mode: "tool", name: "patch" },
      { type: "custom", name: "patch" },
    ],
    [{ mode: "tool", name: "search" }, { type: "web_search" }],
    [
      { mode: "some", names: ["f", "search", "bash"], required: false },
      { type: "allowed_tools", mode: "auto", tools: [{ type: "function", name: "f" }, { type: "web_search" }] },
    ],
    [{ mode: "some", names: ["bash"], required: false }, "none"],
  ])("the tool choice is encoded: %j", (choice, expected) => {
    expect(tools([f, patch, hosted("search", "web-search"), hosted("bash", "shell")], choice).choice).toEqual(
      expected as never,
    )
  })

  test("an undeclared tool cannot be required", () => {
    const bash = hosted("bash", "shell")
    expect(refusal({ tools: [bash], toolChoice: { mode: "tool", name: "bash" } })).toBe(
      "unsupported_parameter tool_choice",
    )
    expect(refusal({ tools: [bash], toolChoice: { mode: "required" } })).toBe("unsupported_parameter tool_choice")
    expect(refusal({ tools: [bash], toolChoice: { mode: "some", names: ["bash"], required: true } })).toBe(
      "unsupported_parameter tool_choice",
    )
    expect(tools([], { mode: "auto" }).choice).toBeUndefined()
  })
})

describe("reasoning in the conversation", () => {
  const item = { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "enc" }
  const pieces = [
    { type: "summary_text", text: "a" },
    { type: "summary_text", text: "b" },
  ]
  const part = (from: object, shown: string, form: ReasoningPart["form"] = "full"): ContentPart => {
    const sealed = sealReasoning(from as never, "host")
    return { kind: "reasoning", at: "t", form, text: shown, ...(sealed && { sealed }) }
  }

  test("reasoning returns to its minter as its original item, whatever protocol it crossed", () => {
    const both = { ...item, summary: pieces, content: [{ type: "reasoning_text", text: "c" }] }
    expect(input([assistant(part(item, "", "hidden"))]).input).toEqual([item])
    expect(input([assistant(part({ ...item, summary: pieces }, "a\n\nb"))]).input).toEqual([
      { ...item, summary: pieces },
    ])
    expect(input([assistant({ kind: "reasoning", form: "full", text: "a\n\nb" }, part(both, "c"))]).input).toEqual([
      both,
    ])
    expect(input([assistant(part({ ...item, summary: pieces }, "changed"))]).input).toEqual([
      { ...item, summary: [{ type: "summary_text", text: "changed" }] },
    ])
  })

  test("reasoning is not sent to another provider, or without its seal", () => {
    const other = { losses: ["hint dropped t"], input: [] }
    expect(input([assistant(part(item, ""))], { minter: "another" })).toEqual(other)
    expect(input([assistant({ kind: "reasoning", at: "t", form: "full", text: "x" })])).toEqual(other)
    const chats: ContentPart = {
      kind: "reasoning",
      at: "t",
      form: "full",
      text: "x",
      sealed: { mintedBy: "host", data: '{"member":"reasoning"}' },
    }
    expect(input([assistant(chats)])).toEqual(other)
  })
})

const NOTHING = { type: "object", properties: {}, required: [], additionalProperties: false }

describe("settings", () => {
  const settings = (given: ChatSettings, more?: Partial<UpstreamRequestContext>) => {
    const { body, losses } = encoded({ settings: given }, more)
    const { input: _, ...members } = body
    return [members, losses]
  }
  const reasons = { reasons: true }
  const include = ["reasoning.encrypted_content"]

  test.each<[ChatSettings, Partial<UpstreamRequestContext>, object, string[]]>([
    [{ maxOutputTokens: 50, temperature: 0, topP: 0.5 }, {}, { max_output_tokens: 50, temperature: 0, top_p: 0.5 }, []],
    [{ maxOutputTokens: 5 }, {}, { max_output_tokens: 16 }, ["meaning approximated maxOutputTokens"]],
    [
      { temperature: 0, topP: 1, logprobs: 1 },
      { fixedSampling: true },
      {},
      ["hint dropped temperature", "hint dropped logprobs"],
    ],
    [
      { topK: 5, frequencyPenalty: 1, presencePenalty: 0, seed: 0 },
      {},
      {},
      ["hint dropped topK", "hint dropped frequencyPenalty", "hint dropped seed"],
    ],
    [
      { logprobs: 25 },
      {},
      { top_logprobs: 20, include: ["message.output_text.logprobs"] },
      ["hint approximated logprobs"],
    ],
    [
      { format: { kind: "json" }, verbosity: "low" },
      {},
      { text: { format: { type: "json_object" }, verbosity: "low" } },
      ["hint approximated format"],
    ],
    [
      { format: { kind: "schema", name: "a b", schema: NOTHING, strict: true } },
      {},
      { text: { format: { type: "json_schema", name: "a_b", schema: NOTHING, strict: true } } },
      [],
    ],
    [
      { format: { kind: "schema", name: "s", schema: NOTHING } },
      {},
      { text: { format: { type: "json_schema", name: "s", schema: NOTHING, strict: true } } },
      [],
    ],
    [
      { format: { kind: "schema", name: "s", schema: NOTHING, strict: false } },
      {},
      { text: { format: { type: "json_schema", name: "s", schema: NOTHING, strict: false } } },
      [],
    ],
    [
      { format: { kind: "schema", schema: {} } },
      {},
      { text: { format: { type: "json_schema", name: "answer", schema: {}, strict: false } } },
      ["hint approximated format.name", "hint approximated format.strict"],
    ],
    [{ reasoning: { effort: "high" } }, {}, {}, ["hint dropped reasoning"]],
    [{ reasoning: { effort: "none" } }, {}, {}, []],
    [{}, reasons, { include }, []],
    [{ reasoning: { effort: "high" } }, reasons, { reasoning: { effort: "high" }, include }, []],
    [
      { reasoning: { effort: "max", show: "full" } },
      { reasons: true, efforts: ["low", "high"] },
      { reasoning: { effort: "high", summary: "auto" }, include },
      ["hint approximated reasoning.show", "hint approximated reasoning.effort"],
    ],
    [
      { reasoning: { budgetTokens: 8000 } },
      reasons,
      { reasoning: { effort: "medium", summary: "auto" }, include },
      ["hint approximated reasoning.budgetTokens"],
    ],
    [{ reasoning: { show: "hidden" } }, reasons, { reasoning: { summary: null }, include }, []],
    [
      { parallelToolCalls: false, cacheKey: "k", endUser: "u" },
      {},
      { prompt_cache_key: "k", safety_identifier: "u" },
      [],
    ],
    [{ cacheKey: "k".repeat(65), endUser: "u".repeat(65) }, {}, {}, ["hint dropped cacheKey", "hint dropped endUser"]],
    [{ stop: [], candidates: 1, modalities: ["text"] }, {}, {}, []],
  ])("the settings %j are encoded as %j", (given, more, members, losses) => {
    expect(settings(given, more) as unknown).toEqual([members, losses])
  })

  test.each<[ChatSettings, string]>([
    [{ stop: ["x"] }, "stop"],
    [{ candidates: 2 }, "candidates"],
    [{ modalities: ["text", "audio"] }, "modalities"],
  ])("the settings %j are refused", (given, param) => {
    expect(refusal({ settings: given })).toBe(`unsupported_parameter ${param}`)
  })

  test("the upstream stores nothing, and other protocols' passthrough fields are reported", () => {
    const extra = { protocol: "openai-chat", members: { logit_bias: {}, service_tier: null } }
    expect(
      encoded({
        extra,
        tools: [{ kind: "function", name: "f", at: "tools[0]", extra: { protocol: "x", members: { y: 1 } } }],
      }).losses,
    ).toEqual(["hint dropped tools[0].y", "hint dropped logit_bias"])
  })
})
