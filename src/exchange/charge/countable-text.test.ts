import { expect, test } from "bun:test"
import type { JsonObject } from "../../canonical/json.ts"
import { codecs } from "../../protocols.ts"
import { textOfInput, textOfRequest } from "./countable-text.ts"

const PIXEL = `iVBORw0KGgoAAAANSUhEUgAAAKYAAAEa${"A".repeat(40)}`

function counted(protocol: string, body: JsonObject) {
  const rest = "google/gemini:generateContent"
  const request = codecs.ingress.get(protocol)?.decodeRequest(body, { does: "generate", rest, query: "", headers: {} })
  if (!request) throw new Error(`no codec reads ${protocol}`)
  const { text, tokens, shape } = textOfRequest(request)
  if (!shape) throw new Error("a request has a shape")
  const parts = shape.borders.map((end, index) => text.slice(shape.borders[index - 1] ?? 0, end))
  return { ...shape, parts, tokens }
}

test("countable text is kept part by part, instructions first, with the number of turns", () => {
  const { parts, turns, tokens } = counted("anthropic-messages", {
    system: "Be brief.",
    messages: [
      {
        role: "user",
        content: [
          { type: "text", text: "Hi" },
          { type: "text", text: "there" },
        ],
      },
      { role: "assistant", content: "Hello." },
    ],
  })
  expect({ parts, turns, tokens }).toEqual({ parts: ["Be brief.", "Hi", "there", "Hello."], turns: 3, tokens: 0 })
})

test("tools, calls and the response format are counted apart from the text", () => {
  const { parts, calls, tools, toolText, format } = counted("openai-chat", {
    messages: [
      { role: "user", content: "Rain?" },
      {
        role: "assistant",
        tool_calls: [{ id: "c", type: "function", function: { name: "sky", arguments: '{"at":1}' } }],
      },
      { role: "tool", tool_call_id: "c", content: "dry" },
    ],
    tools: [{ type: "function", function: { name: "sky", description: "Looks up", parameters: { type: "object" } } }],
    response_format: { type: "json_schema", json_schema: { name: "said", schema: { type: "string" } } },
  })
  expect(parts).toEqual(["Rain?", 'sky\n{"at":1}', "dry"])
  expect({ calls, tools, toolText, format }).toEqual({
    calls: 2,
    tools: 1,
    toolText: 'sky\nLooks up\n{"type":"object"}',
    format: 'said\n{"type":"string"}',
  })
})

test("an inline image is counted by its size, and a linked image without one", () => {
  const source = { type: "base64", media_type: "image/png", data: PIXEL }
  const url = { type: "url", url: "https://example.com/a.png" }
  const content = [source, url].map((each) => ({ type: "image", source: each }))
  const { media, parts } = counted("anthropic-messages", { messages: [{ role: "user", content }] })
  expect(media).toEqual([
    { media: "image", size: { width: 166, height: 282 }, bytes: Math.floor((PIXEL.length * 3) / 4) },
    { media: "image" },
  ])
  expect(parts).toEqual([])
})

test("a sealed thought counts by its length", () => {
  const thinking = { type: "thinking", thinking: "Hm.", signature: "s".repeat(300) }
  const messages = [{ role: "assistant", content: [thinking] }]
  expect(counted("anthropic-messages", { messages })).toMatchObject({ sealed: 300, parts: ["Hm."] })
})

test("a file in an unknown part counts as a file, not as text", () => {
  const file = { type: "document_url", document_url: `data:application/pdf;base64,${"A".repeat(4000)}` }
  const { media, parts } = counted("openai-chat", { messages: [{ role: "user", content: [file] }] })
  expect(media).toEqual([{ media: "document", bytes: 3021 }])
  expect(parts).toEqual(['{"type":"document_url","document_url":""}'])
})

test("embedding input is counted as text or as given tokens", () => {
  expect(textOfInput({ input: ["one", "two"] })).toEqual({ text: "one\ntwo", tokens: 0 })
  expect(textOfInput({ input: [[1, 2], [3]] })).toEqual({ text: "", tokens: 3 })
})
