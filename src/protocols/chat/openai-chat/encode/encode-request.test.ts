// Encoding requests of other protocols, with their losses. Every body must pass this protocol's own checks.
import { describe, expect, test } from "bun:test"
import type { ChatRequest, ToolDefinition } from "../../../../canonical/chat/chat-request.ts"
import type { ContentPart, MediaPart } from "../../../../canonical/chat/content-part.ts"
import { GatewayError } from "../../../../canonical/gateway-error.ts"
import type { JsonObject } from "../../../../canonical/json.ts"
import type { UpstreamRequestContext } from "../../../chat-codec.ts"
import { canonical, encoded, upstreamContext } from "../codec.fixture.ts"
import { openaiChatCodec } from "../codec.ts"
import { readRequest } from "../read-request.ts"
import { sealCall, sealReasoning } from "../seals.ts"

const text = (value: string, at = "p"): ContentPart => ({ kind: "text", at, text: value })
const user = (...parts: ContentPart[]) => ({ role: "user" as const, at: "t", parts })
const assistant = (...parts: ContentPart[]) => ({ role: "assistant" as const, at: "t", parts })
const call = (id: string): ContentPart => ({
  kind: "tool-call",
  at: "c",
  id,
  name: "f",
  arguments: "",
  runsAt: "client",
})
const result = (callId: string, ...parts: ContentPart[]): ContentPart => ({
  kind: "tool-result",
  at: "r",
  callId,
  parts,
  isError: false,
})
const picture: MediaPart = {
  kind: "media",
  at: "p",
  media: "image",
  source: { at: "inline", mediaType: "image/png", base64: "AAAA" },
}
const pictured = { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } }
const called = (id: string) => ({ id, type: "function", function: { name: "f", arguments: "{}" } })

function messagesOf(request: Partial<ChatRequest>, more?: Partial<UpstreamRequestContext>) {
  const { body, losses } = encoded(request, more)
  if ((body.messages as []).length > 0) readRequest(body)
  return { messages: body.messages as unknown as JsonObject[], losses }
}

