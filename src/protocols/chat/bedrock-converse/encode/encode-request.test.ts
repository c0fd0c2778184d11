import { describe, expect, test } from "bun:test"
import type { ContentPart, MediaPart, ToolCallPart } from "../../../../canonical/chat/content-part.ts"
import type { JsonObject } from "../../../../canonical/json.ts"
import type { UpstreamRequestContext } from "../../../chat-codec.ts"
import * as models from "../codec.fixture.ts"
import { call, encoded, tool as f, refusal, request, result, toolSpec as spec, text, turnOf } from "../codec.fixture.ts"

const inline = (media: MediaPart["media"], mediaType: string, more: Partial<MediaPart> = {}): MediaPart => ({
  ...{ kind: "media", at: "p", media, source: { at: "inline", mediaType, base64: "AAAA" }, ...more },
})

const messages = (turns: Parameters<typeof request>[0], changes: Partial<UpstreamRequestContext> = {}) =>
  encoded(request({ tools: [f], ...turns }), changes).body.messages
const content = (parts: readonly ContentPart[], changes: Partial<UpstreamRequestContext> = {}) => {
  const { body, lost } = encoded(request({ turns: [turnOf("user", ...parts)] }), changes)
  return { content: (body.messages as unknown as { content: JsonObject[] }[])[0]?.content, lost }
}

describe("a conversation", () => {
  test("the body has no model, and its messages come last", () => {
    const { body, lost } = encoded(request({ instructions: [text("be kind")], tools: [f] }))
    expect(body).toEqual({
      toolConfig: { tools: [spec] },
      system: [{ text: "be kind" }],
      messages: [{ role: "user", content: [{ text: "hi" }] }],
    })
    expect(Object.keys(body).at(-1)).toBe("messages")
    expect(lost).toEqual([])
  })

  test("leading instructions go to `system`; later ones become user messages", () => {
    const turns = [
      turnOf("instruction", text("first")),
      turnOf("user", text("hi")),
      turnOf("instruction", text("then")),
    ]
    const { body, lost } = encoded(request({ instructions: [text("zeroth")], turns }))
    expect(body.system).toEqual([{ text: "zeroth" }, { text: "first" }])
    expect(body.messages).toEqual([{ role: "user", content: [{ text: "hi" }, { text: "then" }] }])
    expect(lost).toEqual(["approximated messages[0] (meaning)"])
  })

  test("roles alternate strictly, with tool results first", () => {
    const turns = [
      turnOf("user", text("a")),
      turnOf("user", text("b")),
      turnOf("assistant", call("1"), call("2")),
      turnOf("user", text("and")),
      turnOf("user", result("1")),
      turnOf("user", result("2", [], true)),
    ]
    expect(messages({ turns })).toEqual([
      { role: "user", content: [{ text: "a" }, { text: "b" }] },
      {
        role: "assistant",
        content: [
          { toolUse: { toolUseId: "1", name: "f", input: {} } },
          { toolUse: { toolUseId: "2", name: "f", input: {} } },
        ],
      },
      {
        role: "user",
        content: [
          { toolResult: { toolUseId: "1", content: [{ text: "ok" }] } },
          { toolResult: { toolUseId: "2", content: [{ text: "(nothing)" }], status: "error" } },
          { text: "and" },
        ],
      },
    ])
  })

  test("a conversation that does not begin with the user gets an opening message", () => {
    const { body, lost } = encoded(request({ turns: [turnOf("assistant", text("hello"))] }))
    expect(body.messages).toEqual([
      { role: "user", content: [{ text: "." }] },
      { role: "assistant", content: [{ text: "hello" }] },
    ])
    expect(lost).toEqual(["approximated messages (hint)"])
  })

  test("a turn of white space is dropped, and the turns around it are joined", () => {
    const turns = [turnOf("user", text("a")), turnOf("assistant", text(" \n")), turnOf("user", text("b"))]
    expect(messages({ turns })).toEqual([{ role: "user", content: [{ text: "a" }, { text: "b" }] }])
  })
})

