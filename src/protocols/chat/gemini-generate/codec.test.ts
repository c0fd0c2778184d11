// Responses through the codec: decoded, and encoded for clients of this protocol, whole and streamed.
import { describe, expect, test } from "bun:test"
import fc from "fast-check"
import { assembleResponse } from "../../../canonical/chat/assemble-response.ts"
import type { CandidateFinish, ChatResponse, ResponseCandidate } from "../../../canonical/chat/chat-response.ts"
import type { ContentPart } from "../../../canonical/chat/content-part.ts"
import { encloseSeal, type SealedContent } from "../../../canonical/chat/sealed-content.ts"
import type { PartStart, StreamEvent } from "../../../canonical/chat/stream-event.ts"
import type { Json, JsonObject } from "../../../canonical/json.ts"
import { decodeByteText, encodeByteText } from "../../../transport/json/byte-text.ts"
import { decodeSse } from "../../../transport/streams/sse.ts"
import { breaches, client, decoded, decodedStream, decoding, upstream, written } from "./codec.fixture.ts"
import { geminiGenerateCodec } from "./codec.ts"

const { ingress, upstream: out } = geminiGenerateCodec
const stop: CandidateFinish = { reason: "stop", word: "STOP" }
const google = (data: string): SealedContent => ({ mintedBy: "google", data })

function answer(parts: object[], more: object = {}): JsonObject {
  return { candidates: [{ content: { parts, role: "model" }, finishReason: "STOP", index: 0, ...more }] } as JsonObject
}
const read = (body: JsonObject) => out.decodeResponse(body, decoding)

