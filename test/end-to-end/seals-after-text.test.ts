// Seals that a model sends after its text: no client sees one as the end of an answer, and they return to their minter
// with the conversation.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test"
import Anthropic from "@anthropic-ai/sdk"
import OpenAI from "openai"
import { RunningGateway, runCommand } from "../stage/gateway.ts"
import { geminiEvent } from "../stage/gemini-wire.ts"
import { ScriptedUpstream, type UpstreamReply } from "../stage/upstream.ts"

type SealBody = Record<string, unknown>

let upstream: ScriptedUpstream
let gateway: RunningGateway
let anthropic: Anthropic
let openai: OpenAI

const config = (origin: string) => `
providers:
  gemini: { type: gemini-compatible, base_url: "${origin}", api_key: k }
  messages: { type: anthropic-compatible, base_url: "${origin}", api_key: k }
models:
  - { id: t/gemini, reasoning: true, max_output_tokens: 1000, pricing: { input: "1", output: "2" }, targets: [{ provider: gemini, model: gemini-2.5-flash }] }
  - { id: t/signed, reasoning: true, max_output_tokens: 1000, pricing: { input: "1", output: "2" }, targets: [{ provider: gemini, model: gemini-3-pro }] }
  - { id: t/messages, reasoning: true, max_output_tokens: 1000, pricing: { input: "1", output: "2" }, targets: [{ provider: messages, model: up }] }
`

beforeAll(async () => {
  upstream = await ScriptedUpstream.start()
  gateway = await RunningGateway.start({ config: config(upstream.origin) })
  anthropic = new Anthropic({ baseURL: `${gateway.url}/anthropic`, apiKey: gateway.key, maxRetries: 0 })
  openai = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.key, maxRetries: 0 })
})
beforeEach(() => {
  upstream.requests.length = 0
})
afterAll(async () => {
  await gateway.stop()
  await upstream.stop()
})

const geminiBody = (parts: readonly SealBody[], finishReason?: string): SealBody => ({
  candidates: [{ index: 0, content: { role: "model", parts }, ...(finishReason && { finishReason }) }],
  usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 },
})

async function streamed(reply: UpstreamReply, chunks: readonly SealBody[]): Promise<void> {
  reply.stream()
  for (const chunk of chunks) await reply.write(geminiEvent(chunk))
  reply.end()
}

const thought = { text: "The user greets.", thought: true }

/** Answers as a thinking Gemini does: its signature follows the text, in a stream on a part without text. */
function thinkingGemini(text: string, signature: string): void {
  const [first = "", ...rest] = text.match(/\s*\S+/g) ?? []
  upstream.script = ({ path }, reply) =>
    path.includes("stream")
      ? streamed(reply, [
          geminiBody([thought]),
          geminiBody([{ text: first }]),
          ...rest.map((word) => geminiBody([{ text: word }])),
          geminiBody([{ text: "", thoughtSignature: signature }], "STOP"),
        ])
      : reply.json(geminiBody([thought, { text, thoughtSignature: signature }], "STOP"))
}

const sentContents = () => (JSON.parse(upstream.lastRequest().body.toString()) as { contents: SealBody[] }).contents
const user = (content: string) => ({ role: "user" as const, content })
const ask = { model: "t/gemini", max_tokens: 2000, thinking: { type: "enabled" as const, budget_tokens: 1024 } }

function answerOf(messages: Anthropic.MessageParam[], how: "whole" | "streamed"): Promise<Anthropic.Message> {
  const body = { ...ask, messages }
  return how === "whole" ? anthropic.messages.create(body) : anthropic.messages.stream(body).finalMessage()
}