describe("a tool call", () => {
  test.each<[string, Partial<ToolCallPart>, JsonObject, string[]]>([
    ["an object", { arguments: '{"a":[1]}' }, { a: [1] }, []],
    ["nothing", { arguments: "" }, {}, []],
    ["plain text", { arguments: "ls", input: "text" }, { input: "ls" }, []],
    ["invalid JSON", { arguments: "[1]" }, { input: "[1]" }, ["approximated p.arguments (meaning)"]],
  ])("a tool call with %s keeps it as its input", (_, more, input, expected) => {
    const { body, lost } = encoded(
      request({ tools: [f], turns: [turnOf("user", text("a")), turnOf("assistant", { ...call("1"), ...more })] }),
    )
    expect(body.messages).toMatchObject([{}, { content: [{ toolUse: { toolUseId: "1", name: "f", input } }] }])
    expect(lost).toEqual(expected)
  })

  test("a call that another provider ran is dropped with its result", () => {
    const turns = [turnOf("user", text("a")), turnOf("assistant", { ...call("1"), runsAt: "provider" }, result("1"))]
    const { body, lost } = encoded(request({ turns }))
    expect(body.messages).toEqual([{ role: "user", content: [{ text: "a" }] }])
    expect(lost).toEqual(["dropped p (meaning)", "dropped p (meaning)"])
  })
})

describe("a tool result", () => {
  const found = (parts: readonly ContentPart[], { model = models.CLAUDE, isError = false } = {}) =>
    content([result("1", parts, isError)], { model })

  test("a tool result may contain images and documents", () => {
    const parts = [text("see"), inline("image", "image/png"), inline("document", "application/pdf", { name: "a b" })]
    expect(found(parts)).toEqual({
      content: [
        {
          toolResult: {
            toolUseId: "1",
            content: [
              { text: "see" },
              { image: { format: "png", source: { bytes: "AAAA" } } },
              { document: { format: "pdf", name: "a b", source: { bytes: "AAAA" } } },
            ],
          },
        },
      ],
      lost: [],
    })
  })

  test("media that the model does not accept in a tool result follows it", () => {
    const { content: blocks, lost } = found([inline("document", "application/pdf")], { model: models.NOVA })
    expect(blocks).toMatchObject([
      { toolResult: { content: [{ text: "(see below)" }] } },
      { document: { format: "pdf", name: "Document 1" } },
      { text: "." },
    ])
    expect(lost).toContain("approximated p (hint)")
  })

  test("a failed tool result is marked in its text for models without an error status", () => {
    const { content: blocks, lost } = found([text("no")], { model: models.LLAMA, isError: true })
    expect(blocks).toEqual([
      { toolResult: { toolUseId: "1", content: [{ text: "The tool failed:" }, { text: "no" }] } },
    ])
    expect(lost).toContain("approximated p.isError (hint)")
  })
})