describe("decoding a response", () => {
  test("reasoning, calls and seals are decoded, and calls without ids get some", () => {
    const body = answer([
      { text: "hm", thought: true, thoughtSignature: "s1" },
      { text: "Let me look." },
      { functionCall: { name: "f", args: { x: 1 } }, thoughtSignature: "s2" },
      { functionCall: { name: "f" } },
    ])
    expect(read({ ...body, responseId: "r", modelVersion: "m", usageMetadata: { promptTokenCount: 1 } })).toEqual({
      id: "r",
      model: "m",
      candidates: [
        {
          index: 0,
          parts: [
            { kind: "reasoning", form: "summary", text: "hm", sealed: google("s1") },
            { kind: "text", text: "Let me look." },
            {
              kind: "tool-call",
              id: "call_abcdefghijklmnopqrstuvwx_0_0",
              name: "f",
              arguments: '{"x":1}',
              runsAt: "client",
              sealed: google("s2"),
            },
            {
              kind: "tool-call",
              id: "call_abcdefghijklmnopqrstuvwx_0_1",
              name: "f",
              arguments: "{}",
              runsAt: "client",
            },
          ],
          finish: { reason: "tool-calls", word: "STOP" },
        },
      ],
      usage: { input: 1 },
    })
  })

  test("sources are decoded with spans converted from bytes to UTF-16 units, and other fields are kept", () => {
    const groundingMetadata = {
      groundingChunks: [{ web: { uri: "https://a.org", title: "a" } }, { retrievedContext: { title: "b", text: "q" } }],
      groundingSupports: [
        { segment: { endIndex: 4, text: "Grü" }, groundingChunkIndices: [0, 1, 7] },
        { segment: { startIndex: 5, endIndex: 8, text: "Gott" }, groundingChunkIndices: [1] },
        { segment: { startIndex: 5, endIndex: 800 }, groundingChunkIndices: [0] },
      ],
      webSearchQueries: ["q"],
    }
    const citationMetadata = { citations: [{ startIndex: 0, endIndex: 1, uri: "https://c.org" }] }
    const read1 = read(
      answer([{ text: "Grü" }, { text: " Gott", thoughtSignature: "s" }], { groundingMetadata, citationMetadata }),
    )
    expect(read1?.candidates[0]?.parts).toEqual([
      {
        kind: "text",
        text: "Grü Gott",
        citations: [
          { url: "https://a.org", title: "a", start: 0, end: 3 },
          { title: "b", quote: "q", start: 0, end: 3 },
          { title: "b", quote: "q", start: 4, end: 7 },
          { url: "https://a.org", title: "a" },
          { url: "https://c.org", start: 0, end: 1 },
        ],
      },
      { kind: "reasoning", form: "hidden", text: "", sealed: google("@s") },
    ])
    expect(read1?.candidates[0]?.extra?.members).toEqual({ groundingMetadata, citationMetadata })
  })

  test("log probabilities are decoded", () => {
    const likely = (token: string) => ({ token, tokenId: 1, logProbability: -1 })
    const logprobsResult = {
      chosenCandidates: [likely("a"), likely("b")],
      topCandidates: [{ candidates: [likely("c")] }],
    }
    expect(read(answer([{ text: "ab" }], { logprobsResult }))?.candidates[0]?.logprobs).toEqual([
      { token: "a", logprob: -1, others: [{ token: "c", logprob: -1 }] },
      { token: "b", logprob: -1, others: [] },
    ])
  })

  test("a blocked prompt decodes to a filtered response; an error or another body to undefined", () => {
    expect(read({ promptFeedback: { blockReason: "SAFETY" } })?.candidates).toEqual([
      { index: 0, parts: [], finish: { reason: "filtered", word: "SAFETY" } },
    ])
    expect(read({ error: { code: 400 }, candidates: [] })).toBeUndefined()
    expect(read({ choices: [] })).toBeUndefined()
  })

  const reasons: [string, CandidateFinish["reason"]][] = [
    ["STOP", "stop"],
    ["MAX_TOKENS", "length"],
    ["SAFETY", "filtered"],
    ["RECITATION", "filtered"],
    ["MALFORMED_FUNCTION_CALL", "other"],
    ["SOMETHING_NEW", "other"],
  ]
  test.each([
    "STOP",
    "UNEXPECTED_TOOL_CALL",
    "MISSING_THOUGHT_SIGNATURE",
    "TOO_MANY_TOOL_CALLS",
    "OTHER",
    "SOMETHING_NEW",
  ])("a response with a tool call and the reason %s waits for the tool", (finishReason) => {
    const body = answer([{ functionCall: { name: "f", args: {} } }], { finishReason })
    expect(read(body)?.candidates[0]?.finish).toEqual({ reason: "tool-calls", word: finishReason })
  })

  test.each(["MAX_TOKENS", "SAFETY"])(
    "a response with a tool call that was cut by %s does not wait for the tool",
    (finishReason) => {
      const body = answer([{ functionCall: { name: "f", args: {} } }], { finishReason })
      expect(read(body)?.candidates[0]?.finish?.reason).not.toBe("tool-calls")
    },
  )

  test.each(reasons)("a finish reason %s is decoded", (finishReason, reason) => {
    const body = answer([{ text: "a" }], { finishReason })
    const finish = read(body)?.candidates[0]?.finish
    expect(finish).toEqual({ reason, word: finishReason })
    const again = ingress.encodeResponse({ candidates: [{ index: 0, parts: [], ...(finish && { finish }) }] }, client())
    expect(again).toMatchObject({ candidates: [{ finishReason }] })
  })
})

