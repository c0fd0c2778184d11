import { describe, expect, test } from "bun:test"
import { outlineJson } from "../../../transport/json/json-scan.ts"
import { bodyGuard } from "./body-rules.ts"
import { readRequest } from "./read-request.ts"
import { relayAnswer } from "./relay-response.ts"

const part = { type: "text", text: "x" }
const picture = { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } }

describe("a request", () => {
  test.each([["a text"], [["two", "texts"]], [[part, picture]]])("a request may have the input %j", (input) => {
    expect(readRequest({ model: "a/b", input })).toMatchObject({
      model: "a/b",
      stream: false,
      outputLimits: { candidates: 1 },
    })
  })

  test("a request without a model uses OpenAI's default", () => {
    expect(readRequest({ input: "x" }).model).toBe("omni-moderation-latest")
  })

  test.each([
    [{}, "input"],
    [{ input: [] }, "input"],
    [{ input: 7 }, "input"],
    [{ input: ["x", part] }, "input[0]"],
    [{ input: [{ type: "audio" }] }, "input[0].type"],
    [{ input: [{ type: "text" }] }, "input[0].text"],
    [{ input: [{ type: "image_url", image_url: {} }] }, "input[0].image_url.url"],
    [{ input: "x", model: "" }, "model"],
    [{ input: "x", base_url: "http://a" }, "base_url"],
    [{ input: "x", provider: { zone: 1 } }, "provider.zone"],
  ])("%j is refused for its %s", (body, param) => {
    const read = () => {
      bodyGuard.check(body as never)
      readRequest(body as never)
    }
    expect(read).toThrow(expect.objectContaining({ param }))
  })
})

describe("an answer", () => {
  const pass = (text: string) => {
    const outlined = outlineJson(text)
    const context = { model: "a/b", reading: readRequest({ model: "a/b", input: "x" }) }
    return outlined && relayAnswer(text, outlined, context)
  }

  test("the relay replaces the model's name and nothing else", () => {
    const text = '{"id":"modr-1", "model":"omni-moderation-2024-09-26","results":[{"flagged":false,"odd":1.0}]}'
    expect(pass(text)).toEqual({ text: text.replace("omni-moderation-2024-09-26", "a/b") })
  })

  test("the usage is read if the host reports it", () => {
    const usage = '"usage":{"prompt_tokens":7,"completion_tokens":0,"total_tokens":7}'
    expect(pass(`{"id":"1","model":"m","results":[],${usage}}`)?.usage).toMatchObject({ input: 7 })
  })

  test("a body without results is not a response", () => {
    expect(pass('{"id":"1","error":{"message":"no"}}')).toBeUndefined()
  })
})
