import { describe, expect, test } from "bun:test"
import type { CandidateFinish } from "../../../../canonical/chat/chat-response.ts"
import type { ContentPart } from "../../../../canonical/chat/content-part.ts"
import { openSeal } from "../../../../canonical/chat/sealed-content.ts"
import type { JsonObject } from "../../../../canonical/json.ts"
import { answering, decoded, type encodeContext, ID, REQUEST_BODY } from "../codec.fixture.ts"
import { openaiResponsesCodec } from "../codec.ts"

const { ingress } = openaiResponsesCodec

function answer(
  parts: readonly ContentPart[],
  more: { finish?: CandidateFinish; context?: ReturnType<typeof encodeContext> } = {},
) {
  const context = more.context ?? answering(REQUEST_BODY)
  const candidate = { index: 0, parts, finish: more.finish ?? { reason: "stop" } }
  const body = ingress.encodeResponse(
    { candidates: [candidate], usage: { input: 3, cacheRead: 1, output: 2 } },
    context,
  )
  return { body, output: body.output, losses: context.losses.map(({ path, weight }) => `${weight} ${path}`) }
}

const text = (value: string): ContentPart => ({ kind: "text", text: value })
const id = ID

describe("encoding a whole response", () => {
  test("a whole response has the request's settings and the usage", () => {
    expect(answer([text("a")]).body).toEqual({
      id: `resp_${id}`,
      object: "response",
      created_at: 1_700_000_000,
      completed_at: 1_700_000_000,
      status: "completed",
      error: null,
      incomplete_details: null,
      instructions: null,
      max_output_tokens: 99,
      max_tool_calls: null,
      model: "a/b",
      output: [
        {
          id: `msg_${id}0`,
          type: "message",
          status: "completed",
          role: "assistant",
          content: [{ type: "output_text", text: "a", annotations: [], logprobs: [] }],
        },
      ],
      parallel_tool_calls: true,
      previous_response_id: null,
      reasoning: { effort: "low", summary: null },
      store: false,
      background: false,
      service_tier: "default",
      temperature: 0.5,
      text: { format: { type: "text" }, verbosity: "high" },
      tool_choice: "required",
      tools: [
        { type: "function", name: "f", description: null, parameters: { type: "object" }, strict: true },
        REQUEST_BODY.tools[1],
        {
          type: "namespace",
          name: "agents",
          description: "d",
          tools: [{ type: "function", name: "open", description: null, parameters: {}, strict: false }],
        },
        { type: "local_shell" },
      ] as never,
      top_p: 1,
      top_logprobs: 0,
      presence_penalty: 0,
      frequency_penalty: 0,
      truncation: "disabled",
      usage: {
        input_tokens: 4,
        input_tokens_details: { cached_tokens: 1 },
        output_tokens: 2,
        output_tokens_details: { reasoning_tokens: 0 },
        total_tokens: 6,
      },
      metadata: { a: "b" },
      safety_identifier: null,
      prompt_cache_key: null,
    })
  })

  test.each<[CandidateFinish["reason"], string, string | undefined]>([
    ["stop", "completed", undefined],
    ["stop-sequence", "completed", undefined],
    ["tool-calls", "completed", undefined],
    ["length", "incomplete", "max_output_tokens"],
    ["filtered", "incomplete", "content_filter"],
    ["refusal", "incomplete", "content_filter"],
  ])("a response with finish reason %s has the status %s", (reason, status, why) => {
    const { body, losses } = answer([text("a")], { finish: { reason } })
    expect([body.status, (body.incomplete_details as JsonObject | null)?.reason, losses]).toEqual([status, why, []])
    expect(body.output).toMatchObject([{ status }])
  })

  test("a response with a refusal text is complete", () => {
    const { body } = answer([{ kind: "refusal", text: "no" }], { finish: { reason: "refusal" } })
    expect(body).toMatchObject({ status: "completed", output: [{ content: [{ type: "refusal", refusal: "no" }] }] })
  })

  test("a finish reason without a counterpart is reported", () => {
    expect(answer([], { finish: { reason: "paused", word: "pause_turn" } }).losses).toEqual(["meaning finish"])
  })

  test("consecutive content parts are in one message", () => {
    const citations = [
      { url: "https://x", title: "t" },
      { title: "no address" },
      { url: "https://y", start: 1, end: 2 },
    ]
    const { output, losses } = answer([
      { kind: "text", text: "abc", citations },
      text("d"),
      { kind: "tool-call", id: "1", name: "f", arguments: "", runsAt: "client" },
      text("e"),
    ])
    expect(output).toMatchObject([
      {
        type: "message",
        content: [
          {
            text: "abc",
            annotations: [
              { type: "url_citation", url: "https://y", title: "", start_index: 1, end_index: 2 },
              { type: "url_citation", url: "https://x", title: "t", start_index: 0, end_index: 3 },
            ],
          },
          { text: "d" },
        ],
      },
      { type: "function_call", id: `fc_${id}1`, call_id: "1", name: "f", arguments: "{}", status: "completed" },
      { type: "message", id: `msg_${id}2`, content: [{ text: "e" }] },
    ])
    expect(losses).toEqual(["hint output[0]"])
  })

  test("calls have the names that the caller gave the tools", () => {
    const called = (name: string, args: string, more = {}): ContentPart => ({
      kind: "tool-call",
      id: name,
      name,
      arguments: args,
      runsAt: "client",
      ...more,
    })
    expect(
      answer([
        called("patch", "*** x", { input: "text" }),
        called("agents__open", "{}"),
        called("local_shell", '{"command":["ls"]}'),
        called("local_shell", "ls"),
      ]).output,
    ).toEqual([
      {
        id: `ctc_${id}0`,
        type: "custom_tool_call",
        status: "completed",
        call_id: "patch",
        name: "patch",
        input: "*** x",
      },
      {
        id: `fc_${id}1`,
        type: "function_call",
        status: "completed",
        call_id: "agents__open",
        name: "open",
        namespace: "agents",
        arguments: "{}",
      },
      {
        id: `lsh_${id}2`,
        type: "local_shell_call",
        status: "completed",
        call_id: "local_shell",
        action: { type: "exec", env: {}, command: ["ls"] },
      },
      {
        id: `fc_${id}3`,
        type: "function_call",
        status: "completed",
        call_id: "local_shell",
        name: "local_shell",
        arguments: "ls",
      },
    ])
  })

  test("reasoning is shown if requested, with its seal in the opaque member", () => {
    const sealed = { mintedBy: "anthropic", data: "sig" }
    const thought = (form: "full" | "summary" | "hidden", value: string): ContentPart => ({
      kind: "reasoning",
      form,
      text: value,
      sealed,
    })
    const shown = [thought("full", "a"), thought("summary", "b"), thought("hidden", "")]
    const { output } = answer([...shown, { kind: "text", text: "c" }])
    expect(output).toMatchObject([
      { type: "reasoning", summary: [], content: [{ type: "reasoning_text", text: "a" }] },
      { type: "reasoning", summary: [{ type: "summary_text", text: "b" }] },
      { type: "reasoning", summary: [] },
      { type: "message" },
    ])
    for (const item of (output as JsonObject[]).slice(0, -1))
      expect(openSeal(String(item.encrypted_content))).toEqual(sealed)
    const summed = answering({ ...REQUEST_BODY, reasoning: { summary: "auto" } })
    expect(answer([thought("full", "a")], { context: summed }).output).toMatchObject([{ summary: [{ text: "a" }] }])
  })

  test("a whole response never ends with a seal", () => {
    const sealed = { mintedBy: "google", data: "sig" }
    const hidden: ContentPart = { kind: "reasoning", form: "hidden", text: "", sealed }
    expect(answer([hidden, { kind: "text", text: "a" }, hidden]).output).toMatchObject([
      { type: "reasoning" },
      { type: "message" },
    ])
  })

  test("the seal of a call precedes it, and returns to the call", () => {
    const sealed = { mintedBy: "google", data: "sig" }
    const { output } = answer([{ kind: "tool-call", id: "1", name: "f", arguments: "{}", runsAt: "client", sealed }])
    expect(output).toMatchObject([{ type: "reasoning", summary: [] }, { type: "function_call" }])
    const items = output as JsonObject[]
    // Earlier releases wrote the seal after the call.
    for (const back of [items, items.toReversed()]) {
      const { turns } = decoded({
        model: "a/b",
        input: [...back, { type: "function_call_output", call_id: "1", output: "r" }],
      })
      expect(turns.flatMap(({ parts }) => parts)).toMatchObject([
        { kind: "tool-call", sealed },
        { kind: "tool-result" },
      ])
    }
  })

  test("images, searches and this protocol's own blocks are encoded; other parts are reported as lost", () => {
    const own = { type: "mcp_list_tools", id: "mcpl_1", tools: [] }
    const search = { type: "web_search_call", id: "ws_9", status: "completed", action: { type: "search", query: "q" } }
    const { output, losses } = answer([
      { kind: "media", media: "image", source: { at: "inline", mediaType: "image/png", base64: "AAAA" } },
      { kind: "tool-call", id: "srvtoolu_1", name: "web_search", arguments: '{"query":"q"}', runsAt: "provider" },
      { kind: "foreign", protocol: "openai-responses", value: own },
      { kind: "tool-call", id: "ws_9", name: "web_search_call", arguments: "{}", runsAt: "provider" },
      {
        kind: "tool-result",
        callId: "ws_9",
        name: "web_search_call",
        isError: false,
        parts: [{ kind: "foreign", protocol: "openai-responses", value: search }],
      },
      { kind: "foreign", protocol: "x", value: {} },
      { kind: "media", media: "audio", source: { at: "inline", mediaType: "audio/wav", base64: "AAAA" } },
      { kind: "tool-call", id: "srvtoolu_2", name: "code_execution", arguments: "{}", runsAt: "provider" },
    ])
    expect(output).toMatchObject([
      { type: "image_generation_call", status: "completed", result: "AAAA", output_format: "png" },
      { type: "web_search_call", status: "completed", action: { type: "search", query: "q" } },
      own,
      search,
    ])
    expect(losses).toEqual(["hint output[5]", "hint output[6]", "hint output[7]"])
  })
})
