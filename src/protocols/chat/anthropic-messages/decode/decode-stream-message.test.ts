import { describe, expect, test } from "bun:test"
import fc from "fast-check"
import { assembleResponse } from "../../../../canonical/chat/assemble-response.ts"
import type { ContentPart } from "../../../../canonical/chat/content-part.ts"
import { encodeByteText } from "../../../../transport/json/byte-text.ts"
import { events, readStream } from "../codec.fixture.ts"

type MessageEventData = { type: string; [member: string]: unknown }[]

const opening = {
  type: "message_start",
  message: { id: "msg_1", model: "m", usage: { input_tokens: 1, output_tokens: 1 } },
}
const closing = { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 2 } }
const block = (index: number, content_block: object) => ({ type: "content_block_start", index, content_block })
const delta = (index: number, change: object) => ({ type: "content_block_delta", index, delta: change })
const stop = (index: number) => ({ type: "content_block_stop", index })
const partsOf = (...data: MessageEventData): readonly ContentPart[] =>
  assembleResponse(readStream([events(opening, ...data, closing, { type: "message_stop" })])).candidates[0]?.parts ?? []

describe("the parts of a stream are decoded", () => {
  const own = (value: object) => ({ kind: "foreign", protocol: "anthropic-messages", value })
  const cases: [string, MessageEventData, object[]][] = [
    [
      "a redacted thinking block",
      [block(0, { type: "redacted_thinking", data: "d" }), stop(0)],
      [{ kind: "reasoning", form: "hidden", text: "", sealed: { mintedBy: "anthropic", data: "redacted:d" } }],
    ],
    [
      "citations",
      [
        block(0, { type: "text", text: "", citations: [] }),
        delta(0, {
          type: "citations_delta",
          citation: { type: "page_location", cited_text: "q", document_title: "T" },
        }),
        delta(0, { type: "text_delta", text: "x" }),
        stop(0),
      ],
      [
        {
          kind: "text",
          text: "x",
          citations: [
            { title: "T", quote: "q", extra: { protocol: "anthropic-messages", members: { type: "page_location" } } },
          ],
        },
      ],
    ],
    [
      "the result of a tool that the provider ran",
      [block(0, { type: "web_search_tool_result", tool_use_id: "i", content: [{ url: "u" }] }), stop(0)],
      [{ kind: "tool-result", callId: "i", name: "web_search", isError: false, parts: [own([{ url: "u" }])] }],
    ],
    [
      "a call without input",
      [
        block(0, { type: "tool_use", id: "i", name: "f", input: {} }),
        delta(0, { type: "input_json_delta", partial_json: "" }),
        stop(0),
      ],
      [{ kind: "tool-call", id: "i", name: "f", arguments: "{}", runsAt: "client" }],
    ],
    [
      "a call of a remote server's tool",
      [block(0, { type: "mcp_tool_use", id: "i", name: "f", server_name: "s", input: {} }), stop(0)],
      [
        {
          kind: "tool-call",
          id: "i",
          name: "f",
          arguments: "{}",
          runsAt: "provider",
          server: "s",
        },
      ],
    ],
    [
      "an unknown block, when it is complete,",
      [
        block(0, { type: "compaction", content: null }),
        delta(0, { type: "compaction_delta", content: "a" }),
        delta(0, { type: "compaction_delta", content: "b" }),
        stop(0),
      ],
      [own({ type: "compaction", content: "ab" })],
    ],
  ]
  for (const [name, data, expected] of cases)
    test(`${name} is decoded`, () => expect(partsOf(...data) as object[]).toEqual(expected))
})

describe("deviations of hosts are tolerated", () => {
  const text = (words: string) => ({ kind: "text", text: words })
  const cases: [string, MessageEventData, object[]][] = [
    [
      "send a call's input all at once",
      [block(0, { type: "tool_use", id: "i", name: "f", input: { a: 1 } }), stop(0)],
      [{ kind: "tool-call", id: "i", name: "f", arguments: '{"a":1}', runsAt: "client" }],
    ],
    [
      "open a text block with its first words",
      [block(0, { type: "text", text: "a" }), delta(0, { text: "b" }), stop(0)],
      [text("ab")],
    ],
    [
      "give all blocks the same index",
      [
        block(0, { type: "text", text: "a" }),
        stop(0),
        block(0, { type: "text", text: "b" }),
        block(0, { type: "text", text: "c" }),
      ],
      [text("a"), text("b"), text("c")],
    ],
    ["open the message twice, and leave blocks open", [opening, block(0, { type: "text", text: "a" })], [text("a")]],
    [
      "send a call without an id and name",
      [block(0, { type: "tool_use" }), stop(0)],
      [{ kind: "tool-call", id: "", name: "", arguments: "{}", runsAt: "client" }],
    ],
    ["send deltas for a block that was never opened", [delta(3, { type: "text_delta", text: "x" }), stop(3)], []],
  ]
  for (const [name, data, expected] of cases)
    test(`a host may ${name}`, () => expect(partsOf(...data) as object[]).toEqual(expected))

  test("whatever events a host sends, every part that starts ends", () => {
    const kind = fc.constantFrom(
      "message_start",
      "content_block_start",
      "content_block_delta",
      "content_block_stop",
      "message_delta",
      "message_stop",
      "x",
    )
    const inner = fc.oneof(
      fc.jsonValue(),
      fc.record({
        type: fc.constantFrom(
          "text",
          "thinking",
          "redacted_thinking",
          "tool_use",
          "image",
          "x_tool_result",
          "citations_delta",
        ),
        text: fc.jsonValue(),
        data: fc.jsonValue(),
        citations: fc.jsonValue(),
        content: fc.jsonValue(),
        tool_use_id: fc.string(),
      }),
    )
    const event = fc.record(
      {
        type: kind,
        index: fc.oneof(fc.nat({ max: 2 }), fc.jsonValue()),
        content_block: inner,
        delta: inner,
        message: inner,
        usage: inner,
      },
      { requiredKeys: ["type"] },
    )
    fc.assert(
      fc.property(fc.array(event), (data) => {
        const read = readStream([encodeByteText(events(...data, { type: "message_stop" }))])
        const of = (type: string) => read.flatMap((each) => (each.type === type && "part" in each ? [each.part] : []))
        expect(of("part-end").sort()).toEqual(of("part-start").sort())
        assembleResponse(read)
      }),
    )
  })
})
