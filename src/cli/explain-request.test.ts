import { expect, test } from "bun:test"
import { buildExplainRequest } from "./explain-request.ts"

const hi = { messages: [{ role: "user", content: "Hi" }] }

test("an explain request keeps its own options and sets explain", () => {
  const { body, path } = buildExplainRequest({ ...hi, model: "a/b", provider: { only: ["c"], explain: false } }, {})
  expect(body).toEqual({ ...hi, model: "a/b", provider: { only: ["c"], explain: true } })
  expect(path).toBe("/v1/chat/completions")
})

test("the --model flag replaces the model of the request, and is required without one", () => {
  expect(buildExplainRequest({ ...hi, model: "a/b" }, { model: "c/d" }).body.model).toBe("c/d")
  expect(() => buildExplainRequest(hi, {})).toThrow("Set one with --model")
})

test.each([
  ["a/b", "a/b"],
  ["models/a/b", "a/b"],
  ["a/b:free?x", "a/b%3Afree%3Fx"],
])("over gemini, %s is sent in the path and not in the body", (model, named) => {
  const { path, body } = buildExplainRequest({ contents: [], model }, { protocol: "gemini" })
  expect(path).toBe(`/gemini/v1beta/models/${named}:generateContent`)
  expect(body).toEqual({ contents: [], provider: { explain: true } })
})

test("a messages request has a version header", () => {
  const { headers, path } = buildExplainRequest({ ...hi, model: "a/b", system: "Be brief." }, {})
  expect([path, headers["anthropic-version"]]).toEqual(["/anthropic/v1/messages", "2023-06-01"])
})
