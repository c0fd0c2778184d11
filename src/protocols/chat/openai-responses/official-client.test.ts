// The codec's output, read by the vendor's client libraries, old and new, over a real socket.
import { afterAll, describe, expect, test } from "bun:test"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import OpenAI from "openai"
import OpenAI4 from "openai4"
import { assembleResponse } from "../../../canonical/chat/assemble-response.ts"
import type { StreamEvent } from "../../../canonical/chat/stream-event.ts"
import type { JsonObject } from "../../../canonical/json.ts"
import { answering, delta, end, start, writeStream } from "./codec.fixture.ts"
import { openaiResponsesCodec } from "./codec.ts"

const request = {
  model: "a/b",
  input: "hi",
  tools: [
    { type: "function", name: "f", parameters: { type: "object", properties: {} }, strict: false },
    { type: "custom", name: "patch" },
  ],
}
const story: StreamEvent[] = [
  { type: "stream-start", id: "x" },
  start(0, { kind: "reasoning", form: "summary" }),
  delta(0, "hm"),
  { type: "part-end", candidate: 0, part: 0, sealed: { mintedBy: "anthropic", data: "s" } },
  start(1, { kind: "reasoning", form: "full" }),
  delta(1, "so"),
  end(1),
  start(2, { kind: "text" }),
  delta(2, "Zoë "),
  delta(2, "👋"),
  { type: "logprobs", candidate: 0, tokens: [{ token: "Zoë", logprob: -1, others: [] }] },
  { type: "part-cite", candidate: 0, part: 2, citation: { url: "https://a", title: "t" } },
  end(2),
  start(3, { kind: "refusal" }),
  delta(3, "no"),
  end(3),
  start(4, { kind: "tool-call", id: "1", name: "f", runsAt: "client", sealed: { mintedBy: "google", data: "s" } }),
  start(5, { kind: "tool-call", id: "2", name: "patch", input: "text", runsAt: "client" }),
  delta(5, 'echo "'),
  delta(4, '{"a":'),
  delta(4, "1}"),
  { type: "part-end", candidate: 0, part: 4, sealed: { mintedBy: "google", data: "s" } },
  delta(5, '\\n"'),
  end(5),
  start(6, {
    kind: "whole",
    part: { kind: "media", media: "image", source: { at: "inline", mediaType: "image/png", base64: "AAAA" } },
  }),
  end(6),
  start(7, { kind: "tool-call", id: "srvtoolu_1", name: "web_search", runsAt: "provider" }),
  delta(7, '{"query":"q"}'),
  end(7),
  { type: "candidate-end", candidate: 0, finish: { reason: "tool-calls" } },
  { type: "usage", usage: { input: 7, output: 9, reasoning: 2 } },
  { type: "stream-end" },
]

const server = createServer((incoming, outgoing) => {
  let body = ""
  incoming.on("data", (bytes) => {
    body += bytes
  })
  incoming.on("end", () => {
    const context = answering(request)
    const isStream = (JSON.parse(body) as JsonObject).stream === true
    outgoing.writeHead(200, { "content-type": isStream ? "text/event-stream" : "application/json" })
    if (isStream) for (const frame of writeStream(story, context)) outgoing.write(Buffer.from(frame, "latin1"))
    else outgoing.write(JSON.stringify(openaiResponsesCodec.ingress.encodeResponse(assembleResponse(story), context)))
    outgoing.end()
  })
}).listen(0, "127.0.0.1")
await new Promise((resolve) => server.once("listening", resolve))
const baseURL = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
afterAll(() => {
  server.closeAllConnections()
  server.close()
})

const ENVELOPE = /^dHJ2LXNlYWw6djI7[A-Za-z0-9+/]+={0,2}$/

const expected = {
  id: "resp_abcdefghijklmnopqrstuvwx",
  model: "a/b",
  status: "completed",
  output_text: "Zoë 👋",
  output: [
    {
      type: "reasoning",
      summary: [{ type: "summary_text", text: "hm" }],
      encrypted_content: expect.stringMatching(ENVELOPE),
    },
    { type: "reasoning", content: [{ type: "reasoning_text", text: "so" }] },
    {
      type: "message",
      content: [
        { type: "output_text", text: "Zoë 👋", annotations: [{ type: "url_citation", url: "https://a" }] },
        { type: "refusal", refusal: "no" },
      ],
    },
    { type: "reasoning", encrypted_content: expect.stringMatching(ENVELOPE) },
    { type: "function_call", call_id: "1", name: "f", arguments: '{"a":1}' },
    { type: "custom_tool_call", call_id: "2", name: "patch", input: 'echo "\\n"' },
    { type: "image_generation_call", result: "AAAA" },
    { type: "web_search_call", action: { query: "q" } },
  ],
  usage: { input_tokens: 7, output_tokens: 11, total_tokens: 18 },
}

const libraries = { "of today": OpenAI, "of yesterday": OpenAI4 as unknown as typeof OpenAI }

describe.each(Object.entries(libraries))("the client library %s", (_, Library) => {
  const client = new Library({ apiKey: "k", baseURL, maxRetries: 0 })
  const body = request as unknown as { model: string; input: string }

  test("the client library reads a whole response", async () => {
    expect(await client.responses.create(body)).toMatchObject(expected as never)
  })

  test("the client library reads a stream event by event", async () => {
    let text = ""
    let last: unknown
    for await (const event of await client.responses.create({ ...body, stream: true })) {
      if (event.type === "response.output_text.delta") text += event.delta
      if (event.type === "response.completed") last = event.response
    }
    const { output_text: _, ...rest } = expected
    expect(text).toBe("Zoë 👋")
    expect(last).toMatchObject(rest as never)
  })
})

test("the client library's stream helper assembles a stream", async () => {
  const client = new OpenAI({ apiKey: "k", baseURL, maxRetries: 0 })
  const final = await client.responses.stream(request as unknown as { model: string; input: string }).finalResponse()
  expect(final).toMatchObject(expected as never)
})