describe("encoding a response", () => {
  const write = (candidate: Partial<ResponseCandidate>, more: Partial<ChatResponse> = {}) => {
    const context = client()
    const body = ingress.encodeResponse({ candidates: [{ index: 0, parts: [], ...candidate }], ...more }, context)
    return { body, losses: context.losses.map(({ path, weight }) => `${path} ${weight}`) }
  }

  test("a response has the caller's model name and the usage", () => {
    const usage = { input: 5, cacheRead: 3, cacheWrite: 2, audioInput: 1, output: 4, reasoning: 6, imageOutput: 7 }
    const { body, losses } = write(
      { parts: [{ kind: "text", text: "hi" }], finish: { reason: "length", word: "max_tokens" } },
      { id: "chatcmpl-1", usage },
    )
    expect(body).toEqual({
      candidates: [{ content: { parts: [{ text: "hi" }], role: "model" }, finishReason: "MAX_TOKENS", index: 0 }],
      usageMetadata: {
        promptTokenCount: 11,
        candidatesTokenCount: 11,
        thoughtsTokenCount: 6,
        totalTokenCount: 28,
        cachedContentTokenCount: 3,
        promptTokensDetails: [{ modality: "AUDIO", tokenCount: 1 }],
        candidatesTokensDetails: [{ modality: "IMAGE", tokenCount: 7 }],
      },
      modelVersion: "a/b",
      responseId: "abcdefghijklmnopqrstuvwx",
    })
    expect(losses).toEqual(["usage.cacheWrite hint"])
  })

  test("parts that cannot be expressed are reported as losses", () => {
    const parts: ContentPart[] = [
      { kind: "refusal", text: "no" },
      { kind: "tool-call", id: "s", name: "web_search", arguments: "{}", runsAt: "provider" },
      { kind: "tool-result", callId: "s", parts: [], isError: false },
      { kind: "foreign", protocol: "openai-chat", value: {} },
    ]
    const { body, losses } = write({ parts, finish: { reason: "stop-sequence", stopSequence: "x" } })
    expect(body).toMatchObject({ candidates: [{ content: { parts: [{ text: "no" }] }, finishReason: "STOP" }] })
    const at = "candidates[0].content.parts"
    expect(losses).toEqual([
      `${at}[0] hint`,
      `${at}[1] hint`,
      `${at}[2] hint`,
      `${at}[3] meaning`,
      "finish.stopSequence hint",
    ])
  })

  test("citations are encoded as grounding metadata", () => {
    const citations = [
      { url: "https://a.org", title: "a", start: 1, end: 2 },
      { title: "b", quote: "q" },
    ]
    const { body } = write({
      parts: [
        { kind: "text", text: "ü" },
        { kind: "text", text: "äö", citations },
      ],
    })
    expect(body.candidates).toMatchObject([
      {
        groundingMetadata: {
          groundingChunks: [
            { web: { uri: "https://a.org", title: "a" } },
            { retrievedContext: { title: "b", text: "q" } },
          ],
          groundingSupports: [{ segment: { startIndex: 4, endIndex: 6, text: "ö" }, groundingChunkIndices: [0] }],
        },
      },
    ])
  })

  test("a response decodes and encodes to the same, including its own members", () => {
    const body: JsonObject = {
      ...answer(
        [
          { text: "hm", thought: true },
          { text: "a", thoughtSignature: "s" },
          { inlineData: { mimeType: "image/png", data: "aGk=" } },
          { executableCode: { id: "x", language: "PYTHON", code: "1" } },
          { codeExecutionResult: { id: "x", outcome: "OUTCOME_FAILED" } },
          { newThing: 1 },
        ],
        { safetyRatings: [{ category: "c" }], groundingMetadata: { webSearchQueries: ["q"] }, avgLogprobs: -1 },
      ),
      usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 2, totalTokenCount: 3 },
      modelVersion: "a/b",
      responseId: "abcdefghijklmnopqrstuvwx",
      modelStatus: { x: 1 },
    }
    const canonical = out.decodeResponse(body, { ...decoding, minter: "gemini-generate" })
    expect(canonical && ingress.encodeResponse(canonical, client())).toEqual(body)
    const blocked = {
      promptFeedback: { blockReason: "SAFETY" },
      modelVersion: "a/b",
      responseId: "abcdefghijklmnopqrstuvwx",
    }
    const refused = read(blocked)
    expect(refused && ingress.encodeResponse(refused, client())).toEqual(blocked)
  })
})

