import { describe, expect, test } from "bun:test"
import { assembleResponse } from "../../../../canonical/chat/assemble-response.ts"
import type { CandidateFinish, ChatResponse } from "../../../../canonical/chat/chat-response.ts"
import type { ContentPart } from "../../../../canonical/chat/content-part.ts"
import { encloseSeal, type SealedContent } from "../../../../canonical/chat/sealed-content.ts"
import type { StreamEvent } from "../../../../canonical/chat/stream-event.ts"
import type { JsonObject } from "../../../../canonical/json.ts"
import type { Loss } from "../../../../canonical/loss.ts"
import { decoded, encodeContext, encoded, readStream, writeStream } from "../codec.fixture.ts"
import { anthropicMessagesCodec } from "../codec.ts"
import { encloseCallSeal } from "../seals.ts"

const { ingress, upstream } = anthropicMessagesCodec

function encodeAnswer(response: Partial<ChatResponse>) {
  const losses: Loss[] = []
  const body = ingress.encodeResponse({ candidates: [], ...response }, encodeContext(losses))
  return { body, lost: losses.map(({ path, weight, how }) => `${how} ${path} (${weight})`) }
}
const answer = (parts: readonly ContentPart[], finish: CandidateFinish = { reason: "stop" }) =>
  encodeAnswer({ candidates: [{ index: 0, parts, finish }] })

test("a plain answer is encoded", () => {
  const response = {
    id: "chatcmpl-1",
    candidates: [{ index: 0, parts: [{ kind: "text", text: "hi" }], finish: { reason: "stop", word: "stop" } }],
    usage: { input: 5, cacheRead: 2, output: 3, reasoning: 4 },
  } as const
  expect(encodeAnswer(response)).toEqual({
    body: {
      id: "msg_0123456789abcdefghijklmn",
      type: "message",
      role: "assistant",
      model: "a/b",
      content: [{ type: "text", text: "hi" }],
      stop_reason: "end_turn",
      stop_sequence: null,
      stop_details: null,
      usage: {
        input_tokens: 5,
        cache_creation_input_tokens: 0,
        cache_read_input_tokens: 2,
        output_tokens: 7,
        output_tokens_details: { thinking_tokens: 4 },
      },
    },
    lost: [],
  })
})

test("encoded usage decodes to the same cost", () => {
  const usage = { input: 5, cacheRead: 2, cacheWrite: 3, cacheWrite1h: 4, output: 3, reasoning: 4 }
  const { body } = encodeAnswer({ usage })
  expect(upstream.decodeResponse(body, { id: "", minter: "m" })?.usage).toEqual(usage)
})

describe("stop reasons", () => {
  const call: ContentPart = { kind: "tool-call", id: "1", name: "f", arguments: "{}", runsAt: "client" }
  const cases: [CandidateFinish, ContentPart[], string | null, string | null][] = [
    [{ reason: "stop" }, [], "end_turn", null],
    [{ reason: "stop" }, [call], "tool_use", null],
    [{ reason: "stop" }, [{ kind: "refusal", text: "no" }], "refusal", null],
    [{ reason: "tool-calls" }, [call], "tool_use", null],
    [{ reason: "length" }, [call], "max_tokens", null],
    [{ reason: "length", word: "model_context_window_exceeded" }, [], "model_context_window_exceeded", null],
    [{ reason: "stop-sequence", stopSequence: "x" }, [], "stop_sequence", "x"],
    [{ reason: "filtered" }, [], "refusal", null],
    [{ reason: "paused", word: "pause_turn" }, [], "pause_turn", null],
    [{ reason: "other", word: "toString" }, [], "end_turn", null],
    [{ reason: "other", word: "UNEXPECTED_TOOL_CALL" }, [call], "tool_use", null],
    [{ reason: "stop", word: "end_turn" }, [call], "tool_use", null],
    [{ reason: "tool-calls", word: "tool_use" }, [], "end_turn", null],
  ]
  for (const [finish, parts, reason, sequence] of cases) {
    test(`the finish and parts ${JSON.stringify([finish, parts.map(({ kind }) => kind)])} have their stop reason`, () => {
      const { body } = answer(parts, finish)
      expect([body.stop_reason, body.stop_sequence]).toEqual([reason, sequence] as never)
    })
  }
})

