import { describe, expect, test } from "bun:test"
import fc from "fast-check"
import type {
  ChatRequest,
  ChatSettings,
  ConversationTurn,
  ToolDefinition,
} from "../../../../canonical/chat/chat-request.ts"
import type { ContentPart, ToolCallPart } from "../../../../canonical/chat/content-part.ts"
import type { JsonObject } from "../../../../canonical/json.ts"
import type { Loss } from "../../../../canonical/loss.ts"
import type { UpstreamRequestContext } from "../../../chat-codec.ts"
import { request, upstream } from "../codec.fixture.ts"
import { geminiGenerateCodec } from "../codec.ts"

const { encodeRequest } = geminiGenerateCodec.upstream
const NEWER = { model: "gemini-3-pro-preview" }

function encode(
  more: Partial<ChatRequest>,
  context: Partial<UpstreamRequestContext> = {},
): { body: JsonObject; losses: Loss[] } {
  const at = upstream(context)
  return { body: encodeRequest(request(more), at), losses: at.losses }
}
const summary = (losses: Loss[]) => losses.map(({ path, weight, how }) => `${path} ${weight} ${how}`)

const call = (id: string, more: Partial<ToolCallPart> = {}): ToolCallPart => ({
  ...{ kind: "tool-call", id, name: "f", arguments: "{}", runsAt: "client" },
  ...more,
})
const result = (callId: string, ...texts: string[]): ContentPart => ({
  ...{ kind: "tool-result", callId, isError: false },
  parts: texts.map((text) => ({ kind: "text", text })),
})

