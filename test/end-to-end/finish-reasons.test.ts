// Finish reasons for clients of another protocol: tool calls are always the client's to answer, text is never lost, and
// an empty answer is an error.
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import Anthropic from "@anthropic-ai/sdk"
import OpenAI from "openai"
import { RunningGateway } from "../stage/gateway.ts"
import { geminiEvent } from "../stage/gemini-wire.ts"
import { responseEvent, responseObject } from "../stage/responses-wire.ts"
import { chunk, DONE, ScriptedUpstream, type UpstreamReply } from "../stage/upstream.ts"

type FinishReasonBody = Record<string, unknown>

let upstream: ScriptedUpstream
let gateway: RunningGateway
let anthropic: Anthropic
let openai: OpenAI

const config = (origin: string) => `
providers:
  chat: { type: openai-compatible, base_url: "${origin}/v1", api_key: k, protocols: [openai-chat] }
  responses: { type: openai-compatible, base_url: "${origin}/v1", api_key: k, protocols: [openai-responses] }
  gemini: { type: gemini-compatible, base_url: "${origin}", api_key: k }
models:
  - { id: t/chat, max_output_tokens: 1000, pricing: { input: "1", output: "2" }, targets: [{ provider: chat, model: up }] }
  - { id: t/responses, max_output_tokens: 1000, pricing: { input: "1", output: "2" }, targets: [{ provider: responses, model: up }] }
  - { id: t/gemini, max_output_tokens: 1000, pricing: { input: "1", output: "2" }, targets: [{ provider: gemini, model: gemini-3-pro }] }
`

beforeAll(async () => {
  upstream = await ScriptedUpstream.start()
  gateway = await RunningGateway.start({ config: config(upstream.origin) })
  anthropic = new Anthropic({ baseURL: `${gateway.url}/anthropic`, apiKey: gateway.key, maxRetries: 0 })
  openai = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.key, maxRetries: 0 })
})
afterAll(async () => {
  await gateway.stop()
  await upstream.stop()
})

const tools: Anthropic.Tool[] = [{ name: "f", input_schema: { type: "object", properties: {} } }]
const ask = { model: "t/gemini", max_tokens: 100, messages: [{ role: "user" as const, content: "Hi" }], tools }
const call = { functionCall: { name: "f", args: {} }, thoughtSignature: "U0lHTkVE" }

const geminiBody = (parts: readonly FinishReasonBody[], finishReason?: string): FinishReasonBody => ({
  candidates: [{ index: 0, content: { role: "model", parts }, ...(finishReason && { finishReason }) }],
  usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 },
})

async function streamed(reply: UpstreamReply, pieces: readonly string[]): Promise<void> {
  reply.stream()
  for (const piece of pieces) await reply.write(piece)
  reply.end()
}

describe("an answer with a tool call", () => {
  test.each(["UNEXPECTED_TOOL_CALL", "MISSING_THOUGHT_SIGNATURE", "OTHER"])(
    "a tool call that Gemini ends with %s has the reason tool_use for a Messages client, whole and streamed",
    async (finishReason) => {
      upstream.script = ({ path }, reply) =>
        path.includes("stream")
          ? streamed(reply, [geminiEvent(geminiBody([call])), geminiEvent(geminiBody([{ text: "" }], finishReason))])
          : reply.json(geminiBody([call], finishReason))
      expect(await anthropic.messages.create(ask)).toMatchObject({ stop_reason: "tool_use" })
      const message = await anthropic.messages.stream(ask).finalMessage()
      expect(message.stop_reason).toBe("tool_use")
      expect(message.content.map(({ type }) => type)).toContain("tool_use")
    },
  )

  test("a tool call in a chat stream without a reason ends as tool_use, and as STOP for Gemini clients", async () => {
    const called = { index: 0, id: "call_1", type: "function", function: { name: "f", arguments: "{}" } }
    upstream.script = (_, reply) => streamed(reply, [chunk({ role: "assistant", tool_calls: [called] }), DONE])
    const message = await anthropic.messages.stream({ ...ask, model: "t/chat" }).finalMessage()
    expect(message.stop_reason).toBe("tool_use")
    const response = await fetch(`${gateway.url}/gemini/v1beta/models/t/chat:streamGenerateContent?alt=sse`, {
      method: "POST",
      headers: { "x-goog-api-key": gateway.key, "content-type": "application/json" },
      body: JSON.stringify({ contents: [{ role: "user", parts: [{ text: "Hi" }] }] }),
    })
    expect(await response.text()).toContain('"finishReason":"STOP"')
  })
})