test("a response without a finish reason gets the default one", () => {
  const call: ContentPart = { kind: "tool-call", id: "1", name: "f", arguments: "{}", runsAt: "client" }
  expect(encodeAnswer({ candidates: [{ index: 0, parts: [call] }] }).body.stop_reason).toBe("tool_use")
  expect(encodeAnswer({ candidates: [{ index: 0, parts: [{ kind: "text", text: "a" }] }] }).body.stop_reason).toBe(
    "end_turn",
  )
})

test("a finish reason without a counterpart is reported as a loss", () => {
  const { lost } = answer([{ kind: "text", text: "a" }], { reason: "other", word: "OTHER" })
  expect(lost).toEqual(["approximated stop_reason (meaning)"])
})

const google: SealedContent = { mintedBy: "google", data: "s" }
const parts: [string, ContentPart, JsonObject[], string[]][] = [
  ["an empty text", { kind: "text", text: "" }, [], []],
  [
    "another vendor's citation",
    { kind: "text", text: "x", citations: [{ url: "https://a", title: "t", start: 0, end: 1 }] },
    [
      {
        type: "text",
        text: "x",
        citations: [
          { type: "web_search_result_location", cited_text: "", encrypted_index: "", title: "t", url: "https://a" },
        ],
      },
    ],
    ["approximated content[0].citations (hint)"],
  ],
  [
    "unsigned reasoning",
    { kind: "reasoning", form: "full", text: "hm" },
    [{ type: "thinking", thinking: "hm", signature: "" }],
    [],
  ],
  [
    "reasoning with another minter's seal",
    { kind: "reasoning", form: "summary", text: "hm", sealed: google },
    [{ type: "thinking", thinking: "hm", signature: encloseSeal(google) }],
    [],
  ],
  ["hidden reasoning without a response", { kind: "reasoning", form: "hidden", text: "", sealed: google }, [], []],
  [
    "a call with another minter's seal",
    { kind: "tool-call", id: "1", name: "f", arguments: '{"a":1}', runsAt: "client", sealed: google },
    [
      { type: "redacted_thinking", data: encloseCallSeal("1", google) },
      { type: "tool_use", id: "1", name: "f", caller: { type: "direct" }, input: { a: 1 } },
    ],
    [],
  ],
  [
    "a call with text input and no id",
    { kind: "tool-call", id: "", name: "f", arguments: "ls", input: "text", runsAt: "client" },
    [
      {
        type: "tool_use",
        id: "toolu_0123456789abcdefghijklmn0",
        name: "f",
        caller: { type: "direct" },
        input: { input: "ls" },
      },
    ],
    [],
  ],
  [
    "a call that another provider ran",
    { kind: "tool-call", id: "ws_1", name: "web_search", arguments: "{}", runsAt: "provider" },
    [],
    ["dropped content[0] (meaning)"],
  ],
  [
    "the result of a call that another provider ran",
    { kind: "tool-result", callId: "ws_1", name: "web_search", parts: [], isError: false },
    [],
    ["dropped content[0] (meaning)"],
  ],
  [
    "an image",
    { kind: "media", media: "image", source: { at: "url", url: "u" } },
    [],
    ["dropped content[0] (meaning)"],
  ],
  ["another protocol's block", { kind: "foreign", protocol: "x", value: {} }, [], ["dropped content[0] (meaning)"]],
]

describe("parts of a response", () => {
  for (const [name, part, content, lost] of parts) {
    test(`${name} is encoded`, () => expect(answer([part])).toMatchObject({ body: { content }, lost }))
  }

  for (const [name, part, content, lost] of parts) {
    test(`${name} is encoded to the same in a stream`, () => {
      const losses: Loss[] = []
      const written = writeStream(eventsOf(part), encodeContext(losses)).join("")
      const { parts: read } = upstream.decodeResponse({ content }, { id: "", minter: "anthropic" })?.candidates[0] ?? {}
      expect(readParts(written)).toEqual(read as never)
      expect(losses.map(({ path, weight, how }) => `${how} ${path} (${weight})`)).toEqual(lost)
    })
  }
})

