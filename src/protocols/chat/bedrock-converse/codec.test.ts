import { describe, expect, test } from "bun:test"
import fc from "fast-check"
import type {
  ChatRequest,
  ChatSettings,
  ConversationTurn,
  ToolChoice,
  ToolDefinition,
} from "../../../canonical/chat/chat-request.ts"
import type { ContentPart } from "../../../canonical/chat/content-part.ts"
import { GatewayError } from "../../../canonical/gateway-error.ts"
import type { Json } from "../../../canonical/json.ts"
import { decoding, encoded, MODELS, NOVA, request, turnOf } from "./codec.fixture.ts"
import { bedrockConverseCodec } from "./codec.ts"
import { breaches } from "./request-rules.fixture.ts"

test("a call has the model in its path, percent-encoded", () => {
  const arn = "arn:aws:bedrock:us-east-1:1:application-inference-profile/a"
  expect(bedrockConverseCodec.operationFor(NOVA, false)).toEqual({
    operation: "converse",
    path: "/model/us.amazon.nova-2-lite-v1%3A0/converse",
    headers: {},
  })
  expect(bedrockConverseCodec.operationFor(arn, true).path).toBe(
    "/model/arn%3Aaws%3Abedrock%3Aus-east-1%3A1%3Aapplication-inference-profile%2Fa/converse-stream",
  )
})

test("all media are inline", () => {
  expect(bedrockConverseCodec.inlines("image")).toBe(true)
  expect(bedrockConverseCodec.inlines("document")).toBe(true)
})

describe("decoding errors", () => {
  test.each<[number, object | string, string, string]>([
    [400, { __type: "ValidationException", message: "no" }, "invalid_parameter", "caller"],
    [400, { message: "no" }, "invalid_parameter", "caller"],
    [400, { message: "Input is too long for requested model." }, "context_length_exceeded", "caller"],
    [
      400,
      { message: "Input Tokens Exceeded: Number of input tokens exceeds maximum length." },
      "context_length_exceeded",
      "caller",
    ],
    [400, { message: "expected maxLength: 9, actual: 10" }, "context_length_exceeded", "caller"],
    [429, { __type: "ThrottlingException" }, "upstream_rate_limited", "upstream"],
    [400, { __type: "ServiceQuotaExceededException" }, "upstream_rate_limited", "upstream"],
    [429, { __type: "ModelNotReadyException" }, "upstream_unavailable", "upstream"],
    [424, { __type: "ModelErrorException", message: "no" }, "upstream_unavailable", "upstream"],
    [408, { __type: "ModelTimeoutException" }, "upstream_unavailable", "upstream"],
    [403, { __type: "AccessDeniedException" }, "upstream_unavailable", "gateway"],
    [404, { __type: "ResourceNotFoundException" }, "upstream_unavailable", "gateway"],
    [500, "<html>", "upstream_unavailable", "upstream"],
  ])("status %d with body %j is %s, owned by the %s", (status, body, code, owner) => {
    const text = typeof body === "string" ? body : JSON.stringify(body)
    expect(bedrockConverseCodec.decodeError({ status, body: text })).toMatchObject({ code, owner })
  })
})

const words = fc.oneof(fc.constant(""), fc.constant(" \n"), fc.string({ unit: "grapheme", maxLength: 10 }))
const id = fc.constantFrom("a", "b", "tooluse_c-1")
const mark = fc.option(fc.constantFrom({}, { ttl: "5m" }, { ttl: "1h" }), { nil: undefined })
const marked = <T extends object>(part: fc.Arbitrary<T>) =>
  fc.tuple(part, mark).map(([each, cacheMark]) => (cacheMark ? { ...each, cacheMark } : each))

const media = fc
  .record({
    form: fc.constantFrom(
      ["image", "image/png"],
      ["document", "application/pdf"],
      ["document", "text/x-odd"],
      ["audio", "audio/wav"],
      ["video", "video/mp4"],
      ["image", "image/tiff"],
    ),
    base64: fc.base64String({ minLength: 4 }),
    name: fc.option(fc.string({ unit: "grapheme" }), { nil: undefined }),
  })
  .map(({ form: [media, mediaType], base64, name }) => ({
    ...{ kind: "media", media, source: { at: "inline", mediaType, base64 } },
    ...(name !== undefined && { name }),
  }))
const plain = marked(
  fc.oneof(
    words.map((text) => ({ kind: "text", text })),
    media,
  ),
) as fc.Arbitrary<ContentPart>
const part = fc.oneof(
  plain,
  marked(
    fc.oneof(
      words.map((text) => ({ kind: "refusal", text })),
      fc.tuple(words, fc.constantFrom("the-minter", "another")).map(([text, mintedBy]) => ({
        ...{ kind: "reasoning", form: "full", text, sealed: { mintedBy, data: "c2ln" } },
      })),
      fc.record({
        kind: fc.constant("tool-call"),
        id,
        name: fc.constantFrom("f", "h"),
        arguments: fc.constantFrom("", "{}", "[1]", '{"a":1}'),
        runsAt: fc.constantFrom("client", "provider"),
      }),
      fc.record({
        kind: fc.constant("tool-result"),
        callId: id,
        parts: fc.array(plain, { maxLength: 3 }),
        isError: fc.boolean(),
      }),
      fc.constant({ kind: "foreign", protocol: "openai-chat", value: { x: 1 } }),
    ),
  ),
) as fc.Arbitrary<ContentPart>

const turn = fc.record({
  role: fc.constantFrom("user", "assistant", "instruction"),
  parts: fc.array(part, { maxLength: 4 }),
}) as fc.Arbitrary<ConversationTurn>

