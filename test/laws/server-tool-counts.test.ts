// Law: the counts of a provider's own tool runs reach the client or are reported as losses, whole and streamed.
import { describe, expect, test } from "bun:test"
import { isObject, type JsonObject } from "../../src/canonical/json.ts"
import type { Losses } from "../../src/canonical/loss.ts"
import { codecs } from "../../src/protocols.ts"
import { decodeSse } from "../../src/transport/streams/sse.ts"
import { dataIn, encodeContext } from "./recorded-answers.ts"

const COUNTS = { web_search_requests: 2, web_fetch_requests: 0 }
const TEXT = { type: "text", text: "Found." }
const DECODING = { id: "abcdefghijklmnopqrstuvwx", minter: "minter" }

function answerWith(server_tool_use: object | null): JsonObject {
  const usage = { input_tokens: 3, output_tokens: 2, server_tool_use }
  const message = { id: "msg_1", type: "message", role: "assistant", model: "m", content: [TEXT] }
  return JSON.parse(JSON.stringify({ ...message, stop_reason: "end_turn", stop_sequence: null, usage }))
}

function streamWith(server_tool_use: object): string {
  const events = [
    { type: "message_start", message: { id: "msg_1", model: "m", content: [], usage: { input_tokens: 3 } } },
    { type: "content_block_start", index: 0, content_block: TEXT },
    { type: "content_block_stop", index: 0 },
    { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 2, server_tool_use } },
    { type: "message_stop" },
  ]
  return events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("")
}

const upstream = codecs.upstream.get("anthropic-messages")
if (!upstream) throw new Error("no decoder for anthropic-messages")

function whole(protocol: string, answer: JsonObject): { bodies: JsonObject[]; losses: Losses } {
  const response = upstream?.decodeResponse(answer, DECODING)
  const context = encodeContext()
  if (!response) throw new Error("no answer")
  return { bodies: [codecs.ingress.get(protocol)?.encodeResponse(response, context) ?? {}], losses: context.losses }
}

function streamed(protocol: string, text: string): { bodies: JsonObject[]; losses: Losses } {
  const context = encodeContext()
  const decoder = upstream?.decodeStream(DECODING)
  const writer = codecs.ingress.get(protocol)?.encodeStream(context)
  const events = decodeSse()
    .push(text)
    .flatMap((frame) => decoder?.push(frame) ?? [])
  return { bodies: dataIn(events.flatMap((event) => writer?.push(event) ?? []).join("")), losses: context.losses }
}

const showsCounts = (bodies: readonly JsonObject[]) =>
  bodies.some(({ usage }) => isObject(usage) && Bun.deepEquals(usage.server_tool_use, COUNTS))

describe.each([...codecs.ingress.keys()])("counts of a provider's tools in %s", (protocol) => {
  const isOwn = protocol === "anthropic-messages"

  test.each([
    ["whole", () => whole(protocol, answerWith(COUNTS))],
    ["streamed", () => streamed(protocol, streamWith(COUNTS))],
  ])("counts of a provider's tools are shown or reported as a loss, once, in an answer that is %s", (_, read) => {
    const { bodies, losses } = read()
    const named = losses.filter(({ path }) => path === "usage.server_tool_use")
    expect([showsCounts(bodies), named.length]).toEqual(isOwn ? [true, 0] : [false, 1])
    if (!isOwn) expect(named[0]).toMatchObject({ weight: "hint", how: "dropped" })
  })

  test.each([null, { web_search_requests: 0 }])("empty counts of a provider's tools are no loss: %j", (counts) => {
    expect(whole(protocol, answerWith(counts)).losses).toEqual([])
    if (counts) expect(streamed(protocol, streamWith(counts)).losses).toEqual([])
  })
})