test("a seal crosses a client of this protocol unchanged and returns only to its minter", () => {
  const seals = [google("@s"), { mintedBy: "anthropic", data: "ä.b" }, { mintedBy: "openai", data: "gAAA" }]
  const parts: ContentPart[] = [
    { kind: "text", text: "a" },
    ...seals.map((sealed): ContentPart => ({ kind: "reasoning", form: "hidden", text: "", sealed })),
    { kind: "reasoning", form: "full", text: "hm", sealed: { mintedBy: "anthropic", data: "x" } },
    { kind: "tool-call", id: "c", name: "f", arguments: "{}", runsAt: "client", sealed: google("s2") },
  ]
  const body = ingress.encodeResponse({ candidates: [{ index: 0, parts, finish: stop }] }, client())
  const [{ content }] = body.candidates as unknown as [{ content: Json }]
  const request = decoded({ contents: [content] })
  const back = request.turns[0]?.parts.flatMap((part) => ("sealed" in part && part.sealed ? [part.sealed] : []))
  expect(back).toEqual([...seals, { mintedBy: "anthropic", data: "x" }, google("s2")])
  const sent = out.encodeRequest(request, upstream())
  expect(sent.contents).toEqual([
    {
      role: "model",
      parts: [
        { text: "a", thoughtSignature: "s" },
        { text: "hm", thought: true },
        { functionCall: { id: "c", name: "f", args: {} }, thoughtSignature: "s2" },
      ],
    },
  ])
  const unknown = { newThing: 1, thoughtSignature: encloseSeal({ mintedBy: "anthropic", data: "x" }) }
  const foreign = decoded({ contents: [{ role: "model", parts: [unknown] }] })
  expect(out.encodeRequest(foreign, upstream()).contents).toEqual([{ role: "model", parts: [{ newThing: 1 }] }])
})