describe("an empty answer", () => {
  test.each(["MALFORMED_FUNCTION_CALL", "TOO_MANY_TOOL_CALLS", "OTHER"])(
    "an empty answer that Gemini ends with %s is an error that names it, for every client",
    async (finishReason) => {
      upstream.script = ({ path }, reply) =>
        path.includes("stream")
          ? streamed(reply, [geminiEvent(geminiBody([], finishReason))])
          : reply.json(geminiBody([], finishReason))
      const expected = expect.objectContaining({ status: 503, message: expect.stringContaining(finishReason) })
      expect(await raised(anthropic.messages.create(ask))).toEqual(expected)
      expect(await raised(anthropic.messages.stream(ask).finalMessage())).toEqual(expected)
      const { messages } = ask
      expect(await raised(openai.chat.completions.create({ model: "t/gemini", messages }))).toEqual(expected)
      expect(await raised(openai.responses.create({ model: "t/gemini", input: "Hi" }))).toEqual(expected)
    },
  )

  test("a stream with nothing but thoughts ends in an error frame", async () => {
    const thought = geminiEvent(geminiBody([{ text: "hm", thought: true }]))
    upstream.script = (_, reply) => streamed(reply, [thought, geminiEvent(geminiBody([], "MALFORMED_FUNCTION_CALL"))])
    const error = await raised(anthropic.messages.stream(ask).finalMessage())
    expect(String(error)).toContain("MALFORMED_FUNCTION_CALL")
  })
})

async function raised(answer: PromiseLike<unknown>): Promise<unknown> {
  return answer.then(
    () => undefined,
    (error: unknown) => error,
  )
}

test("text after a first stop reason is not lost", async () => {
  const ran = { toolCall: { toolType: "MCP", id: "1", args: {} } }
  const found = { toolResponse: { toolType: "MCP", id: "1", response: { found: 1 } } }
  upstream.script = (_, reply) =>
    streamed(reply, [
      geminiEvent(geminiBody([ran, found], "STOP")),
      geminiEvent(geminiBody([{ text: "It is " }])),
      geminiEvent(geminiBody([{ text: "sunny." }], "STOP")),
    ])
  const message = await anthropic.messages.stream(ask).finalMessage()
  expect(message.content).toEqual([expect.objectContaining({ type: "text", text: "It is sunny." })])
  expect(message.stop_reason).toBe("end_turn")
  const stream = await openai.chat.completions.create({ model: "t/gemini", messages: ask.messages, stream: true })
  let text = ""
  const reasons: unknown[] = []
  for await (const { choices } of stream) {
    text += choices[0]?.delta.content ?? ""
    if (choices[0]?.finish_reason) reasons.push(choices[0].finish_reason)
  }
  expect([text, reasons]).toEqual(["It is sunny.", ["stop"]])
})

test("a call run by the provider under an undeclared name does not reach the client as its own", async () => {
  const search = {
    type: "custom_tool_call",
    id: "ctc_1",
    call_id: "xs_1",
    name: "x_keyword_search",
    input: '{"query":"bun"}',
    status: "completed",
  }
  const answer = {
    type: "message",
    id: "msg_1",
    role: "assistant",
    status: "completed",
    content: [{ type: "output_text", text: "Found.", annotations: [] }],
  }
  upstream.script = ({ body }, reply) => {
    const isStream = JSON.parse(body.toString()).stream === true
    return isStream
      ? streamed(reply, itemEvents([search, answer]))
      : reply.json(responseObject("", { output: [search, answer] }))
  }
  const request = { ...ask, model: "t/responses" }
  const message = await anthropic.messages.create(request)
  expect(message.content).toEqual([expect.objectContaining({ type: "text", text: "Found." })])
  expect(message.stop_reason).toBe("end_turn")
  const streamedMessage = await anthropic.messages.stream(request).finalMessage()
  expect(streamedMessage.content).toEqual([expect.objectContaining({ type: "text", text: "Found." })])
  expect(streamedMessage.stop_reason).toBe("end_turn")
})

/** A stream of these items, each with its start and its end. */
function itemEvents(output: readonly FinishReasonBody[]): string[] {
  const items = output.flatMap((item, output_index) => [
    { type: "response.output_item.added", members: { output_index, item: { ...item, status: "in_progress" } } },
    { type: "response.output_item.done", members: { output_index, item } },
  ])
  const events = [
    { type: "response.created", members: { response: responseObject("", { status: "in_progress", output: [] }) } },
    ...items,
    { type: "response.completed", members: { response: responseObject("", { output }) } },
  ]
  return events.map(({ type, members }, index) => responseEvent(type, index, members))
}
