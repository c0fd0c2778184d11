import { describe, expect, test } from "bun:test"
import fc from "fast-check"
import { assembleResponse } from "../../../../canonical/chat/assemble-response.ts"
import type { ChatResponse } from "../../../../canonical/chat/chat-response.ts"
import type { ContentPart } from "../../../../canonical/chat/content-part.ts"
import type { JsonObject } from "../../../../canonical/json.ts"
import { DECODING, readStream, sent } from "../codec.fixture.ts"
import { openaiResponsesCodec } from "../codec.ts"
import { openReasoning } from "../seals.ts"

const { upstream } = openaiResponsesCodec

function whole(output: JsonObject[], more: JsonObject = {}): ChatResponse | undefined {
  return upstream.decodeResponse(
    { id: "resp_1", created_at: 7, model: "gpt-x", status: "completed", output, ...more },
    DECODING,
  )
}

const parts = (...output: JsonObject[]): readonly ContentPart[] | undefined => whole(output)?.candidates[0]?.parts
const message = (...content: JsonObject[]): JsonObject => ({ type: "message", id: "msg_1", role: "assistant", content })
const outputText = (text: string, more: JsonObject = {}): JsonObject => ({
  type: "output_text",
  text,
  annotations: [],
  ...more,
})
const created: JsonObject = { type: "response.created", response: { id: "resp_1" } }
const completed: JsonObject = { type: "response.completed", response: {} }
const read = (...events: JsonObject[]): readonly ContentPart[] | undefined =>
  assembleResponse(readStream([sent(created, ...events, completed)])).candidates[0]?.parts