describe("encoding a stream", () => {
  const start = (part: number, given: PartStart): StreamEvent => ({
    type: "part-start",
    candidate: 0,
    part,
    start: given,
  })
  const delta = (part: number, text: string): StreamEvent => ({ type: "part-delta", candidate: 0, part, text })
  const end = (part: number, sealed?: SealedContent): StreamEvent => ({
    type: "part-end",
    candidate: 0,
    part,
    ...(sealed && { sealed }),
  })
  const over: StreamEvent[] = [{ type: "candidate-end", candidate: 0, finish: stop }, { type: "stream-end" }]
  const call = (id: string): PartStart => ({ kind: "tool-call", id, name: "f", runsAt: "client" })
  const chunk = (frame: string): JsonObject => JSON.parse(decodeByteText(frame.replace(/^data: /, "")))
  /** Without the empty part at the end. */
  const partsIn = (frames: string[]) => allIn(frames).slice(0, -1)
  const allIn = (frames: string[]) =>
    frames.flatMap((frame) =>
      (chunk(frame).candidates as [{ content: { parts: Json[] } }]).flatMap(({ content }) => content.parts),
    )

  test("each word is sent as it arrives, a call when it is complete, and the end with the usage", () => {
    const encoder = ingress.encodeStream(client())
    const counts = (...events: StreamEvent[]) => events.map((event) => encoder.push(event).length)
    expect(
      counts({ type: "stream-start" }, start(0, { kind: "reasoning", form: "full" }), delta(0, "h"), delta(0, "m")),
    ).toEqual([0, 0, 1, 1])
    expect(
      counts(end(0, { mintedBy: "anthropic", data: "x" }), start(1, { kind: "text" }), delta(1, "a"), end(1)),
    ).toEqual([1, 0, 1, 0])
    expect(counts(start(2, call("c")), delta(2, '{"x"'), delta(2, ":1}"), end(2))).toEqual([0, 0, 0, 1])
    expect(counts(over[0] as StreamEvent, { type: "usage", usage: { input: 1 } }, { type: "stream-end" })).toEqual([
      0, 0, 1,
    ])
  })

  test("overlapping parts are written one after the other", () => {
    const events = [
      start(0, { kind: "text" }),
      delta(0, "a"),
      start(1, call("c")),
      delta(1, "{}"),
      start(2, { kind: "text" }),
      delta(2, "z"),
      end(1),
      delta(0, "b"),
      end(0),
      ...over,
    ]
    const frames = written(events, client())
    expect(breaches(frames)).toEqual([])
    expect(partsIn(frames)).toEqual([
      { text: "a" },
      { text: "b" },
      { functionCall: { id: "c", name: "f", args: {} } },
      { text: "z" },
    ])
  })

  test("earlier usage is in the next chunk, and only if requested", () => {
    const events: StreamEvent[] = [
      { type: "usage", usage: { input: 3 } },
      start(0, { kind: "text" }),
      delta(0, "a"),
      delta(0, "b"),
      ...over,
    ]
    const counted = (usageRequested: boolean) =>
      written(events, client({ usageRequested })).map((frame) => chunk(frame).usageMetadata !== undefined)
    expect(counted(true)).toEqual([true, false, false])
    expect(counted(false)).toEqual([false, false, false])
  })

  test("sources are sent at the end", () => {
    const citation = { url: "https://a.org", start: 0, end: 1 }
    const frames = written(
      [start(0, { kind: "text" }), delta(0, "ü"), { type: "part-cite", candidate: 0, part: 0, citation }, ...over],
      client(),
    )
    expect(chunk(frames.at(-1) ?? "")).toMatchObject({
      candidates: [
        {
          finishReason: "STOP",
          groundingMetadata: { groundingSupports: [{ segment: { startIndex: 0, endIndex: 2, text: "ü" } }] },
        },
      ],
    })
  })

  test("a stream is written as one JSON array if requested, and a broken stream leaves the array unclosed", () => {
    const events = [start(0, { kind: "text" }), delta(0, "ä"), delta(0, "b")]
    const text = written([...events, ...over], client({ framing: "array" })).join("")
    expect(JSON.parse(Buffer.from(text, "latin1").toString())).toHaveLength(3)
    expect(written([{ type: "stream-end" }], client({ framing: "array" })).join("")).toBe("[]")
    expect(written(events, client({ framing: "array" })).join("")).not.toEndWith("]")
  })

  test("a refusal is sent as text, and its loss reported once", () => {
    const context = client()
    const frames = written([start(0, { kind: "refusal" }), delta(0, "n"), delta(0, "o"), end(0), ...over], context)
    expect(partsIn(frames)).toEqual([{ text: "n" }, { text: "o" }])
    expect(context.losses).toHaveLength(1)
  })

  test("members that only this protocol knows are kept in its own streams", () => {
    const chunks = [
      answer([{ text: "a" }], { finishReason: undefined, safetyRatings: [1] }),
      { ...answer([], { groundingMetadata: { webSearchQueries: ["q"] } }), modelStatus: 1 },
    ]
    const text = chunks.map((each) => `data: ${JSON.stringify(each)}\n\n`).join("")
    const again = written(decodedStream(text), client()).map(chunk)
    expect(again).toMatchObject([
      { candidates: [{ content: { parts: [{ text: "a" }] }, safetyRatings: [1] }] },
      { candidates: [{ finishReason: "STOP", groundingMetadata: { webSearchQueries: ["q"] } }], modelStatus: 1 },
    ])
    const blocked = 'data: {"promptFeedback":{"blockReason":"SAFETY"}}\n\n'
    const refused = written(decodedStream(blocked), client()).map(chunk)
    expect(refused).toMatchObject([{ promptFeedback: { blockReason: "SAFETY" } }])
    expect(refused[0]?.candidates).toBeUndefined()
  })
})