describe("messages", () => {
  test("text content is a string, and content with media a list", () => {
    const { messages, losses } = messagesOf({
      instructions: [text("a"), text("b")],
      turns: [user(text("hi")), assistant(text("x"), text("y")), user(text("look"), picture)],
    })
    expect(losses).toEqual([])
    expect(messages).toEqual([
      { role: "system", content: "a\n\nb" },
      { role: "user", content: "hi" },
      { role: "assistant", content: "xy" },
      { role: "user", content: [{ type: "text", text: "look" }, pictured] },
    ])
  })

  test("results directly follow their calls, whatever came between", () => {
    const { messages } = messagesOf({
      turns: [
        user(text("go")),
        assistant(text("Let me.")),
        assistant(call("1"), call("2")),
        user(text("and hurry")),
        user(text("well?"), result("1", text("r")), result("2")),
        assistant(text("done")),
      ],
    })
    expect(messages).toEqual([
      { role: "user", content: "go" },
      { role: "assistant", content: "Let me.", tool_calls: [called("1"), called("2")] },
      { role: "tool", tool_call_id: "1", content: "r" },
      { role: "tool", tool_call_id: "2", content: "" },
      { role: "user", content: "and hurry" },
      { role: "user", content: "well?" },
      { role: "assistant", content: "done" },
    ])
  })

  test("an image in a tool result follows it, and a failed result is marked as an error", () => {
    const { messages, losses } = messagesOf({
      turns: [assistant(call("1")), user({ ...result("1", text("bad"), picture), isError: true } as ContentPart)],
    })
    expect(messages).toEqual([
      { role: "assistant", content: null, tool_calls: [called("1")] },
      { role: "tool", tool_call_id: "1", content: "Error: bad" },
      { role: "user", content: [pictured] },
    ])
    expect(losses).toEqual(["meaning approximated r.content", "hint approximated r"])
  })

  test("a file in a tool result follows it, unless it is text", () => {
    const file = (mediaType: string): MediaPart => ({
      ...{ kind: "media", at: "f", media: "document" },
      source: { at: "inline", mediaType, base64: "aGk=" },
    })
    const { messages } = messagesOf({
      turns: [assistant(call("1")), user(result("1", file("text/plain"), file("application/pdf")))],
    })
    expect(messages.slice(1)).toMatchObject([
      { role: "tool", content: "hi" },
      { role: "user", content: [{ type: "file", file: { file_data: "data:application/pdf;base64,aGk=" } }] },
    ])
  })

  test("the prompt mentions JSON if JSON mode is requested", () => {
    const wanted = (...texts: string[]) =>
      messagesOf({ settings: { format: { kind: "json" } }, turns: texts.map((each) => user(text(each))) })
    expect(wanted("list them", "as json")).toEqual({
      messages: [
        { role: "system", content: "Answer in JSON." },
        { role: "user", content: "list them" },
        { role: "user", content: "as json" },
      ],
      losses: ["hint approximated format"],
    })
    expect(wanted("list them as JSON")).toMatchObject({ messages: [{ role: "user" }], losses: [] })
  })

  test("an instruction among the turns keeps its position", () => {
    const { messages } = messagesOf({
      turns: [user(text("a")), { role: "instruction", parts: [text("b")] }, user(text("c"))],
    })
    expect(messages.map(({ role }) => role)).toEqual(["user", "system", "user"])
  })

  test("an assistant turn without expressible parts is dropped", () => {
    const ran: ContentPart = {
      kind: "tool-call",
      at: "c",
      id: "1",
      name: "web_search",
      arguments: "{}",
      runsAt: "provider",
    }
    const { messages, losses } = messagesOf({
      turns: [user(text("a")), assistant(ran, result("1", text("found"))), user(text("b"))],
    })
    expect(messages.map(({ role }) => role)).toEqual(["user", "user"])
    expect(losses).toEqual(["meaning dropped c", "meaning dropped r"])
  })

  test("cache marks, citations, names and foreign content are reported as lost", () => {
    const extra = { protocol: "anthropic-messages", members: { context_management: {}, x: 1 } }
    const { losses } = messagesOf({
      extra,
      instructions: [{ ...text("a", "system[0]"), cacheMark: { ttl: "1h" } } as ContentPart],
      turns: [
        {
          ...user({ ...text("b"), citations: [{ url: "https://x" }] } as ContentPart),
          extra: { ...extra, members: { y: 1 } },
        },
        user({ kind: "foreign", at: "f", protocol: "anthropic-messages", value: {} }, { ...picture, name: "n" }),
      ],
    })
    expect(losses).toEqual([
      "hint dropped context_management",
      "hint dropped x",
      "hint dropped system[0].cache_control",
      "hint dropped p.citations",
      "hint dropped t.y",
      "meaning dropped f",
      "hint dropped p.name",
    ])
  })

  const media: [string, MediaPart["media"], MediaPart["source"], object | string][] = [
    [
      "a WAV file",
      "audio",
      { at: "inline", mediaType: "audio/wav", base64: "AA" },
      { type: "input_audio", input_audio: { data: "AA", format: "wav" } },
    ],
    ["audio in another format", "audio", { at: "inline", mediaType: "audio/flac", base64: "AA" }, "wav and mp3"],
    ["audio at a URL", "audio", { at: "url", url: "https://x" }, "Send the audio itself"],
    [
      "an image at a URL",
      "image",
      { at: "url", url: "https://x" },
      { type: "image_url", image_url: { url: "https://x" } },
    ],
    ["an image stored at another provider", "image", { at: "stored", id: "1", mintedBy: "x" }, "Send its content"],
    [
      "a file",
      "document",
      { at: "inline", mediaType: "application/pdf", base64: "AA" },
      { type: "file", file: { filename: "document.pdf", file_data: "data:application/pdf;base64,AA" } },
    ],
    [
      "a file stored at the host",
      "document",
      { at: "stored", id: "1", mintedBy: "host" },
      { type: "file", file: { file_id: "1" } },
    ],
    ["a file stored at another provider", "document", { at: "stored", id: "1", mintedBy: "x" }, "Send its content"],
    ["a file at a URL", "document", { at: "url", url: "https://x" }, "Send the file itself"],
    ["a text document", "document", { at: "text", mediaType: "text/plain", text: "t" }, { type: "text", text: "t" }],
    [
      "a text document in base64",
      "document",
      { at: "inline", mediaType: "text/csv", base64: "dA==" },
      { type: "text", text: "t" },
    ],
    ["a video", "video", { at: "inline", mediaType: "video/mp4", base64: "AA" }, "Send single frames"],
  ]

  test.each(media)("media is encoded: %s", (_, kind, source, expected) => {
    const part: MediaPart = { kind: "media", at: "contents[0].parts[1]", media: kind, source }
    const encode = () => messagesOf({ turns: [user(text("a"), part)] }).messages[0]?.content
    if (typeof expected !== "string") expect((encode() as unknown as object[])[1]).toEqual(expected)
    else {
      expect(encode).toThrow(expected)
      expect(encode).toThrow(GatewayError)
    }
  })
})