describe("media", () => {
  test.each<[MediaPart["media"], string, string]>([
    ["image", "image/png", "png"],
    ["image", "image/jpg", "jpeg"],
    ["image", "IMAGE/WEBP; q=1", "webp"],
    ["video", "video/mp4", "mp4"],
    ["video", "video/3gpp", "three_gp"],
    ["audio", "audio/wav", "wav"],
  ])("%s of type %s has the format %s", (media, mediaType, format) => {
    expect(content([inline(media, mediaType)]).content).toEqual([{ [media]: { format, source: { bytes: "AAAA" } } }])
  })

  test.each<[MediaPart["source"], string, string[]]>([
    [{ at: "inline", mediaType: "application/pdf", base64: "JVBERi0" }, "pdf", []],
    [{ at: "text", mediaType: "text/plain", text: "Grüße" }, "txt", []],
    [{ at: "text", mediaType: "text/markdown", text: "#" }, "md", []],
    [{ at: "text", mediaType: "text/x-rust", text: "fn" }, "txt", ["approximated p.mediaType (hint)"]],
    [{ at: "inline", mediaType: "application/json", base64: "e30=" }, "txt", ["approximated p.mediaType (hint)"]],
  ])("a document of %j has the format %s", (source, format, expected) => {
    const bytes =
      source.at === "text" ? Buffer.from(source.text).toString("base64") : "base64" in source && source.base64
    const { content: blocks, lost } = content([text("see"), { kind: "media", at: "p", media: "document", source }])
    const sent = bytes === "JVBERi0" ? "JVBERi0=" : bytes
    expect(blocks?.[1]).toEqual({ document: { format, name: "Document 1", source: { bytes: sent } } } as never)
    expect(lost).toEqual(expected)
  })

  test("documents have valid and unique names", () => {
    const names = ["report.pdf", "report.pdf", undefined, "Ärger  (1)", "…"]
    const parts = names.map((name) => inline("document", "application/pdf", name === undefined ? {} : { name }))
    const { content: blocks, lost } = content([text("see"), ...parts])
    expect(blocks?.slice(1).map(({ document }) => (document as JsonObject).name)).toEqual([
      ...["report-pdf", "report-pdf (2)", "Document 3", "rger (1)", "Document 5"],
    ])
    expect(lost).toEqual(new Array(4).fill("approximated p.name (hint)"))
  })

  test("a document without text gets a text part", () => {
    const { content: blocks, lost } = content([inline("document", "application/pdf")])
    expect(blocks?.[1]).toEqual({ text: "." })
    expect(lost).toEqual(["approximated messages (hint)"])
  })

  test.each<[string, MediaPart]>([
    ["a URL", inline("image", "", { source: { at: "url", url: "https://a.b/c.png" } })],
    ["a stored file", inline("document", "", { source: { at: "stored", id: "file-1", mintedBy: "openai-chat" } })],
    ["an image of an unsupported type", inline("image", "image/tiff")],
    ["a document of an unsupported type", inline("document", "application/zip")],
    ["nothing", inline("image", "image/png", { source: { at: "inline", mediaType: "image/png", base64: "" } })],
  ])("%s is refused", (_, part) => {
    expect(refusal(() => content([part]))).toMatchObject({ code: "unsupported_parameter", param: "p" })
  })
})

describe("reasoning in the conversation", () => {
  const encodeSealed = (sealed: { mintedBy: string; data: string } | undefined) => {
    const part = { kind: "reasoning", form: "full", at: "p", text: "hm", ...(sealed && { sealed }) } as const
    const { body, lost } = encoded(
      request({ turns: [turnOf("user", text("a")), turnOf("assistant", part, text("b"))] }),
    )
    return { first: (body.messages as unknown as { content: JsonObject[] }[])[1]?.content[0], lost }
  }

  test("reasoning returns unchanged to its minter", () => {
    expect(encodeSealed({ mintedBy: "the-minter", data: "c2ln" })).toEqual({
      first: { reasoningContent: { reasoningText: { text: "hm", signature: "c2ln" } } },
      lost: [],
    })
    const redacted = { reasoningContent: { redactedContent: Buffer.from("cmVk").toString("base64") } }
    expect(encodeSealed({ mintedBy: "the-minter", data: "redacted:cmVk" }).first).toEqual(redacted)
    const bytes = { reasoningContent: { redactedContent: "/wA=" } }
    expect(encodeSealed({ mintedBy: "the-minter", data: "redacted-bytes:/wA=" }).first).toEqual(bytes)
  })

  test("reasoning that is unsealed or sealed by another provider is dropped", () => {
    expect(encodeSealed({ mintedBy: "another", data: "x" })).toEqual({
      first: { text: "b" },
      lost: ["dropped p (hint)"],
    })
    expect(encodeSealed(undefined)).toEqual({ first: { text: "b" }, lost: ["dropped p (hint)"] })
  })
})

test("an unfinished assistant message ends without white space", () => {
  const begun = (...words: string[]) =>
    encoded(request({ turns: [turnOf("user", text("hi")), turnOf("assistant", ...words.map((each) => text(each)))] }))
  expect(begun("so ", "far \n")).toMatchObject({
    body: { messages: [{}, { content: [{ text: "so " }, { text: "far" }] }] },
    lost: ["approximated messages[0] (hint)"],
  })
  expect(begun("so").lost).toEqual([])
})