const schema = fc.constantFrom<Json>(
  { type: "object", properties: { a: { type: "string", minLength: 1 } } },
  { anyOf: [{ type: "object", properties: { a: {} } }, { properties: { b: {} } }] },
  { type: "array" },
  true,
)
const tools = fc
  .subarray(["f", "g", "search"])
  .chain((names) =>
    fc
      .tuple(fc.constant(names), schema, mark, fc.boolean())
      .map(([listed, parameters, cacheMark, strict]) =>
        listed.map((name) =>
          name === "search"
            ? { kind: "hosted", name, purpose: "web-search", protocol: "openai-chat", value: {} }
            : { kind: "function", name, description: "", parameters, strict, ...(cacheMark && { cacheMark }) },
        ),
      ),
  ) as fc.Arbitrary<ToolDefinition[]>
const choice = fc.constantFrom<ToolChoice | undefined>(
  undefined,
  { mode: "auto" },
  { mode: "none" },
  { mode: "required" },
  { mode: "tool", name: "f" },
  { mode: "tool", name: "search" },
  { mode: "some", names: ["g"], required: true },
  { mode: "some", names: ["f", "search"], required: false },
)
const settings = fc.record(
  {
    maxOutputTokens: fc.integer({ min: 1, max: 10_000 }),
    temperature: fc.double({ min: 0, max: 2, noNaN: true }),
    topP: fc.double({ min: 0, max: 1, noNaN: true }),
    topK: fc.nat(100),
    stop: fc.array(fc.constantFrom("x", "\n", ""), { maxLength: 3 }),
    format: fc.oneof(
      fc.constant({ kind: "json" }),
      schema.map((each) => ({ kind: "schema", name: "a b", schema: each })),
    ),
    reasoning: fc.record(
      { effort: fc.constantFrom("none", "minimal", "high", "max"), budgetTokens: fc.nat(20_000) },
      { requiredKeys: [] },
    ),
  },
  { requiredKeys: [] },
) as fc.Arbitrary<ChatSettings>

const anyRequest = fc
  .record({
    instructions: fc.array(part, { maxLength: 2 }),
    turns: fc.array(turn, { maxLength: 6 }),
    tools,
    settings,
    toolChoice: choice,
  })
  .map(({ toolChoice, ...rest }): ChatRequest => request({ ...rest, ...(toolChoice && { toolChoice }) }))
const model = fc.constantFrom(...MODELS)

/** The encoded request, or undefined if it is refused for an allowed reason. */
function attempted(given: ChatRequest, at: string) {
  try {
    return encoded(given, { model: at })
  } catch (thrown) {
    if (thrown instanceof GatewayError && thrown.code === "unsupported_parameter") return undefined
    throw thrown
  }
}

describe("encoding any request", () => {
  test("any request follows the interface's rules or is refused", () => {
    let kept = 0
    fc.assert(
      fc.property(anyRequest, model, (given, at) => {
        const result = attempted(given, at)
        if (!result) return
        kept++
        expect(breaches(result.body)).toEqual([])
      }),
      { numRuns: 500 },
    )
    expect(kept).toBeGreaterThan(100)
  })

  test("any request is encoded to the same bytes each time", () => {
    fc.assert(
      fc.property(anyRequest, model, (given, at) => {
        expect(JSON.stringify(attempted(given, at))).toBe(JSON.stringify(attempted(structuredClone(given), at)))
      }),
    )
  })

  test("a longer conversation begins with the bytes of the shorter one", () => {
    const userTurn = fc
      .tuple(fc.array(plain, { maxLength: 3 }), words)
      .map(([parts, text]) => [...parts, { kind: "text", text: `a${text}` } as const])
    const exchanges = fc.array(fc.tuple(userTurn, words), { minLength: 1, maxLength: 4 })
    fc.assert(
      fc.property(exchanges, fc.array(plain, { maxLength: 2 }), tools, model, (rounds, instructions, offered, at) => {
        const marks = JSON.stringify([rounds, instructions, offered]).split('"cacheMark"').length - 1
        // The encoder keeps only the last four marks, so more would change the prefix.
        fc.pre(marks <= 4)
        const turns = rounds.flatMap(([parts, text]) => [
          turnOf("user", ...parts),
          turnOf("assistant", { kind: "text", text: `b${text}` }),
        ])
        const encodeFirst = (count: number) =>
          attempted(request({ instructions, tools: offered, turns: turns.slice(0, count) }), at)?.body
        // A conversation that ends with the assistant continues its answer.
        const later = encodeFirst(turns.length - 1)
        for (let count = 1; count < turns.length; count += 2) {
          const earlier = encodeFirst(count)
          if (!earlier || !later) return
          expect(JSON.stringify(later).startsWith(JSON.stringify(earlier).slice(0, -2))).toBe(true)
        }
      }),
    )
  })
})

test("a seal decodes to the same bytes", () => {
  const reasoning = fc.oneof(
    fc.tuple(fc.string(), fc.base64String({ minLength: 4 })).map(([text, signature]) => ({
      reasoningContent: { reasoningText: { text, signature } },
    })),
    fc.uint8Array({ minLength: 1 }).map((bytes) => ({
      reasoningContent: { redactedContent: Buffer.from(bytes).toString("base64") },
    })),
  )
  fc.assert(
    fc.property(fc.array(reasoning, { minLength: 1, maxLength: 3 }), (content) => {
      const body = { output: { message: { role: "assistant", content } }, stopReason: "end_turn" }
      const parts = bedrockConverseCodec.decodeResponse(body as never, decoding)?.candidates[0]?.parts ?? []
      const turns = [turnOf("user", { kind: "text", text: "a" }), turnOf("assistant", ...parts)]
      expect(encoded(request({ turns })).body.messages).toMatchObject([{}, { role: "assistant", content }] as never)
    }),
  )
})