describe("parts of a request", () => {
  const encodeParts = (parts: ContentPart[], context: Partial<UpstreamRequestContext> = {}) => {
    const { body, losses } = encode({ turns: [{ role: "assistant", parts, at: "messages[0]" }] }, context)
    const [content] = body.contents as JsonObject[]
    return { parts: content?.parts, losses: summary(losses) }
  }
  const cases: Record<string, [given: ContentPart, expected: object[], losses?: string[]]> = {
    text: [{ kind: "text", text: "a" }, [{ text: "a" }]],
    "nothing if it is empty": [{ kind: "text", text: "" }, []],
    "an unsigned thought": [{ kind: "reasoning", form: "full", text: "hm" }, [{ text: "hm", thought: true }]],
    "a thought with its minter's seal": [
      { kind: "reasoning", form: "summary", text: "hm", sealed: { mintedBy: "google", data: "s" } },
      [{ text: "hm", thought: true, thoughtSignature: "s" }],
    ],
    "a thought without another minter's seal": [
      { kind: "reasoning", form: "full", text: "hm", sealed: { mintedBy: "anthropic", data: "s" }, at: "m[0]" },
      [{ text: "hm", thought: true }],
      ["m[0] hint dropped"],
    ],
    "nothing if only another minter's seal is left": [
      { kind: "reasoning", form: "hidden", text: "", sealed: { mintedBy: "openai", data: "s" }, at: "m[0]" },
      [],
      ["m[0] hint dropped"],
    ],
    "text if it is a refusal": [
      { kind: "refusal", text: "no", at: "m[0]" },
      [{ text: "no" }],
      ["m[0] hint approximated"],
    ],
    "inline media if it is a text document": [
      {
        kind: "media",
        media: "document",
        source: { at: "text", mediaType: "text/plain", text: "ä" },
        name: "n",
        at: "m[0]",
      },
      [{ inlineData: { mimeType: "text/plain", data: "w6Q=" } }],
      ["m[0].name hint dropped"],
    ],
    "media at a URL, with the type of its extension": [
      { kind: "media", media: "image", source: { at: "url", url: "https://x.org/a.PNG?x" }, detail: "low", at: "m[0]" },
      [{ fileData: { fileUri: "https://x.org/a.PNG?x", mimeType: "image/png" } }],
      ["m[0].detail hint dropped"],
    ],
    "media at a URL, with a guessed type": [
      { kind: "media", media: "image", source: { at: "url", url: "https://x.org/a" }, at: "m[0]" },
      [{ fileData: { fileUri: "https://x.org/a", mimeType: "image/jpeg" } }],
      ["m[0] hint approximated"],
    ],
    "nothing if it is another provider's file": [
      { kind: "media", media: "image", source: { at: "stored", id: "file-1", mintedBy: "openai" }, at: "m[0]" },
      [],
      ["m[0] meaning dropped"],
    ],
    "a call with its plain text as one argument": [
      call("c", { arguments: "*** patch", input: "text" }),
      [{ functionCall: { id: "c", name: "f", args: { input: "*** patch" } } }],
    ],
    "a call whose arguments are invalid JSON": [
      call("c", { arguments: "{oops", at: "m[0]" }),
      [{ functionCall: { id: "c", name: "f", args: { input: "{oops" } } }],
      ["m[0].arguments meaning approximated"],
    ],
    "a call whose numbers are too long": [
      call("c", { arguments: '{"x": 12345678901234567890}', at: "m[0]" }),
      [{ functionCall: { id: "c", name: "f", args: { x: Number("12345678901234567890") } } }],
      ["m[0].arguments meaning approximated"],
    ],
    "code that the provider ran": [
      call("c", { name: "code_execution", arguments: '{"code":"1"}', runsAt: "provider" }),
      [{ executableCode: { id: "c", language: "PYTHON", code: "1" } }],
    ],
    "nothing if another provider ran the tool": [
      call("c", { name: "web_search", runsAt: "provider", at: "m[0]" }),
      [],
      ["m[0] meaning dropped"],
    ],
    "nothing if only another protocol knows it": [
      { kind: "foreign", protocol: "openai-chat", value: {}, at: "m[0]" },
      [],
      ["m[0] meaning dropped"],
    ],
    "itself without the passthrough fields of another protocol": [
      {
        kind: "text",
        text: "a",
        at: "m[0]",
        cacheMark: {},
        extra: { protocol: "openai-chat", members: { x: 1, y: 2 } },
      },
      [{ text: "a" }],
      ["m[0].cache_control hint dropped", "m[0].x hint dropped", "m[0].y hint dropped"],
    ],
  }
  test.each(Object.keys(cases))("a part is encoded as %s", (name) => {
    const [given, expected, losses = []] = cases[name] ?? [{ kind: "text", text: "" }, []]
    const encoded = encodeParts([given, { kind: "text", text: "end" }])
    expect(encoded.parts).toEqual([...expected, { text: "end" }] as never)
    expect(encoded.losses).toEqual(losses)
  })

  test("a seal becomes the signature of the part before it, if it belongs there", () => {
    const seal = (data: string): ContentPart => ({
      kind: "reasoning",
      form: "hidden",
      text: "",
      sealed: { mintedBy: "google", data },
    })
    expect(encodeParts([{ kind: "text", text: "a" }, seal("@s")]).parts).toEqual([{ text: "a", thoughtSignature: "s" }])
    expect(encodeParts([{ kind: "text", text: "a" }, seal("s")]).parts).toEqual([
      { text: "a" },
      { text: "", thoughtSignature: "s" },
    ])
    expect(encodeParts([seal("@s")]).parts).toEqual([{ text: "", thoughtSignature: "s" }])
  })
})

