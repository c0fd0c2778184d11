// The end of a relayed stream without usage: counts are added where the protocol's clients expect them, earlier frames
// pass at once, and reported usage stays unchanged.
import { describe, expect, test } from "bun:test"
import type { Usage } from "../../canonical/usage.ts"
import { toByteText } from "../../transport/json/byte-text.ts"
import { decodeSse } from "../../transport/streams/sse.ts"
import { anthropicMessages } from "../chat/anthropic-messages/anthropic-messages.ts"
import { geminiGenerate } from "../chat/gemini-generate/gemini-generate.ts"
import { openaiChat } from "../chat/openai-chat/openai-chat.ts"
import { openaiResponses } from "../chat/openai-responses/openai-responses.ts"
import type { Protocol, RequestSummary } from "../contract.ts"
import { streamReading } from "../relay.fixture.ts"

const USAGE: Usage = { input: 7, output: 3 }

/** The forwarded frames and the end of the stream; the last frame is held back, if the protocol requires it. */
function ending(
  protocol: Protocol,
  stream: string,
  { hasEnd = true, ...reading }: Partial<RequestSummary> & { hasEnd?: boolean } = {},
) {
  const relay = protocol.relayStream({ model: "a/b", reading: { ...streamReading("any"), ...reading } })
  const frames = decodeSse().push(toByteText(new TextEncoder().encode(stream)))
  const passed = frames.map((frame) => relay.edit(frame))
  const end = hasEnd ? (passed.pop() ?? "") : relay.terminal()
  return { before: passed.join(""), end: relay.endWithUsage?.(end, USAGE) ?? end }
}

const event = (data: object) => `data: ${JSON.stringify(data)}\n\n`

describe("chat completions", () => {
  const chunk = { id: "chatcmpl-1", object: "chat.completion.chunk", created: 5, model: "m" }
  const textChunk = event({
    ...chunk,
    choices: [{ index: 0, delta: { role: "assistant", content: "Hi" }, finish_reason: "stop" }],
  })

  test("a chat completions stream gets a usage chunk before its end if usage was requested", () => {
    const { before, end } = ending(openaiChat, `${textChunk}data: [DONE]\n\n`)
    expect(before).toContain('"content":"Hi"')
    const [usageFrame = "", done] = end.split("\n\n")
    expect(JSON.parse(usageFrame.slice("data: ".length))).toMatchObject({
      ...{ ...chunk, model: "a/b", choices: [] },
      usage: { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 },
    })
    expect(done).toBe("data: [DONE]")
  })

  test("a chat completions stream gets no usage chunk if it was not requested or already sent", () => {
    expect(ending(openaiChat, `${textChunk}data: [DONE]\n\n`, { usageRequested: false }).end).toBe("data: [DONE]\n\n")
    const invalidUsage = event({ ...chunk, choices: [], usage: { prompt_tokens: -1, completion_tokens: 0 } })
    expect(ending(openaiChat, `${textChunk}${invalidUsage}data: [DONE]\n\n`).end).toBe("data: [DONE]\n\n")
  })
})

describe("messages", () => {
  const start = event({ type: "message_start", message: { id: "msg_1", model: "m", content: [] } })
  const delta = event({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Hi" } })
  const stop = event({ type: "message_delta", delta: { stop_reason: "end_turn" } })
  const end = event({ type: "message_stop" })

  test("a messages stream gets its usage in the event with the stop reason, which waits for it", () => {
    const result = ending(anthropicMessages, start + delta + stop + end)
    expect(result.before).toContain('"text":"Hi"')
    expect(result.before).not.toContain("stop_reason")
    const [usageFrame = "", last] = result.end.split("\n\n")
    expect(JSON.parse(usageFrame.slice("data: ".length))).toMatchObject({
      delta: { stop_reason: "end_turn" },
      usage: { input_tokens: 7, output_tokens: 3 },
    })
    expect(`${last}\n\n`).toBe(end)
  })

  test("the first event of a messages stream gets a usage object", () => {
    expect(ending(anthropicMessages, start + delta + stop + end).before).toContain('"usage":{"input_tokens":0')
  })

  test("a messages stream keeps the stop reason if the host omits the last event", () => {
    const { end: closing } = ending(anthropicMessages, start + delta + stop, { hasEnd: false })
    expect(closing).toContain('"stop_reason":"end_turn"')
    expect(closing).toEndWith('event: message_stop\ndata: {"type":"message_stop"}\n\n')
    expect(closing).toContain('"output_tokens":3')
  })

  test("a messages stream keeps usage that was already sent", () => {
    const counted = event({ type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: -1 } })
    const result = ending(anthropicMessages, start + counted + end)
    expect([result.before.includes('"output_tokens":-1'), result.end]).toEqual([true, end])
  })
})

describe("generated content", () => {
  const chunk = event({ candidates: [{ content: { parts: [{ text: "Hi" }] }, finishReason: "STOP" }] })
  const counts = { promptTokenCount: 7, candidatesTokenCount: 3, totalTokenCount: 10 }

  test("a generateContent stream gets one more event", () => {
    const { before, end } = ending(geminiGenerate, chunk, { hasEnd: false })
    expect(before).toContain('"text":"Hi"')
    expect(JSON.parse(end.slice("data: ".length))).toMatchObject({ modelVersion: "a/b", usageMetadata: counts })
  })

  test("a generateContent array gets one more element", () => {
    const { before, end } = ending(geminiGenerate, chunk, { hasEnd: false, framing: "array" })
    expect(JSON.parse(before + end)).toMatchObject([{}, { usageMetadata: counts }])
  })

  test("a generateContent stream keeps usage that was already sent", () => {
    const implausible = event({ candidates: [{ finishReason: "STOP" }], usageMetadata: { promptTokenCount: 1e12 } })
    expect(ending(geminiGenerate, implausible, { hasEnd: false }).end).toBe("")
  })
})

test("a responses stream gets its usage in the last event", () => {
  const created = event({ type: "response.created", response: { id: "resp_1", model: "m", usage: null } })
  const done = event({ type: "response.completed", response: { id: "resp_1", model: "m", output: [], usage: null } })
  const { before, end } = ending(openaiResponses, created + done)
  expect(before).toContain('"usage":null')
  expect(JSON.parse(end.slice("data: ".length))).toMatchObject({
    response: { id: "resp_1", model: "a/b", usage: { input_tokens: 7, output_tokens: 3, total_tokens: 10 } },
  })
})