describe("decoding a whole response", () => {
  test("a whole response is decoded with its id, parts and usage", () => {
    const usage = {
      input_tokens: 20,
      input_tokens_details: { cached_tokens: 5 },
      output_tokens: 8,
      output_tokens_details: { reasoning_tokens: 3 },
    }
    expect(whole([message(outputText("hi"))], { usage })).toEqual({
      id: "resp_1",
      created: 7,
      model: "gpt-x",
      candidates: [{ index: 0, parts: [{ kind: "text", text: "hi" }], finish: { reason: "stop" } }],
      usage: { input: 15, cacheRead: 5, output: 5, reasoning: 3 },
    })
  })

  test.each<[JsonObject, JsonObject[], object]>([
    [{}, [], { reason: "stop" }],
    [
      { status: "incomplete", incomplete_details: { reason: "max_output_tokens" } },
      [],
      { reason: "length", word: "max_output_tokens" },
    ],
    [
      { status: "incomplete", incomplete_details: { reason: "content_filter" } },
      [],
      { reason: "filtered", word: "content_filter" },
    ],
    [{ status: "incomplete", incomplete_details: { reason: "tired" } }, [], { reason: "other", word: "tired" }],
    [{}, [{ type: "function_call", call_id: "1", name: "f", arguments: "{}" }], { reason: "tool-calls" }],
    [{}, [message({ type: "refusal", refusal: "no" })], { reason: "refusal" }],
    [{}, [{ type: "web_search_call", id: "ws_1" }], { reason: "stop" }],
  ])("the end of a response is decoded: %j %j", (more, output, finish) => {
    expect(whole(output, more)?.candidates[0]?.finish).toEqual(finish as never)
  })

  test.each([{ output: "x" }, { output: [], status: "failed" }, { output: [], error: { code: "x" } }, {}])(
    "a body that is not a response decodes to undefined: %j",
    (body) => {
      expect(upstream.decodeResponse(body as JsonObject, DECODING)).toBeUndefined()
    },
  )

  test("citations and log probabilities are decoded", () => {
    const annotations = [
      { type: "url_citation", url: "https://x", title: "t", start_index: 0, end_index: 2 },
      { type: "file_citation", file_id: "f", filename: "a.txt", index: 1 },
    ]
    const logprobs = [
      { token: "hi", logprob: -1, bytes: [104, 105], top_logprobs: [{ token: "ho", logprob: -2, bytes: null }] },
    ]
    const answer = whole([message(outputText("hi", { annotations, logprobs }))])
    expect(answer?.candidates[0]?.parts).toEqual([
      {
        kind: "text",
        text: "hi",
        citations: [
          { url: "https://x", title: "t", start: 0, end: 2 },
          { title: "a.txt", extra: { protocol: "openai-responses", members: annotations[1] as JsonObject } },
        ],
      },
    ])
    expect(answer?.candidates[0]?.logprobs).toEqual([
      { token: "hi", logprob: -1, bytes: [104, 105], others: [{ token: "ho", logprob: -2 }] },
    ])
  })

  test("reasoning is decoded with one part per form, and the item's seal on the last", () => {
    const summary = [
      { type: "summary_text", text: "a" },
      { type: "summary_text", text: "b" },
    ]
    const content = [{ type: "reasoning_text", text: "c" }]
    const item = { type: "reasoning", id: "rs_1", summary, content, encrypted_content: "enc" }
    const [first, last] = parts(item) ?? []
    expect(first).toEqual({ kind: "reasoning", form: "summary", text: "a\n\nb" })
    expect(last).toMatchObject({ kind: "reasoning", form: "full", text: "c", sealed: { mintedBy: "host" } })
    expect(last?.kind === "reasoning" && last.sealed && openReasoning(last.sealed)).toEqual({
      id: "rs_1",
      encrypted: "enc",
      summary: [1, 1],
      content: [1],
      both: true,
    })
    expect(parts({ type: "reasoning", id: "rs_1", summary: [], encrypted_content: "enc" })).toMatchObject([
      { form: "hidden", text: "" },
    ])
    expect(parts({ type: "reasoning", id: "rs_1", summary: [] })).toEqual([])
    expect(parts({ type: "reasoning", id: "rs_1", summary })).toEqual([
      { kind: "reasoning", form: "summary", text: "a\n\nb" },
    ])
  })

  test("calls of every kind are decoded", () => {
    const call = { kind: "tool-call", runsAt: "client" }
    expect(
      parts(
        { type: "function_call", id: "fc_1", call_id: "1", name: "f", arguments: "{}" },
        { type: "function_call", id: "fc_2", call_id: "2", name: "open", namespace: "agents", arguments: "{}" },
        { type: "custom_tool_call", id: "c", call_id: "3", name: "patch", input: "x" },
        { type: "local_shell_call", id: "l", call_id: "4", action: { type: "exec", command: ["ls"], env: {} } },
      ) as unknown,
    ).toEqual([
      { ...call, id: "1", name: "f", arguments: "{}" },
      { ...call, id: "2", name: "agents__open", arguments: "{}" },
      { ...call, id: "3", name: "patch", arguments: "x", input: "text" },
      { ...call, id: "4", name: "local_shell", arguments: '{"command":["ls"],"env":{}}' },
    ])
  })

  test("calls that the provider ran are decoded with their results", () => {
    const ran = [
      { type: "web_search_call", id: "ws_1", status: "completed", action: { type: "search", query: "q" } },
      {
        type: "code_interpreter_call",
        id: "ci_1",
        status: "completed",
        code: "1+1",
        outputs: [{ type: "logs", logs: "2" }],
      },
      { type: "mcp_call", id: "mcp_1", name: "look", server_label: "s", arguments: "{}", error: "gone" },
    ]
    const result = (value: JsonObject) => [{ kind: "foreign", protocol: "openai-responses", value }]
    expect(parts(...ran) as unknown).toEqual([
      {
        kind: "tool-call",
        id: "ws_1",
        name: "web_search_call",
        arguments: '{"type":"search","query":"q"}',
        runsAt: "provider",
      },
      {
        kind: "tool-result",
        callId: "ws_1",
        name: "web_search_call",
        parts: result(ran[0] as JsonObject),
        isError: false,
      },
      {
        kind: "tool-call",
        id: "ci_1",
        name: "code_interpreter_call",
        arguments: "1+1",
        input: "text",
        runsAt: "provider",
      },
      {
        kind: "tool-result",
        callId: "ci_1",
        name: "code_interpreter_call",
        parts: result(ran[1] as JsonObject),
        isError: false,
      },
      { kind: "tool-call", id: "mcp_1", name: "look", arguments: "{}", runsAt: "provider", server: "s" },
      {
        kind: "tool-result",
        callId: "mcp_1",
        name: "look",
        parts: [...result(ran[2] as JsonObject), { kind: "text", text: "gone" }],
        isError: true,
        isRemote: true,
      },
    ])
    const picture = {
      type: "image_generation_call",
      id: "ig_1",
      status: "completed",
      result: "AAAA",
      output_format: "webp",
    }
    expect(parts(picture)?.[1]).toMatchObject({
      kind: "media",
      media: "image",
      source: { mediaType: "image/webp", base64: "AAAA" },
    })
    const unknown = { type: "tomorrow", id: "x" }
    expect(parts(unknown)).toEqual([{ kind: "foreign", protocol: "openai-responses", value: unknown }])
  })
})