const word = fc.string({ unit: "grapheme", maxLength: 4 })
const seal = fc.option(fc.record({ mintedBy: fc.constantFrom("anthropic", "google"), data: fc.string() }), {
  nil: undefined,
})
const wholePart = fc.constantFrom<PartStart>(
  {
    kind: "whole",
    part: { kind: "media", media: "image", source: { at: "inline", mediaType: "image/png", base64: "aGk=" } },
  },
  { kind: "whole", part: { kind: "tool-result", callId: "x", parts: [], isError: false } },
  { kind: "whole", part: { kind: "foreign", protocol: "openai-chat", value: {} } },
)
const anyStart = fc.oneof(
  fc.constantFrom<PartStart>(
    { kind: "text" },
    { kind: "refusal" },
    { kind: "reasoning", form: "full" },
    { kind: "reasoning", form: "hidden" },
  ),
  fc.constantFrom<PartStart>(
    { kind: "tool-call", id: "c", name: "f", runsAt: "client" },
    { kind: "tool-call", id: "p", name: "web_search", runsAt: "provider" },
    { kind: "tool-call", id: "t", name: "f", input: "text", runsAt: "client" },
  ),
  wholePart,
)
const candidate = fc.nat(1)
const part = fc.nat(3)
const anyEvent = fc.oneof<fc.Arbitrary<StreamEvent>[]>(
  fc.record({ type: fc.constant("part-start" as const), candidate, part, start: anyStart }),
  fc.record({ type: fc.constant("part-delta" as const), candidate, part, text: word }),
  fc
    .tuple(candidate, part, seal)
    .map(([of, number, sealed]) => ({ type: "part-end", candidate: of, part: number, ...(sealed && { sealed }) })),
  fc.record({
    type: fc.constant("part-cite" as const),
    candidate,
    part,
    citation: fc.record({ url: word, start: fc.nat(5), end: fc.nat(5) }),
  }),
  fc.record({
    type: fc.constant("logprobs" as const),
    candidate,
    tokens: fc.constant([{ token: "a", logprob: -1, others: [] }]),
  }),
  fc.record({
    type: fc.constant("candidate-end" as const),
    candidate,
    finish: fc.constant<CandidateFinish>({ reason: "tool-calls" }),
  }),
  fc.record({ type: fc.constant("usage" as const), usage: fc.record({ input: fc.nat(), output: fc.nat() }) }),
  fc.record({
    type: fc.constant("foreign" as const),
    protocol: fc.constantFrom("openai-chat"),
    value: fc.jsonValue() as fc.Arbitrary<Json>,
  }),
)

test("any order of events yields a valid stream", () => {
  fc.assert(
    fc.property(fc.array(anyEvent, { maxLength: 30 }), (events) => {
      const frames = written(
        [...events, { type: "stream-end" }, { type: "part-delta", candidate: 0, part: 0, text: "late" }],
        client(),
      )
      expect(breaches(frames)).toEqual([])
      const array = written([...events, { type: "stream-end" }], client({ framing: "array" })).join("")
      expect(JSON.parse(Buffer.from(array, "latin1").toString())).toBeArray()
    }),
  )
})

const responsePart = fc.oneof(
  fc.record({ kind: fc.constant("text" as const), text: fc.string({ unit: "grapheme", minLength: 1 }) }),
  fc.record({
    kind: fc.constant("reasoning" as const),
    form: fc.constant("summary" as const),
    text: fc.string({ minLength: 1 }),
  }),
  fc.record({
    kind: fc.constant("tool-call" as const),
    id: fc.uuid(),
    name: fc.constant("f"),
    arguments: fc
      .dictionary(fc.string(), fc.jsonValue({ maxDepth: 1 }))
      .map((args) => JSON.stringify(JSON.parse(JSON.stringify(args)))),
    runsAt: fc.constant("client" as const),
  }),
)

/** Neighbours of one kind are one part to this protocol. */
function asStreamed(parts: readonly ContentPart[]): ContentPart[] {
  const joined: ContentPart[] = []
  for (const each of parts) {
    const last = joined.at(-1)
    if (last && last.kind === each.kind && (last.kind === "text" || last.kind === "reasoning") && "text" in each) {
      joined[joined.length - 1] = { ...last, text: last.text + each.text }
    } else joined.push(each)
  }
  return joined
}