describe("a cache mark", () => {
  const point = { cachePoint: { type: "default" } }
  const marked = (words: string, ttl?: "5m" | "1h") => text(words, { cacheMark: ttl ? { ttl } : {} })

  test("a cache mark becomes a block after instructions, text, results and tools", () => {
    const { body, lost } = encoded(
      request({
        instructions: [marked("a", "1h"), text("b")],
        turns: [
          turnOf("user", marked("c"), text("d")),
          turnOf("assistant", call("1")),
          turnOf("user", result("1", [marked("x")])),
        ],
        tools: [{ ...f, cacheMark: { ttl: "1h" } }],
      }),
    )
    expect(body.system).toEqual([{ text: "a" }, { cachePoint: { type: "default", ttl: "1h" } }, { text: "b" }])
    expect(body.toolConfig).toEqual({ tools: [spec, { cachePoint: { type: "default", ttl: "1h" } }] })
    expect(body.messages).toMatchObject([
      { content: [{ text: "c" }, point, { text: "d" }] },
      {},
      { content: [{ toolResult: { toolUseId: "1" } }, point] },
    ])
    expect(lost).toEqual([])
  })

  test("the last four cache marks are sent, and none lasts longer than the one before it", () => {
    const instructions = [marked("a"), marked("b", "1h"), marked("c"), marked("d", "1h"), marked("e")]
    const { body, lost } = encoded(request({ instructions }))
    const hour = { cachePoint: { type: "default", ttl: "1h" } }
    expect(body.system).toEqual([
      { text: "a" },
      { text: "b" },
      hour,
      { text: "c" },
      point,
      { text: "d" },
      point,
      { text: "e" },
      point,
    ] as never)
    expect(lost).toEqual(["dropped p.cache_control (hint)", "approximated p.cache_control.ttl (hint)"])
  })

  test("a cache mark after media is placed before them, once", () => {
    const image = inline("image", "image/png")
    const { content: blocks, lost } = content([marked("a"), image, { ...image, cacheMark: {} }, text("b")])
    expect(blocks?.map((block) => Object.keys(block)[0])).toEqual(["text", "cachePoint", "image", "image", "text"])
    expect(lost).toEqual(["approximated p.cache_control (hint)"])
    const first = content([{ ...image, cacheMark: {} }])
    expect(first).toEqual({
      content: [{ image: { format: "png", source: { bytes: "AAAA" } } }],
      lost: ["dropped p.cache_control (hint)"],
    })
  })

  test.each<[string, string[]]>([
    [models.NOVA, ["approximated p.cache_control.ttl (hint)", "dropped tools[0].cache_control (hint)"]],
    [models.OLD_CLAUDE, ["approximated p.cache_control.ttl (hint)", "approximated tools[0].cache_control.ttl (hint)"]],
    [models.LLAMA, ["dropped p.cache_control (hint)", "dropped tools[0].cache_control (hint)"]],
  ])("a cache mark is sent as %s supports it", (model, expected) => {
    const tools = [{ ...f, cacheMark: { ttl: "1h" as const } }]
    expect(encoded(request({ turns: [turnOf("user", marked("a", "1h"))], tools }), { model }).lost).toEqual(expected)
  })
})

test("every passthrough field of another protocol is reported as lost", () => {
  const extra = (name: string) => ({ extra: { protocol: "openai-chat", members: { [name]: 1, nothing: null } } })
  const { lost } = encoded(
    request({
      ...extra("top"),
      instructions: [{ ...text("a"), at: "i", ...extra("b") }],
      turns: [{ ...turnOf("user", text("c", extra("d"))), ...extra("e") }],
      tools: [{ ...f, ...extra("g") }],
    }),
  )
  expect(lost).toEqual([
    ...["dropped top (hint)", "dropped messages[0].e (hint)", "dropped p.d (hint)"],
    ...["dropped tools[0].g (hint)", "dropped i.b (hint)"],
  ])
  const foreign = { kind: "foreign", at: "p", protocol: "openai-chat", value: {} } as const
  expect(content([text("a"), foreign]).lost).toEqual(["dropped p (meaning)"])
})