describe("turns", () => {
  const contents = (turns: ConversationTurn[], context: Partial<UpstreamRequestContext> = {}) => {
    const { body, losses } = encode({ turns }, context)
    return { contents: body.contents as unknown, losses: summary(losses) }
  }
  const user = (...parts: ContentPart[]): ConversationTurn => ({ role: "user", parts, at: "messages[9]" })
  const text = (value: string): ContentPart => ({ kind: "text", text: value })

  test("results follow their calls together, separate from the user's text", () => {
    const turns: ConversationTurn[] = [
      user(text("hi")),
      { role: "assistant", parts: [call("a"), call("b", { name: "g" })] },
      user(result("a", "1")),
      user(text("and"), result("b", '{"x":1}'), text("now?")),
    ]
    expect(contents(turns).contents).toEqual([
      { role: "user", parts: [{ text: "hi" }] },
      {
        role: "model",
        parts: [{ functionCall: { id: "a", name: "f", args: {} } }, { functionCall: { id: "b", name: "g", args: {} } }],
      },
      {
        role: "user",
        parts: [
          { functionResponse: { id: "a", name: "f", response: { output: "1" } } },
          { functionResponse: { id: "b", name: "g", response: { x: 1 } } },
        ],
      },
      { role: "user", parts: [{ text: "and" }, { text: "now?" }] },
    ])
  })

  test("an instruction among the turns becomes a user message", () => {
    const encoded = contents([user(text("hi")), { role: "instruction", parts: [text("be brief")], at: "messages[1]" }])
    expect(encoded.contents).toEqual([{ role: "user", parts: [{ text: "hi" }, { text: "be brief" }] }])
    expect(encoded.losses).toEqual(["messages[1] meaning approximated"])
  })

  test("instructions without turns become a user message", () => {
    const { body, losses } = encode({ turns: [], instructions: [text("be kind")] })
    expect(body).toEqual({ contents: [{ role: "user", parts: [{ text: "be kind" }] }] })
    expect(summary(losses)).toEqual(["instructions meaning approximated"])
  })

  test("a turn without parts left is dropped", () => {
    expect(contents([user(text("hi")), { role: "assistant", parts: [text("")] }]).contents).toHaveLength(1)
  })

  const picture: ContentPart = {
    kind: "media",
    media: "image",
    source: { at: "inline", mediaType: "image/png", base64: "aGk=" },
  }
  const seen: ContentPart = {
    kind: "tool-result",
    callId: "a",
    isError: true,
    parts: [text("x"), picture],
    at: "messages[2]",
  }

  test("an image in a tool result stays in it, or follows it if the model does not accept that", () => {
    const turns: ConversationTurn[] = [
      { role: "assistant", parts: [call("a", { sealed: { mintedBy: "google", data: "s" } })] },
      user(seen),
    ]
    const wire = { inlineData: { mimeType: "image/png", data: "aGk=" } }
    const response = { id: "a", name: "f", response: { error: "x" } }
    expect(contents(turns, NEWER).contents).toMatchObject([
      {},
      { parts: [{ functionResponse: { ...response, parts: [wire] } }] },
    ])
    const older = contents(turns)
    expect(older.contents).toMatchObject([{}, { parts: [{ functionResponse: response }] }, { parts: [wire] }])
    expect(older.losses).toEqual(["messages[2] hint approximated"])
  })

  test("content that accompanies tool results moves to a turn after them", () => {
    const turns: ConversationTurn[] = [user(text("hi")), { role: "assistant", parts: [call("a"), call("b")] }]
    const { contents: wire } = contents([...turns, user(seen), user(result("b", "ok"), text("and?"))])
    expect(wire).toMatchObject([
      {},
      {},
      { parts: [{ functionResponse: { id: "a" } }, { functionResponse: { id: "b" } }] },
      { parts: [{ inlineData: {} }, { text: "and?" }] },
    ])
  })

  test("parallel calls in consecutive turns have one signature, the first call's", () => {
    const signed = call("a", { sealed: { mintedBy: "google", data: "s" } })
    const turns: ConversationTurn[] = [signed, call("b")].map((part) => ({ role: "assistant", parts: [part] }))
    const { contents: wire, losses } = contents(turns, NEWER)
    expect(wire).toMatchObject([{ parts: [{ thoughtSignature: "s" }, {}] }])
    expect(JSON.stringify(wire).match(/thoughtSignature/g)).toHaveLength(1)
    expect(losses).toEqual([])
  })

  test("the first unsigned call of a turn gets the vendor's skip value if signatures are required", () => {
    const turns: ConversationTurn[] = [{ role: "assistant", parts: [call("a"), call("b")], at: "messages[1]" }]
    const { contents: wire, losses } = contents(turns, NEWER)
    expect(wire).toMatchObject([{ parts: [{ thoughtSignature: "skip_thought_signature_validator" }, {}] }])
    expect(JSON.stringify(wire).match(/skip_thought/g)).toHaveLength(1)
    expect(losses).toEqual(["messages[1] hint approximated"])
    expect(JSON.stringify(contents(turns).contents)).not.toContain("thoughtSignature")
    const signed = call("a", { sealed: { mintedBy: "google", data: "s" } })
    expect(contents([{ role: "assistant", parts: [signed, call("b")] }], NEWER).losses).toEqual([])
  })
})