describe("seals", () => {
  const thought = (sealed?: { mintedBy: string; data: string }): ContentPart => ({
    kind: "reasoning",
    at: "p",
    form: "full",
    text: "hm",
    ...(sealed && { sealed }),
  })
  const back = (part: ContentPart) => {
    const { messages, losses } = messagesOf({ turns: [user(text("a")), assistant(part, text("b"))] })
    return { message: messages[1], losses }
  }

  test("reasoning returns to its minter, in its original member", () => {
    const plain = { role: "assistant", content: "b" }
    for (const member of ["reasoning", "reasoning_content"]) {
      expect(back(thought(sealReasoning({ member }, "host")))).toEqual({
        message: { ...plain, [member]: "hm" },
        losses: [],
      })
    }
    const details = [{ type: "reasoning.encrypted", data: "x" }]
    expect(back(thought(sealReasoning({ details }, "host"))).message).toEqual({ ...plain, reasoning_details: details })
    expect(back(thought(sealReasoning({ member: "thinking" }, "host"))).message?.content).toEqual([
      { type: "thinking", thinking: [{ type: "text", text: "hm" }] },
      { type: "text", text: "b" },
    ])
  })

  test("reasoning is not sent to another minter", () => {
    for (const sealed of [undefined, sealReasoning({ member: "reasoning" }, "x"), { mintedBy: "host", data: "sig" }]) {
      expect(back(thought(sealed))).toEqual({
        message: { role: "assistant", content: "b" },
        losses: ["hint dropped p"],
      })
    }
  })

  test("seals of calls return only to their minter", () => {
    const signed = { google: { thought_signature: "s" } }
    const sealedBy = (minter: string) => back({ ...call("1"), sealed: sealCall(signed, minter) } as ContentPart)
    expect(sealedBy("host").message?.tool_calls).toEqual([{ ...called("1"), extra_content: signed }])
    expect(sealedBy("x")).toMatchObject({ message: { tool_calls: [called("1")] }, losses: ["hint dropped c.sealed"] })
  })
})