describe.each(["whole", "streamed"] as const)("seals for the Anthropic client, %s", (how) => {
  test("the answer ends in its text, and the second turn returns the signature to Gemini", async () => {
    const signature = how === "whole" ? "V0hPTEU=" : "U1RSRUFN"
    thinkingGemini("Hello there, how are you?", signature)
    const first = await answerOf([user("Say hello")], how)
    expect(first.content.map(({ type }) => type)).toEqual(["thinking", "text"])
    expect(first.content.at(-1)).toMatchObject({ text: "Hello there, how are you?" })
    await answerOf([user("Say hello"), { role: "assistant", content: first.content }, user("Again")], how)
    const [, model] = sentContents()
    expect(JSON.stringify(model)).toContain(`"thoughtSignature":"${signature}"`)
    expect(JSON.stringify(sentContents()[0])).not.toContain("thoughtSignature")
  })

  test("a client that trims the text and sends it as a string still returns the signature", async () => {
    thinkingGemini(" \nIt is a rather long answer, and nobody gives the same twice.\n", "VFJJTQ==")
    const messages = [user(`Trimmed ${how}`)]
    await answerOf(messages, how)
    const text = "It is a rather long answer, and nobody gives the same twice."
    await answerOf([...messages, { role: "assistant", content: text }, user("Again")], how)
    expect(JSON.stringify(sentContents()[1])).toContain("VFJJTQ==")
  })

  test("a client that changes the text gets an answer without the signature", async () => {
    thinkingGemini("Nine words are said here, and one is changed.", "Q0hBTkdF")
    const messages = [user(`Changed ${how}`)]
    await answerOf(messages, how)
    const text = "Ten words are said here, and one is changed."
    await answerOf([...messages, { role: "assistant", content: text }, user("Again")], how)
    expect(JSON.stringify(sentContents())).not.toContain("Q0hBTkdF")
  })

  test("the seal of a call precedes it and is sent back with the call", async () => {
    const tools: Anthropic.Tool[] = [{ name: "f", input_schema: { type: "object", properties: {} } }]
    const call = { functionCall: { name: "f", args: {} }, thoughtSignature: "Q0FMTA==" }
    upstream.script = ({ path }, reply) =>
      path.includes("stream") ? streamed(reply, [geminiBody([call], "STOP")]) : reply.json(geminiBody([call], "STOP"))
    const body = { ...ask, model: "t/signed", tools, messages: [user("Call f")] }
    const first =
      how === "whole" ? await anthropic.messages.create(body) : await anthropic.messages.stream(body).finalMessage()
    expect(first.content.map(({ type }) => type)).toEqual(["redacted_thinking", "tool_use"])
    for (const content of [first.content, first.content.filter(({ type }) => type === "tool_use")]) {
      const [used] = content.filter((block) => block.type === "tool_use")
      const result = { type: "tool_result" as const, tool_use_id: used?.id ?? "", content: "ok" }
      const turns = [
        user("Call f"),
        { role: "assistant" as const, content },
        { role: "user" as const, content: [result] },
      ]
      await anthropic.messages.create({ ...body, messages: turns })
      const called = (sentContents()[1]?.parts as SealBody[] | undefined)?.find(({ functionCall }) => functionCall)
      expect(called?.thoughtSignature).toBe("Q0FMTA==")
    }
  })
})

test("the same short answer in two conversations keeps their signatures separate", async () => {
  const talks = [
    { question: "Is it raining?", signature: "UkFJTg==" },
    { question: "Is it late?", signature: "TEFURQ==" },
  ]
  for (const { question, signature } of talks) {
    thinkingGemini("Yes.", signature)
    await answerOf([user(question)], "streamed")
  }
  for (const { question, signature } of talks) {
    await answerOf([user(question), { role: "assistant", content: "Yes." }, user("Sure?")], "whole")
    expect(sentContents()[1]?.parts as SealBody[]).toEqual([
      { text: "Yes." },
      { text: "", thoughtSignature: signature },
    ])
  }
  await answerOf([user("Is it new?"), { role: "assistant", content: "Yes." }, user("Sure?")], "whole")
  expect(JSON.stringify(sentContents())).not.toContain("thoughtSignature")
})