test("an encoded response, whole or streamed, decodes to the same", () => {
  fc.assert(
    fc.property(
      fc.array(responsePart, { minLength: 1, maxLength: 5 }),
      fc.integer({ min: 1, max: 3 }),
      (parts, size) => {
        const events = parts.flatMap((each, number): StreamEvent[] => {
          const { text, ...start } = each.kind === "tool-call" ? { ...each, text: each.arguments } : each
          const pieces = text.match(new RegExp(`[^]{1,${size}}`, "gu")) ?? []
          const { arguments: _, ...begun } = start as typeof start & { arguments?: string }
          return [
            { type: "part-start", candidate: 0, part: number, start: begun },
            ...pieces.map((piece): StreamEvent => ({ type: "part-delta", candidate: 0, part: number, text: piece })),
            { type: "part-end", candidate: 0, part: number },
          ]
        })
        const finish: CandidateFinish = {
          reason: parts.some(({ kind }) => kind === "tool-call") ? "tool-calls" : "stop",
          word: "STOP",
        }
        const frames = written(
          [...events, { type: "candidate-end", candidate: 0, finish }, { type: "stream-end" }],
          client(),
        )
        const streamed = assembleResponse(decodedStream(frames.join("")))
        expect(streamed.candidates).toEqual([{ index: 0, parts: asStreamed(parts), finish }])
        const whole = read(ingress.encodeResponse({ candidates: [{ index: 0, parts, finish }] }, client()))
        expect(whole?.candidates).toEqual(streamed.candidates)
      },
    ),
  )
})

test("a stream decodes to the same wherever its bytes are cut, and equals the whole response", () => {
  const chunks = [
    answer([{ text: "hm", thought: true }], { finishReason: undefined }),
    answer([{ text: "Grüß " }], { finishReason: undefined }),
    answer([{ text: "Gott", thoughtSignature: "s" }, { functionCall: { name: "f", args: { ä: 1 } } }], {
      groundingMetadata: { groundingChunks: [{ web: { uri: "u" } }] },
    }),
  ]
  const text = encodeByteText(chunks.map((each) => `data: ${JSON.stringify(each)}\r\n\r\n`).join(""))
  const all = decodedStream(text)
  for (let cut = 0; cut <= text.length; cut++) {
    const sse = decodeSse()
    const decoder = out.decodeStream(decoding)
    const frames = [...sse.push(text.slice(0, cut)), ...sse.push(text.slice(cut)), ...sse.finish()]
    expect([...frames.flatMap((frame) => decoder.push(frame)), ...decoder.finish()]).toEqual(all)
  }
  const parts = chunks.flatMap(({ candidates }) => (candidates as [{ content: { parts: object[] } }])[0].content.parts)
  const whole = read(answer(parts, { groundingMetadata: { groundingChunks: [{ web: { uri: "u" } }] } }))
  expect(assembleResponse(all).candidates[0]?.parts).toEqual(whole?.candidates[0]?.parts as never)
})

test("decoding never throws, whatever an upstream sends", () => {
  const name = fc.constantFrom(
    "candidates",
    "content",
    "parts",
    "text",
    "functionCall",
    "name",
    "args",
    "groundingMetadata",
    "groundingSupports",
    "groundingChunks",
    "segment",
    "index",
    "partialArgs",
    "jsonPath",
    "inlineData",
    "executableCode",
    "code",
    "logprobsResult",
    "chosenCandidates",
    "finishReason",
    "promptFeedback",
    "thoughtSignature",
  )
  const value = fc.letrec((tie) => ({
    json: fc.oneof(
      { depthSize: "medium" },
      fc.constantFrom("STOP", "", 0, -1, 1.5, true, null, "$.a[0]"),
      fc.array(tie("json"), { maxLength: 3 }),
      fc.dictionary(name, tie("json"), { maxKeys: 5 }),
    ),
  })).json
  fc.assert(
    fc.property(value, fc.dictionary(name, value), (some, others) => {
      const body = { candidates: [some, { content: { parts: [some, others] }, ...others }], ...others } as JsonObject
      const answered = read(body)
      if (answered) ingress.encodeResponse(answered, client())
      written(decodedStream(encodeByteText(`data: ${JSON.stringify(body)}\n\n`)), client())
    }),
  )
})
