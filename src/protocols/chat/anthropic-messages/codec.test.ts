// Properties of the codec, over this repository's requests and over recorded exchanges.
import { describe, expect, test } from "bun:test"
import fc from "fast-check"
import { recordings, sampleSize, streamText } from "../../../../test/recordings/recorded.ts"
import { assembleResponse } from "../../../canonical/chat/assemble-response.ts"
import type { ChatResponse } from "../../../canonical/chat/chat-response.ts"
import type { ContentPart } from "../../../canonical/chat/content-part.ts"
import { GatewayError } from "../../../canonical/gateway-error.ts"
import { isObject, type Json, type JsonObject } from "../../../canonical/json.ts"
import { encodeByteText } from "../../../transport/json/byte-text.ts"
import { decoded, encoded, readStream, requests, rich, writeStream } from "./codec.fixture.ts"
import { anthropicMessagesCodec } from "./codec.ts"
import { grammarFaults } from "./encode/stream-grammar.fixture.ts"

const { upstream } = anthropicMessagesCodec
const context = { id: "x", minter: "anthropic" }

/** The request without members that do not matter: model, stream, null members and defaults. */
function bare(body: JsonObject): Json {
  const { model: _, stream: __, provider: ___, ...rest } = body
  return JSON.parse(JSON.stringify(rest), (name, value) => {
    if (!isObject(value)) return value
    const members = Object.entries(value).filter(
      ([key, each]) => each !== null && !(key === "is_error" && each === false && value.type === "tool_result"),
    )
    const isTool = value.input_schema !== undefined && value.type === "custom"
    return name === "input" ? value : Object.fromEntries(members.filter(([key]) => !(isTool && key === "type")))
  })
}

describe("encoding a request in its own protocol", () => {
  for (const body of [rich, ...requests]) {
    test(`a request stays the same: ${JSON.stringify(body).slice(0, 100)}`, () => {
      const { body: again, losses } = encoded(decoded(body))
      expect(bare(again)).toEqual(bare(body))
      expect(losses).toEqual([])
    })
  }

  test("every recorded request stays the same when decoded and encoded", () => {
    const bodies = recordings("messages").flatMap(({ request }) => (request?.body?.messages ? [request.body] : []))
    expect(bodies.length).toBeGreaterThanOrEqual(sampleSize(50))
    for (const body of bodies) expect(bare(encoded(decoded(body)).body)).toEqual(bare(body))
  })

  test("any request stays the same when decoded and encoded", () => {
    const block = fc.oneof(
      fc.record({ type: fc.constantFrom("text", "thinking", "image", "tool_result", "x"), text: fc.string() }),
      fc.record({ type: fc.constant("text"), text: fc.string(), more: fc.jsonValue() }),
      fc.dictionary(fc.string(), fc.jsonValue()),
    )
    const content = fc.oneof(fc.string(), fc.array(block, { minLength: 1 }))
    const message = fc.record({ role: fc.constantFrom("user", "assistant"), content })
    const body = fc.record({ max_tokens: fc.nat(), messages: fc.array(message), later: fc.jsonValue() })
    fc.assert(
      fc.property(body, (each) => {
        const sound = JSON.parse(JSON.stringify(each))
        expect(bare(encoded(decoded(sound)).body)).toEqual(bare(sound))
      }),
    )
  })
})

test("no request fails with anything but a GatewayError", () => {
  const odd = fc.dictionary(
    fc.constantFrom("messages", "system", "tools", "tool_choice", "thinking", "output_config", "metadata", "provider"),
    fc.jsonValue(),
  )
  fc.assert(
    fc.property(odd, (body) => {
      try {
        encoded(decoded(body))
      } catch (error) {
        expect(error).toBeInstanceOf(GatewayError)
      }
    }),
  )
})

/** Argument spacing may differ, and response members other than the parts are not streamed. */
function comparable({ candidates, usage, id, model }: ChatResponse): unknown {
  const spaced = (part: ContentPart): ContentPart =>
    part.kind === "tool-call" ? { ...part, arguments: JSON.stringify(JSON.parse(part.arguments)) } : part
  return { id, model, usage, candidates: candidates.map((each) => ({ ...each, parts: each.parts.map(spaced) })) }
}