describe("settings", () => {
  const config = (settings: ChatSettings, context: Partial<UpstreamRequestContext> = {}) => {
    const { body, losses } = encode({ settings }, context)
    return { config: body.generationConfig as unknown, losses: summary(losses) }
  }
  const cases: [ChatSettings, object | undefined, string[], Partial<UpstreamRequestContext>?][] = [
    [{}, undefined, []],
    [
      { maxOutputTokens: 9, temperature: 1, topP: 0.5, topK: 4, stop: ["x"], seed: 1, candidates: 2 },
      { candidateCount: 2, maxOutputTokens: 9, temperature: 1, topP: 0.5, topK: 4, stopSequences: ["x"], seed: 1 },
      [],
    ],
    [{ frequencyPenalty: 1, presencePenalty: 1 }, { frequencyPenalty: 1, presencePenalty: 1 }, []],
    [{ logprobs: 0 }, { responseLogprobs: true }, []],
    [{ logprobs: 2 }, { responseLogprobs: true, logprobs: 2 }, []],
    [{ seed: 2 ** 40 }, { seed: 512 }, ["seed hint approximated"]],
    [{ format: { kind: "json" } }, { responseMimeType: "application/json" }, []],
    [
      {
        format: {
          kind: "schema",
          name: "n",
          schema: { type: "string", const: "a", $schema: "x", contentEncoding: "y" },
        },
      },
      { responseMimeType: "application/json", responseJsonSchema: { type: "string", enum: ["a"] } },
      ["format.name hint dropped", "format.schema hint approximated"],
    ],
    [{ modalities: ["text", "audio"] }, { responseModalities: ["TEXT", "AUDIO"] }, []],
    [
      { parallelToolCalls: false, verbosity: "low", cacheKey: "k", endUser: "u" },
      undefined,
      ["parallelToolCalls meaning dropped", "verbosity hint dropped", "cacheKey hint dropped", "endUser hint dropped"],
    ],
    [{ parallelToolCalls: true }, undefined, []],
    [
      { reasoning: { effort: "low" } },
      { thinkingConfig: { thinkingBudget: 2048 } },
      ["reasoning.effort hint approximated"],
    ],
    [
      { reasoning: { effort: "none" } },
      { thinkingConfig: { thinkingBudget: 128 } },
      ["reasoning.effort hint approximated"],
      { model: "gemini-2.5-pro" },
    ],
    [{ reasoning: { effort: "low" } }, { thinkingConfig: { thinkingLevel: "LOW" } }, [], NEWER],
    [
      { reasoning: { effort: "max" } },
      { thinkingConfig: { thinkingLevel: "HIGH" } },
      ["reasoning.effort hint approximated"],
      NEWER,
    ],
    [
      { reasoning: { budgetTokens: 500, show: "full" } },
      { thinkingConfig: { includeThoughts: true, thinkingBudget: 500 } },
      ["reasoning.show hint approximated"],
    ],
    [
      { reasoning: { effort: "minimal" } },
      { thinkingConfig: { thinkingLevel: "LOW" } },
      ["reasoning.effort hint approximated"],
      { efforts: ["low", "medium", "high"] },
    ],
    [
      { reasoning: { budgetTokens: 9000 } },
      { thinkingConfig: { thinkingLevel: "MEDIUM" } },
      ["reasoning.budgetTokens hint approximated"],
      { efforts: ["low", "medium", "high"] },
    ],
    [
      { reasoning: { budgetTokens: 0 } },
      { thinkingConfig: { thinkingBudget: 128 } },
      ["reasoning.budgetTokens hint approximated"],
      { thinkingTokens: { min: 128, max: 32_768 } },
    ],
    [
      { reasoning: { effort: "max" } },
      { thinkingConfig: { thinkingBudget: 32_768 } },
      ["reasoning.effort hint approximated"],
      { thinkingTokens: { min: 128, max: 32_768 } },
    ],
    [{ reasoning: { effort: "high" } }, undefined, ["reasoning hint dropped"], { reasons: false }],
    [{ reasoning: { effort: "none" } }, undefined, [], { reasons: false }],
  ]
  for (const [settings, expected, losses, context] of cases) {
    test(`settings are encoded: ${JSON.stringify({ ...settings, ...context })}`, () => {
      expect(config(settings, context)).toEqual({ config: expected, losses })
    })
  }

  test("more stop sequences than the vendor accepts are refused", () => {
    expect(() => config({ stop: ["1", "2", "3", "4", "5", "6"] })).toThrow("at most 5 stop sequences")
  })
})

