import { describe, expect, test } from "bun:test"
import fc from "fast-check"
import { countTokens as tokensIn } from "gpt-tokenizer/encoding/o200k_base"
import { countTokens, cutRuns, familyOf } from "./count-tokens.ts"
import { inputBound } from "./input-bound.ts"
import { TokenCounter } from "./token-counter.ts"

const module = new URL("../token-worker.ts", import.meta.url)
const bytes = (text: string) => Buffer.from(text).toString("latin1")

describe("counting a text's tokens", () => {
  test.each([
    ["Hello, world!", 4],
    ["", 0],
    ["naïve 🦊", tokensIn("naïve 🦊")],
  ])("the tokens of %j are counted", (text, tokens) => {
    expect(countTokens(text, "openai", tokensIn)).toBe(tokens)
  })

  test("some vendors count more tokens for the same text", () => {
    const text = "The quick brown fox jumps over the lazy dog."
    const of = (id: string) => countTokens(text, familyOf(id), tokensIn)
    expect(of("anthropic/claude-x")).toBeGreaterThan(of("google/gemini-x"))
    expect(of("google/gemini-x")).toBeGreaterThanOrEqual(of("openai/gpt-x"))
  })

  test.each([
    ["openai/gpt-x", "openai"],
    ["openai/gpt-oss-120b", "gpt-oss"],
    ["alibaba/qwen", "alibaba"],
    ["acme/own", "other"],
    ["toString/x", "other"],
  ] as const)("the model %s has the token family %s", (id, family) => {
    expect(familyOf(id)).toBe(family)
  })

  test("any text is counted in bounded time, because long runs are cut first", () => {
    for (const unit of ["a", " ", "中", "😀", "\n", "0", "=", "ab"]) {
      const before = process.cpuUsage()
      countTokens(unit.repeat(100_000 / unit.length), "openai", tokensIn)
      expect(process.cpuUsage(before).user).toBeLessThan(3_000_000)
    }
  })

  test("cutting long runs loses no character", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 2000 }), fc.nat(600), (text, length) => {
        const whole = text + "x".repeat(length) + text
        expect(cutRuns(whole).join("")).toBe(whole)
      }),
    )
  })
})

describe("the upper bound of input tokens", () => {
  const samples = [
    "The quick brown fox. ".repeat(50),
    JSON.stringify({ messages: [{ role: "user", content: "Hi" }] }),
    JSON.stringify({ a: [1, 2, 3, { b: "c" }] }).repeat(50),
    "中文字符".repeat(200),
    "0123456789".repeat(20),
    "😀".repeat(100),
    "function f(x) { return x ? [1, 2] : {} }\n".repeat(40),
  ]

  test("the bound is never below a vendor's count", () => {
    for (const text of samples) {
      for (const family of ["openai", "anthropic", "google", "other"] as const) {
        expect(inputBound(bytes(text))).toBeGreaterThanOrEqual(countTokens(text, family, tokensIn))
      }
    }
    fc.assert(
      fc.property(fc.string({ unit: "grapheme", maxLength: 300 }), (text) => {
        expect(inputBound(bytes(text))).toBeGreaterThanOrEqual(countTokens(text, "openai", tokensIn))
      }),
    )
  })

  test("the bound counts an inline file by its kind, not by the length of its base64", () => {
    const picture = "iVBORw0KGgo".repeat(20_000)
    expect(inputBound(`{"content":"Hi","image":"${picture}"}`)).toBeLessThan(10_000)
    const book = "JVBERi0".repeat(1_000_000)
    expect(inputBound(`"${book}"`)).toBeGreaterThan(100_000)
    expect(inputBound(`"${book}"`)).toBeLessThan(book.length / 10)
  })
})

describe("the counting thread", () => {
  test("the counting thread counts tokens, and estimates texts that are too long by length", async () => {
    const counter = new TokenCounter(module)
    expect(await counter.count({ text: "Hello, world!", family: "openai" })).toBe(4)
    expect(await counter.count({ text: "", family: "openai" })).toBe(0)
    const long = "word ".repeat(1_000_000)
    expect(await counter.count({ text: long, family: "openai" })).toBe(Math.ceil(long.length / 3))
  })

  test("the counting thread counts special tokens as ordinary text", async () => {
    const counter = new TokenCounter(module)
    expect(await counter.count({ text: "a <|endoftext|> b", family: "openai" })).toBe(9)
  })

  test("the counting thread parses a raw request and counts it as its vendor would", async () => {
    const counter = new TokenCounter(module)
    const envelope = { does: "count-tokens", rest: "", query: "", headers: {} }
    const wireRequest = { protocol: "openai-responses", envelope }
    const text = JSON.stringify({ model: "m", input: "Hello, world!" })
    expect(await counter.count({ text, family: "openai", wireRequest })).toBe(4 + 4 + 3)
    const book = JSON.stringify({ model: "m", input: "some words here ".repeat(300_000) })
    expect(await counter.count({ text: book, family: "openai", wireRequest })).toBeWithin(890_000, 910_000)
    const content = [{ type: "input_image", image_url: `data:image/png;base64,${"A".repeat(8_000_000)}` }]
    const large = JSON.stringify({ model: "m", input: [{ role: "user", content }] })
    expect(await counter.count({ text: large, family: "openai", wireRequest })).toBe(1000 + 4 + 3)
  })

  test("a counting thread that cannot start falls back to an estimate", async () => {
    const counter = new TokenCounter(new URL("./nowhere.ts", import.meta.url))
    expect(await counter.count({ text: "abcdef", family: "other" })).toBe(2)
    const wireRequest = { protocol: "openai-chat", envelope: {} }
    expect(await counter.count({ text: "{}", family: "other", wireRequest })).toBeGreaterThan(0)
  })
})