describe("tools", () => {
  const fn: ToolDefinition = { kind: "function", at: "tools[0]", name: "f", parameters: { properties: { a: {} } } }
  const search: ToolDefinition = {
    kind: "hosted",
    at: "tools[1]",
    name: "s",
    purpose: "web-search",
    protocol: "x",
    value: {},
  }
  const encodeWith = (request: Partial<ChatRequest>) => encoded({ turns: [user(text("a"))], ...request })

  test("a schema states that it is an object", () => {
    const { body } = encodeWith({
      tools: [fn, { kind: "function", name: "g", parameters: {} }, { kind: "function", name: "h" }],
    })
    expect(body.tools).toEqual([
      { type: "function", function: { name: "f", parameters: { type: "object", properties: { a: {} } } } },
      { type: "function", function: { name: "g", parameters: { type: "object", properties: {} } } },
      { type: "function", function: { name: "h" } },
    ])
  })

  test("a tool is strict if its schema is closed", () => {
    const closed = { type: "object", properties: {}, additionalProperties: false }
    const strict = (parameters: object) =>
      encodeWith({ tools: [{ ...fn, strict: true, parameters } as ToolDefinition] })
    const [held, loose] = [strict(closed), strict({ type: "object", properties: {} })]
    expect([held.body.tools, held.losses]).toMatchObject([[{ function: { strict: true } }], []])
    expect(loose.body.tools).toMatchObject([{ function: { strict: false } }])
    expect(loose.losses).toEqual(["meaning approximated tools[0].strict"])
  })

  test("a tool with text input becomes a function of one string, and so do its calls", () => {
    const custom: ToolDefinition = { kind: "custom", at: "tools[0]", name: "c", format: { type: "grammar" } }
    const toolCall: ContentPart = {
      kind: "tool-call",
      id: "1",
      name: "c",
      arguments: "x",
      input: "text",
      runsAt: "client",
    }
    const { body, losses } = encodeWith({ tools: [custom], turns: [assistant(toolCall)] })
    expect(body.tools).toMatchObject([
      { type: "function", function: { name: "c", parameters: { required: ["input"] } } },
    ])
    expect(body.messages).toMatchObject([{ tool_calls: [{ function: { name: "c", arguments: '{"input":"x"}' } }] }])
    expect(losses).toEqual(["meaning approximated tools[0]"])
  })

  test("a hosted tool is dropped, and refused if it is required", () => {
    expect(encodeWith({ tools: [fn, search], toolChoice: { mode: "auto" } })).toMatchObject({
      body: { tools: [{ function: { name: "f" } }], tool_choice: "auto" },
      losses: ["meaning dropped tools[1]"],
    })
    const { body } = encodeWith({
      tools: [search],
      toolChoice: { mode: "auto" },
      settings: { parallelToolCalls: true },
    })
    expect(body.tools).toBeUndefined()
    expect(body.tool_choice).toBeUndefined()
    for (const toolChoice of [
      { mode: "tool", name: "s" },
      { mode: "required" },
      { mode: "some", names: ["s"], required: true },
    ] as const) {
      expect(() => encodeWith({ tools: [search], toolChoice })).toThrow("asks for a tool")
    }
  })

  test("tool choices are encoded", () => {
    const chosen = (toolChoice: ChatRequest["toolChoice"]) =>
      encodeWith({ tools: [fn], ...(toolChoice && { toolChoice }) }).body.tool_choice
    const f = { type: "function", function: { name: "f" } }
    expect(chosen({ mode: "required" })).toBe("required")
    expect(chosen({ mode: "tool", name: "f" })).toEqual(f)
    expect(chosen({ mode: "some", names: ["f", "s"], required: false })).toEqual({
      type: "allowed_tools",
      allowed_tools: { mode: "auto", tools: [f] },
    })
  })
})