describe("decoding a stream", () => {
  const word = (delta: string, more: JsonObject = {}): JsonObject => ({
    type: "response.output_text.delta",
    output_index: 0,
    content_index: 0,
    delta,
    ...more,
  })

  test("each text is decoded once, with its citations and log probabilities", () => {
    const annotation = { type: "url_citation", url: "https://x", title: "", start_index: 0, end_index: 1 }
    const logprobs = [{ token: "a", logprob: -1, top_logprobs: [] }]
    const part = outputText("ab", { annotations: [annotation], logprobs: [...logprobs, ...logprobs] })
    const events = readStream([
      sent(
        created,
        word("a", { logprobs }),
        { type: "response.output_text.annotation.added", output_index: 0, content_index: 0, annotation },
        word("b"),
        { type: "response.content_part.done", output_index: 0, content_index: 0, part },
        { type: "response.output_item.done", output_index: 0, item: message(part) },
        completed,
      ),
    ])
    expect(events.map(({ type }) => type)).toEqual([
      "stream-start",
      "part-start",
      "part-delta",
      "logprobs",
      "part-cite",
      "part-delta",
      "logprobs",
      "part-end",
      "candidate-end",
      "stream-end",
    ])
    expect(assembleResponse(events).candidates[0]).toEqual({
      ...(whole([message(part)])?.candidates[0] as object),
    } as never)
  })

  test("a stream without deltas, item ends or an opening is decoded all the same", () => {
    const item = { type: "function_call", id: "fc_1", call_id: "1", name: "f", arguments: "{}" }
    expect(read({ type: "response.output_item.done", output_index: 0, item })).toMatchObject([
      { id: "1", arguments: "{}" },
    ])
    expect(read(word("a"))).toEqual([{ kind: "text", text: "a" }])
    const listed = { type: "mcp_list_tools", id: "mcpl_1", tools: [] }
    const last = { type: "response.completed", response: { output: [listed] } }
    const events = readStream([sent({ type: "response.output_item.added", output_index: 0, item: listed }, last)])
    expect(assembleResponse(events).candidates[0]?.parts).toMatchObject([{ kind: "foreign", value: listed }])
  })

  test("several summaries in one reasoning item are decoded", () => {
    const summed = (summary_index: number, delta: string): JsonObject => ({
      type: "response.reasoning_summary_text.delta",
      output_index: 0,
      summary_index,
      delta,
    })
    const summary = [
      { type: "summary_text", text: "ab" },
      { type: "summary_text", text: "c" },
    ]
    const item = { type: "reasoning", id: "rs_1", summary, encrypted_content: "enc" }
    const decoded = read(summed(0, "a"), summed(0, "b"), summed(1, "c"), {
      type: "response.output_item.done",
      output_index: 0,
      item,
    })
    expect(decoded).toEqual(parts(item) as never)
    expect(decoded).toMatchObject([{ text: "ab\n\nc" }])
  })

  test("decoding any stream throws nothing", () => {
    const type = fc.constantFrom(
      "response.created",
      "response.output_item.added",
      "response.output_item.done",
      "response.content_part.done",
      "response.output_text.delta",
      "response.output_text.annotation.added",
      "response.reasoning_text.delta",
      "response.completed",
    )
    const item = fc.record({
      type: fc.constantFrom("message", "reasoning", "function_call", "x_call", "x"),
      content: fc.jsonValue(),
      summary: fc.jsonValue(),
      id: fc.jsonValue(),
      arguments: fc.jsonValue(),
    })
    const event = fc.record({
      type,
      item: fc.oneof(item, fc.jsonValue()),
      part: fc.jsonValue(),
      delta: fc.jsonValue(),
      output_index: fc.jsonValue(),
      annotation: fc.jsonValue(),
      response: fc.jsonValue(),
      logprobs: fc.jsonValue(),
    })
    fc.assert(
      fc.property(fc.array(event), (events) => {
        expect(() => assembleResponse(readStream([sent(...(events as JsonObject[]))]))).not.toThrow()
      }),
    )
  })
})