test("signatures go to no other tenant and to no other vendor", async () => {
  thinkingGemini("This is what the first tenant was told by the model.", "VEVOQU5U")
  const turns = [
    user("Tell me"),
    { role: "assistant" as const, content: "This is what the first tenant was told by the model." },
    user("More"),
  ]
  await answerOf([user("Tell me")], "streamed")
  const words = ["keys", "create", "--name", "other", "--tenant", "other", "--json", "--data", gateway.dataDir]
  const { key } = JSON.parse((await runCommand(words, { folder: gateway.folder })).stdout) as { key: string }
  const other = new Anthropic({ baseURL: `${gateway.url}/anthropic`, apiKey: key, maxRetries: 0 })
  await other.messages.create({ ...ask, messages: turns })
  expect(JSON.stringify(sentContents())).not.toContain("VEVOQU5U")
  upstream.script = (_, reply) =>
    reply.json({ id: "msg_1", type: "message", role: "assistant", model: "up", content: [], usage: {} })
  await openai.chat.completions.create({ model: "t/messages", messages: turns })
  expect(upstream.lastRequest().body.toString()).not.toContain("VEVOQU5U")
})

test("several signatures of one answer all return in order", async () => {
  upstream.script = (_, reply) =>
    streamed(reply, [
      geminiBody([{ text: "One part of it.", thoughtSignature: "T05F" }]),
      geminiBody([{ text: " Another part of it." }]),
      geminiBody([{ text: "", thoughtSignature: "VFdP" }], "STOP"),
    ])
  const first = await answerOf([user("In two parts")], "streamed")
  expect(first.content.at(-1)?.type).toBe("text")
  await answerOf([user("In two parts"), { role: "assistant", content: first.content }, user("Again")], "streamed")
  const text = JSON.stringify(sentContents()[1])
  expect([...text.matchAll(/T05F|VFdP/g)].map(([found]) => found)).toEqual(["T05F", "VFdP"])
})

test("clients of chat completions and of responses get no seal after their text, and it still returns", async () => {
  thinkingGemini("Whatever the client is, the signature goes back.", "T1RIRVI=")
  const text = "Whatever the client is, the signature goes back."
  const turns = [user("By chat"), { role: "assistant" as const, content: text }, user("Again")]
  const chat = await openai.chat.completions.create({ model: "t/gemini", messages: [user("By chat")] })
  expect(chat.choices[0]?.message.content).toBe(text)
  await openai.chat.completions.create({ model: "t/gemini", messages: turns })
  expect(JSON.stringify(sentContents()[1])).toContain("T1RIRVI=")
  thinkingGemini("Whatever the client is, the signature goes back too.", "UkVTUA==")
  const stream = openai.responses.stream({ model: "t/gemini", input: "By responses", store: false })
  const { output } = await stream.finalResponse()
  expect(output.at(-1)?.type).toBe("message")
  const input = [user("By responses"), ...output, user("Again")] as OpenAI.Responses.ResponseInput
  await openai.responses.create({ model: "t/gemini", input, store: false })
  expect(JSON.stringify(sentContents())).toContain("UkVTUA==")
})

test("every piece of text arrives before the signature does", async () => {
  let release: () => void = () => {}
  const gate = new Promise<void>((resolve) => {
    release = resolve
  })
  upstream.script = async (_, reply) => {
    reply.stream()
    await reply.write(geminiEvent(geminiBody([{ text: "Hello" }])))
    await reply.write(geminiEvent(geminiBody([{ text: " there" }])))
    await gate
    await reply.write(geminiEvent(geminiBody([{ text: "", thoughtSignature: "TEFTVA==" }], "STOP")))
    reply.end()
  }
  const stream = anthropic.messages.stream({ ...ask, messages: [user("Wait")] })
  const events: string[] = []
  let text = ""
  for await (const event of stream) {
    events.push(event.type)
    if (event.type === "content_block_delta" && event.delta.type === "text_delta") text += event.delta.text
    if (text === "Hello there") release()
  }
  expect(events).toEqual([
    "message_start",
    "content_block_start",
    "content_block_delta",
    "content_block_delta",
    "content_block_stop",
    "message_delta",
    "message_stop",
  ])
})