/** A whole response as the vendor would stream it. */
function streamed(body: JsonObject): string {
  const { content, stop_reason, stop_sequence, usage, ...rest } = body
  const frame = (data: JsonObject) => `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`
  const blocks = (content as readonly JsonObject[]).flatMap((block, index) => [
    frame({ type: "content_block_start", index, content_block: opening(block) }),
    ...deltas(block).map((delta) => frame({ type: "content_block_delta", index, delta })),
    frame({ type: "content_block_stop", index }),
  ])
  return [
    frame({ type: "message_start", message: { ...rest, content: [], stop_reason: null, usage: usage ?? null } }),
    ...blocks,
    frame({
      type: "message_delta",
      delta: { stop_reason: stop_reason ?? null, stop_sequence: stop_sequence ?? null },
      usage: usage ?? null,
    }),
    frame({ type: "message_stop" }),
  ].join("")
}

function opening(block: JsonObject): JsonObject {
  if (block.type === "text") return { type: "text", text: "" }
  if (block.type === "thinking") return { type: "thinking", thinking: "", signature: "" }
  return isObject(block.input) ? { ...block, input: {} } : block
}

function deltas(block: JsonObject): JsonObject[] {
  const { type, text, thinking, signature, citations, input } = block
  const cites = Array.isArray(citations) ? citations : []
  if (type === "text" && typeof text === "string") {
    const textDeltas = (text.match(/[\s\S]{1,7}/gu) ?? []).map((piece) => ({ type: "text_delta", text: piece }))
    return [...textDeltas, ...cites.map((citation: Json) => ({ type: "citations_delta", citation }))]
  }
  if (type === "thinking") {
    return [
      { type: "thinking_delta", thinking: thinking ?? "" },
      { type: "signature_delta", signature: signature ?? "" },
    ]
  }
  if (!isObject(input)) return []
  const pieces = JSON.stringify(input, null, 1).match(/[\s\S]{1,5}/g) ?? []
  return pieces.map((partial_json) => ({ type: "input_json_delta", partial_json }))
}

const answers = recordings("messages").flatMap(({ response: { body }, status }) =>
  status === 200 && isObject(body) && Array.isArray(body.content) && body.type === "message" ? [body] : [],
)
const streams = recordings("messages").flatMap((recording) => {
  const text = recording.status === 200 ? streamText(recording) : undefined
  return text?.includes('"message_start"') ? [text] : []
})

describe("decoding and encoding streams", () => {
  test("every recorded stream is assembled into its whole response", () => {
    expect(answers.length).toBeGreaterThanOrEqual(sampleSize(30))
    for (const body of answers) {
      const whole = upstream.decodeResponse(body, context)
      expect(whole).toBeDefined()
      expect(comparable(assembleResponse(readStream([encodeByteText(streamed(body))])))).toEqual(
        comparable(whole as ChatResponse),
      )
    }
  })

  test("every recorded stream, encoded again, is valid and equivalent", () => {
    expect(streams.length).toBeGreaterThanOrEqual(sampleSize(30))
    for (const text of streams) {
      const events = readStream([text]).filter(({ type }) => type !== "stream-error")
      if (events.at(-1)?.type !== "stream-end") continue
      const written = writeStream(events).join("")
      expect(grammarFaults(written)).toEqual([])
      const [before] = assembleResponse(events).candidates
      const [after] = assembleResponse(readStream([written])).candidates
      const kinds = (parts: readonly ContentPart[] = []) =>
        parts.flatMap((part) => ("text" in part && !part.text ? [] : [part.kind]))
      expect(kinds(after?.parts)).toEqual(kinds(before?.parts))
      expect(after?.finish?.reason).toBe(before?.finish?.reason as never)
    }
  })

  test("every recorded stream decodes to the same events wherever its bytes are cut", () => {
    for (const text of streams.slice(0, 10)) {
      const whole = readStream([text])
      expect(readStream(text.match(/[\s\S]{1,3}/g) ?? [])).toEqual(whole)
    }
  })
})