function readParts(written: string): readonly ContentPart[] {
  return assembleResponse(readStream([written])).candidates[0]?.parts ?? []
}

function eventsOf(part: ContentPart): StreamEvent[] {
  const at = { candidate: 0, part: 0 }
  const end = (sealed?: SealedContent): StreamEvent[] => [
    { type: "part-end", ...at, ...(sealed && { sealed }) },
    { type: "candidate-end", candidate: 0, finish: { reason: "stop" } },
    { type: "stream-end" },
  ]
  const begin = (start: Extract<StreamEvent, { type: "part-start" }>["start"]): StreamEvent => ({
    type: "part-start",
    ...at,
    start,
  })
  if (part.kind === "tool-call") {
    const { arguments: text, sealed, ...start } = part
    return [begin({ ...start, ...(sealed && { sealed }) }), { type: "part-delta", ...at, text }, ...end(sealed)]
  }
  if (part.kind === "reasoning") {
    return [
      begin({ kind: "reasoning", form: part.form }),
      { type: "part-delta", ...at, text: part.text },
      ...end(part.sealed),
    ]
  }
  if (part.kind === "text" || part.kind === "refusal") {
    const citations = part.kind === "text" ? (part.citations ?? []) : []
    const cites = citations.map((citation): StreamEvent => ({ type: "part-cite", ...at, citation }))
    return [begin({ kind: part.kind }), { type: "part-delta", ...at, text: part.text }, ...cites, ...end()]
  }
  return [begin({ kind: "whole", part }), ...end()]
}

test("other vendors' seals cross the client unchanged and are sent only to their minter", () => {
  const thought: ContentPart = { kind: "reasoning", form: "summary", text: "hm", sealed: google }
  const hidden: ContentPart = {
    kind: "reasoning",
    form: "hidden",
    text: "",
    sealed: { mintedBy: "anthropic", data: "redacted:r" },
  }
  const signed: ContentPart = {
    kind: "reasoning",
    form: "full",
    text: "so",
    sealed: { mintedBy: "anthropic", data: "sig" },
  }
  const call: ContentPart = { kind: "tool-call", id: "1", name: "f", arguments: "{}", runsAt: "client", sealed: google }
  const { content } = answer([thought, hidden, signed, call]).body
  const request = decoded({ model: "a/b", max_tokens: 1, messages: [{ role: "assistant", content: content as never }] })
  const seals = request.turns[0]?.parts.map((part) => ("sealed" in part ? part.sealed : undefined))
  expect(seals).toEqual([google, hidden.sealed, signed.sealed, google])
  const { body, lost } = encoded(request)
  expect(body.messages).toEqual([
    {
      role: "assistant",
      content: [
        { type: "redacted_thinking", data: "r" },
        { type: "thinking", thinking: "so", signature: "sig" },
        { type: "tool_use", id: "1", name: "f", input: {} },
      ],
    },
  ])
  expect(lost).toEqual(["dropped messages[0].content[0] (hint)", "dropped messages[0].content[4].sealed (hint)"])
})

test("a second candidate is reported as lost", () => {
  const candidate = (index: number) => ({ index, parts: [{ kind: "text", text: String(index) }] as const })
  expect(encodeAnswer({ candidates: [candidate(0), candidate(1)] })).toMatchObject({
    body: { content: [{ text: "0" }] },
    lost: ["dropped candidates[1] (meaning)"],
  })
})

test("a body that is not a response decodes to undefined", () => {
  for (const body of [{}, { type: "error", content: [] }, { content: "x" }]) {
    expect(upstream.decodeResponse(body, { id: "", minter: "m" })).toBeUndefined()
  }
})
