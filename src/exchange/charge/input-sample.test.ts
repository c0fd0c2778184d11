import { expect, test } from "bun:test"
import { codecs } from "../../protocols.ts"
import { sampleInput } from "./input-sample.ts"

const request = {
  protocol: "openai-chat",
  envelope: { does: "generate", rest: "", query: "", headers: {} },
  codecs,
} as const

const body = (content: unknown) => JSON.stringify({ model: "a/b", messages: [{ role: "user", content }] })

test("a small request is kept whole, and its text is counted", () => {
  const { share, countable } = sampleInput(body("Hello, you."), request)
  expect([share, countable()]).toMatchObject([1, { text: "Hello, you.", tokens: 0, shape: { turns: 1 } }])
})

test("a sample of a large request states its share of the whole", () => {
  const kept = sampleInput(body("word ".repeat(100_000)), request)
  const { text } = kept.countable()
  expect(text.length).toBe(32 * 1024)
  expect(text.length / kept.share).toBeCloseTo(500_060, -3)
})

test("files are counted by their number at any position", () => {
  const file = { type: "image_url", image_url: { url: `data:image/png;base64,${"iVBORw0K".repeat(20_000)}` } }
  const words = { type: "text", text: "What is this? ".repeat(5000) }
  for (const parts of [
    [file, words, file],
    [words, file, file],
    [file, file, words],
  ]) {
    const kept = sampleInput(body(parts), request)
    const { text, tokens } = kept.countable()
    expect(tokens).toBe(2000)
    expect(text).toContain("What is this?")
    expect(text).not.toContain("iVBORw0KiVBORw0K")
    expect(text.length / kept.share).toBeCloseTo(70_300, -3)
  }
})
