// The codec's output, read by the vendor's client libraries, old and new, over a real socket.
import { afterAll, describe, expect, test } from "bun:test"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { GoogleGenAI } from "@google/genai"
import { GoogleGenAI as OlderGenAI } from "genai1"
import type { ContentPart } from "../../../canonical/chat/content-part.ts"
import type { StreamEvent } from "../../../canonical/chat/stream-event.ts"
import { client, written } from "./codec.fixture.ts"
import { geminiGenerateCodec } from "./codec.ts"

const parts: ContentPart[] = [
  { kind: "reasoning", form: "summary", text: "hm", sealed: { mintedBy: "anthropic", data: "x" } },
  { kind: "text", text: "Grüß dich" },
  { kind: "tool-call", id: "c1", name: "f", arguments: '{"x":1}', runsAt: "client" },
]
const finish = { reason: "tool-calls", word: "tool_use" } as const
const usage = { input: 3, output: 4, reasoning: 5 }

const events: StreamEvent[] = [
  { type: "stream-start" },
  { type: "part-start", candidate: 0, part: 0, start: { kind: "reasoning", form: "summary" } },
  { type: "part-delta", candidate: 0, part: 0, text: "hm" },
  { type: "part-end", candidate: 0, part: 0, sealed: { mintedBy: "anthropic", data: "x" } },
  { type: "part-start", candidate: 0, part: 1, start: { kind: "text" } },
  { type: "part-delta", candidate: 0, part: 1, text: "Grüß " },
  { type: "part-delta", candidate: 0, part: 1, text: "dich" },
  { type: "part-end", candidate: 0, part: 1 },
  { type: "part-start", candidate: 0, part: 2, start: { kind: "tool-call", id: "c1", name: "f", runsAt: "client" } },
  { type: "part-delta", candidate: 0, part: 2, text: '{"x":1}' },
  { type: "part-end", candidate: 0, part: 2 },
  { type: "candidate-end", candidate: 0, finish },
  { type: "usage", usage },
  { type: "stream-end" },
]

const server = createServer((incoming, outgoing) => {
  if (incoming.url?.includes(":streamGenerateContent")) {
    outgoing.writeHead(200, { "content-type": "text/event-stream" })
    for (const frame of written(events, client())) outgoing.write(Buffer.from(frame, "latin1"))
    outgoing.end()
    return
  }
  const body = geminiGenerateCodec.ingress.encodeResponse(
    { candidates: [{ index: 0, parts, finish }], usage },
    client(),
  )
  outgoing.writeHead(200, { "content-type": "application/json" })
  outgoing.end(JSON.stringify(body))
}).listen(0, "127.0.0.1")
await new Promise((resolve) => server.once("listening", resolve))
const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
afterAll(() => {
  server.closeAllConnections()
  server.close()
})

const libraries = { "of today": GoogleGenAI, "of yesterday": OlderGenAI as unknown as typeof GoogleGenAI }

describe.each(Object.entries(libraries))("the client library %s", (_, Library) => {
  const { models, chats } = new Library({ apiKey: "k", vertexai: false, httpOptions: { baseUrl } })
  const request = { model: "a/b", contents: "hi" }

  test("the client library reads a whole response", async () => {
    const answer = await models.generateContent(request)
    expect(answer.functionCalls).toEqual([{ id: "c1", name: "f", args: { x: 1 } }])
    expect(answer.candidates?.[0]?.content?.parts?.[0]).toMatchObject({ text: "hm", thought: true })
    expect(answer.candidates?.[0]?.finishReason as string).toBe("STOP")
    expect(answer.usageMetadata).toMatchObject({ promptTokenCount: 3, candidatesTokenCount: 4, totalTokenCount: 12 })
  })

  test("the client library reads a stream and keeps the parts that it must send back", async () => {
    const chat = chats.create({ model: "a/b" })
    let text = ""
    const calls: unknown[] = []
    let counted: number | undefined
    for await (const chunk of await chat.sendMessageStream({ message: "hi" })) {
      for (const part of chunk.candidates?.[0]?.content?.parts ?? []) {
        if (part.text !== undefined && !part.thought) text += part.text
        if (part.functionCall) calls.push(part.functionCall)
      }
      counted = chunk.usageMetadata?.totalTokenCount ?? counted
    }
    expect({ text, calls, counted }).toEqual({
      text: "Grüß dich",
      calls: [{ id: "c1", name: "f", args: { x: 1 } }],
      counted: 12,
    })
    const kept = JSON.stringify(chat.getHistory())
    expect(kept).toMatch(/"thoughtSignature":"dHJ2LXNlYWw6djI7[A-Za-z0-9+/]+={0,2}"/)
    expect(kept).toContain('"functionCall"')
  })
})