describe("settings", () => {
  const set = (settings: ChatRequest["settings"], more: Partial<UpstreamRequestContext> = {}): JsonObject => {
    const { body, losses } = encoded(
      { settings, tools: [{ kind: "function", name: "f" }], turns: [user(text("a"))] },
      more,
    )
    readRequest(body)
    const { model: _, messages: __, tools: ___, ...rest } = body
    return { ...rest, ...(losses.length > 0 && { losses }) }
  }

  const schema = { type: "object" }
  const cases: [ChatRequest["settings"], object, Partial<UpstreamRequestContext>?][] = [
    [{ maxOutputTokens: 5 }, { max_tokens: 5 }],
    [{ maxOutputTokens: 5 }, { max_completion_tokens: 5 }, { reasons: true }],
    [{ maxOutputTokens: 5 }, { max_tokens: 5 }, { reasons: true, limitMembers: undefined }],
    [{ maxOutputTokens: 5 }, { max_completion_tokens: 5 }, { limitMembers: ["max_completion_tokens"] }],
    [
      { temperature: 0, topP: 0.5 },
      { temperature: 0, top_p: 0.5 },
    ],
    [{ topK: 4 }, { losses: ["hint dropped topK"] }],
    [
      { frequencyPenalty: 1, presencePenalty: 2 },
      { frequency_penalty: 1, presence_penalty: 2 },
    ],
    [{ stop: ["a"] }, { stop: ["a"] }],
    [{ stop: [] }, {}],
    [
      { seed: 1, candidates: 2 },
      { seed: 1, n: 2 },
    ],
    [{ logprobs: 0 }, { logprobs: true, top_logprobs: 0 }],
    [{ logprobs: 99 }, { logprobs: true, top_logprobs: 20, losses: ["hint approximated logprobs"] }],
    [{ format: { kind: "json" } }, { response_format: { type: "json_object" }, losses: ["hint approximated format"] }],
    [
      { format: { kind: "schema", schema } },
      { response_format: { type: "json_schema", json_schema: { name: "answer", schema } } },
    ],
    [{ reasoning: { effort: "max" } }, { reasoning_effort: "max" }, { reasons: true }],
    [
      { reasoning: { effort: "max" } },
      { reasoning_effort: "high", losses: ["hint approximated reasoning.effort"] },
      { reasons: true, efforts: ["low", "medium", "high"] },
    ],
    [
      { temperature: 0.5, topP: 1, frequencyPenalty: 0 },
      { losses: ["hint dropped temperature"] },
      { fixedSampling: true },
    ],
    [
      { reasoning: { budgetTokens: 8000, show: "full" } },
      {
        reasoning_effort: "medium",
        losses: ["hint dropped reasoning.show", "hint approximated reasoning.budgetTokens"],
      },
      { reasons: true },
    ],
    [{ reasoning: { effort: "high" } }, { losses: ["hint dropped reasoning"] }],
    [{ reasoning: { effort: "none" } }, {}],
    [{ parallelToolCalls: false }, { parallel_tool_calls: false }],
    [{ verbosity: "low" }, { verbosity: "low" }],
    [{ modalities: ["text"] }, {}],
    [
      { modalities: ["audio"] },
      {
        modalities: ["text", "audio"],
        audio: { voice: "alloy", format: "pcm16" },
        losses: ["hint approximated modalities"],
      },
    ],
    [
      { cacheKey: "k", endUser: "u" },
      { prompt_cache_key: "k", user: "u" },
    ],
  ]

  for (const [settings, expected, more] of cases) {
    test(`the settings ${JSON.stringify(settings)} become ${JSON.stringify(expected)}`, () => {
      expect(set(settings, more)).toEqual(expected as never)
    })
  }

  test("a setting whose loss would change the response is refused", () => {
    expect(() => set({ stop: ["1", "2", "3", "4", "5"] })).toThrow("at most 4")
    expect(() => set({ modalities: ["image"] })).toThrow("asks for images")
  })

  test("usage inside a stream is requested if the host requires it", () => {
    expect(set({}, { stream: true, streamUsage: "ask" })).toEqual({
      stream: true,
      stream_options: { include_usage: true },
    })
    expect(set({}, { stream: true, streamUsage: "sent" })).toEqual({ stream: true })
  })

  test("every setting that is mapped has a case here", () => {
    const mapped = Object.entries(openaiChatCodec.upstream.fates).filter(([, { fate }]) => fate === "mapped")
    expect(mapped.map(([name]) => name).sort()).toEqual(
      [...new Set(cases.flatMap(([settings]) => Object.keys(settings)))]
        .filter((name) => !["topK", "reasoning", "modalities"].includes(name))
        .sort(),
    )
  })
})

test("a longer conversation begins with the bytes of the shorter one", () => {
  const turns = [
    user(text("a")),
    assistant(call("1")),
    user(result("1", text("r"), picture)),
    assistant(text("b")),
    user(text("c")),
  ]
  const bytes = (count: number) =>
    JSON.stringify(
      openaiChatCodec.upstream.encodeRequest(canonical({ turns: turns.slice(0, count) }), upstreamContext()),
    )
  for (let count = 1; count < turns.length; count++) expect(bytes(count + 1)).toStartWith(bytes(count).slice(0, -2))
})
