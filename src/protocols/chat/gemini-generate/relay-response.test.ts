import { describe, expect, test } from "bun:test"
import fc from "fast-check"
import { outlineJson } from "../../../transport/json/json-scan.ts"
import type { RequestSummary } from "../../contract.ts"
import { decodeFinish } from "./finish-reasons.ts"
import { relayAnswer } from "./relay-response.ts"

const reading: RequestSummary = {
  operation: "generateContent",
  model: "a/b",
  stream: false,
  framing: "array",
  usageRequested: true,
  outputLimits: { candidates: 1 },
  routing: { fallback: [] },
  headers: {},
}

function relay(text: string, operation = "generateContent") {
  const outlined = outlineJson(text)
  if (!outlined) throw new Error("no object")
  return relayAnswer(text, outlined, {
    model: "a/b",
    reading: { ...reading, operation, counts: operation.startsWith("countTokens") },
  })
}

describe("relaying a response", () => {
  test("the images in a response are counted, and mentions of them in a text are not", () => {
    const image = '{"inlineData":{"mimeType" : "image/png","data":"AA=="}}'
    const answer = (parts: string) => `{"candidates":[{"content":{"parts":[${parts}]}}],"modelVersion":"a/b"}`
    expect(relay(answer(`{"text":"Two."},${image},${image}`))?.images).toBe(2)
    const textPart = JSON.stringify({ text: '"mimeType": "image/png"' })
    expect(relay(answer(textPart))).not.toContainKey("images")
  })

  test("the relay replaces the model's name and forwards every other byte", () => {
    const text =
      '{ "x":1.0,"modelVersion" : "gemini-2.5-pro","candidates":[{"content":{"parts":[{"text":"\\u00fc \\/"}]},' +
      '"n":12345678901234567890}],"1":1,\n"usageMetadata":{"promptTokenCount":4,"candidatesTokenCount":2}}\n'
    expect(relay(text)).toEqual({
      model: "gemini-2.5-pro",
      text: text.replace('"gemini-2.5-pro"', '"a/b"'),
      usage: { input: 4, output: 2 },
    })
  })

  test("the relay adds the model's name if it is missing", () => {
    expect(relay('{"candidates":[]}')).toMatchObject({ text: '{"candidates":[],"modelVersion":"a/b"}' })
  })

  test("a response without candidates reports that the prompt was blocked", () => {
    const text = '{"promptFeedback":{"blockReason":"SAFETY"},"modelVersion":"m"}'
    expect(relay(text)).toMatchObject({ text: text.replace('"m"', '"a/b"'), model: "m" })
  })

  test("a body without candidates and feedback, or with an error, is not a response", () => {
    expect(relay("{}")).toBeUndefined()
    expect(relay('{"usageMetadata":{"promptTokenCount":4}}')).toBeUndefined()
    expect(relay('{"candidates":[],"error":{"code":500}}')).toBeUndefined()
    expect(relay('{"candidates":[],"error":null}')).toBeDefined()
  })

  test("a relayed answer keeps its bytes but for the model name, at any position", () => {
    const members = fc.array(fc.tuple(fc.string(), fc.json({ maxDepth: 3 })), { maxLength: 6 })
    const space = fc.constantFrom("", " ", "\n  ", "\r\n\t")
    fc.assert(
      fc.property(members, members, space, fc.string(), (before, after, gap, name) => {
        const written = (pairs: readonly (readonly [string, string])[]) =>
          pairs.map(([key, value]) => `${JSON.stringify(`x${key}`)}${gap}:${gap}${value}`)
        const answer = (model: string) => {
          const own = [`"candidates":[]`, `"modelVersion"${gap}:${JSON.stringify(model)}`]
          return `{${gap}${[...written(before), ...own, ...written(after)].join(`${gap},`)}${gap}}`
        }
        const bytes = (text: string) => Buffer.from(text).toString("latin1")
        expect(relay(bytes(answer(name)))?.text).toBe(bytes(answer("a/b")))
      }),
    )
  })
})

describe("relaying a token count", () => {
  test.each(["countTokens", "countTokens/generateContentRequest"])(
    "a count of %s is relayed unchanged",
    (operation) => {
      const text = '{"totalTokens": 31,"promptTokensDetails":[]}'
      expect(relay(text, operation)).toEqual({ text })
      expect(relay('{"candidates":[]}', operation)).toBeUndefined()
      expect(relay('{"totalTokens":1,"error":{}}', operation)).toBeUndefined()
    },
  )
})

test("finish reasons are decoded with their wire word", () => {
  const plain = { calledTools: false }
  expect(decodeFinish("STOP", plain)).toEqual({ reason: "stop", word: "STOP" })
  expect(decodeFinish("STOP", { calledTools: true })).toEqual({ reason: "tool-calls", word: "STOP" })
  expect(decodeFinish("MAX_TOKENS", { calledTools: true })).toEqual({ reason: "length", word: "MAX_TOKENS" })
  expect(decodeFinish("SAFETY", plain)).toEqual({ reason: "filtered", word: "SAFETY" })
  expect(decodeFinish("MALFORMED_FUNCTION_CALL", plain).reason).toBe("other")
})