describe("tools", () => {
  const lookup: ToolDefinition = {
    kind: "function",
    name: "f",
    at: "tools[0]",
    description: "d",
    parameters: { type: "object" },
  }
  const search: ToolDefinition = {
    kind: "hosted",
    name: "web_search",
    purpose: "web-search",
    protocol: "openai-responses",
    value: { type: "web_search" },
    at: "tools[1]",
  }
  const shell: ToolDefinition = { ...search, name: "shell", purpose: "shell" }
  const tools = (
    given: ToolDefinition[],
    more: Partial<ChatRequest> = {},
    context: Partial<UpstreamRequestContext> = {},
  ) => {
    const { body, losses } = encode({ tools: given, ...more }, context)
    return { tools: body.tools as unknown, config: body.toolConfig as unknown, losses: summary(losses) }
  }
  const declared = { functionDeclarations: [{ name: "f", description: "d", parametersJsonSchema: { type: "object" } }] }

  test("functions are in one entry; a tool with text input becomes a function of one string", () => {
    const custom: ToolDefinition = { kind: "custom", name: "patch", format: { type: "grammar" }, at: "tools[2]" }
    const input = { type: "object", properties: { input: { type: "string" } }, required: ["input"] }
    expect(tools([lookup, custom])).toEqual({
      tools: [
        { functionDeclarations: [...declared.functionDeclarations, { name: "patch", parametersJsonSchema: input }] },
      ],
      config: undefined,
      losses: ["tools[2].format meaning dropped"],
    })
  })

  test("another vendor's search maps to the vendor's own", () => {
    expect(tools([search])).toEqual({ tools: [{ googleSearch: {} }], config: undefined, losses: [] })
    const narrow = { ...search, value: { type: "web_search", filters: {} } }
    expect(tools([narrow]).losses).toEqual(["tools[1] hint approximated"])
    expect(tools([lookup, search], {}, NEWER)).toEqual({
      tools: [declared, { googleSearch: {} }],
      config: { includeServerSideToolInvocations: true },
      losses: [],
    })
  })

  test("a tool that the model does not support is dropped, or refused if it is required", () => {
    expect(tools([lookup, search])).toEqual({
      tools: [declared],
      config: undefined,
      losses: ["tools[1] meaning dropped"],
    })
    expect(tools([shell]).losses).toEqual(["tools[1] meaning dropped"])
    const force = { toolChoice: { mode: "tool", name: "shell" } } as const
    expect(() => tools([lookup, shell], force)).toThrow("cannot be forced to call it")
    expect(() => tools([lookup, search], { toolChoice: { mode: "tool", name: "web_search" } }, NEWER)).toThrow(
      "cannot be forced",
    )
    expect(() => tools([search], { toolChoice: { mode: "required" } })).toThrow("cannot be forced")
  })

  test.each([
    [{ mode: "auto" }, { mode: "AUTO" }],
    [{ mode: "none" }, { mode: "NONE" }],
    [{ mode: "required" }, { mode: "ANY" }],
    [
      { mode: "tool", name: "f" },
      { mode: "ANY", allowedFunctionNames: ["f"] },
    ],
    [
      { mode: "some", names: ["f"], required: true },
      { mode: "ANY", allowedFunctionNames: ["f"] },
    ],
    [
      { mode: "some", names: ["f"], required: false },
      { mode: "VALIDATED", allowedFunctionNames: ["f"] },
    ],
  ] as const)("the tool choice %j is encoded", (toolChoice, functionCallingConfig) => {
    expect(tools([lookup], { toolChoice }).config).toEqual({ functionCallingConfig })
    expect(tools([], { toolChoice: { mode: "auto" } }).config).toBeUndefined()
  })
})

test("the constant part of a request comes first, and a longer conversation keeps the shorter one's prefix", () => {
  const turnList = fc.array(fc.tuple(fc.constantFrom("user", "assistant", "result"), fc.string({ minLength: 1 })), {
    minLength: 1,
    maxLength: 8,
  })
  const turn = ([role, text]: [string, string]): ConversationTurn =>
    role === "result"
      ? { role: "user", parts: [result("c", text)] }
      : {
          role: role === "user" ? "user" : "assistant",
          parts: [{ kind: "text", text }, ...(role === "user" ? [] : [call("c")])],
        }
  fc.assert(
    fc.property(turnList, (turns) => {
      const whole = { instructions: [{ kind: "text", text: "be kind" }] as const, settings: { temperature: 1 } }
      const body = (count: number) =>
        JSON.stringify(encode({ ...whole, turns: turns.slice(0, count).map(turn) }, NEWER).body)
      const longest = body(turns.length)
      for (let count = 1; count < turns.length; count++) expect(longest).toStartWith(body(count).replace(/[\]}]+$/, ""))
    }),
  )
})
