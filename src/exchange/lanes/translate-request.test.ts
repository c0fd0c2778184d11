import { describe, expect, test } from "bun:test"
import type { JsonObject } from "../../canonical/json.ts"
import { translateFor } from "./translate-request.fixture.ts"

const HI = [{ role: "user", content: "Hi" }]

describe("thoughts of Gemini", () => {
  const thinkingOf = (from: string, body: JsonObject) =>
    translateFor({ model: "a/b", ...body }, { from, to: "gemini-generate" }).body.generationConfig?.thinkingConfig

  test.each(["low", "medium", "high", "xhigh"])(
    "thoughts of Gemini are told to chat clients that ask for effort %s",
    (effort) => {
      expect(thinkingOf("openai-chat", { messages: HI, reasoning_effort: effort })).toMatchObject({
        includeThoughts: true,
      })
    },
  )

  test.each([
    { reasoning: { max_tokens: 2000 } },
    { thinking: { type: "enabled", budget_tokens: 2000 } },
    { thinking: { type: "adaptive" } },
  ])("thoughts of Gemini are told to chat clients that ask for them by %j", (wish) => {
    expect(thinkingOf("openai-chat", { messages: HI, ...wish })).toMatchObject({ includeThoughts: true })
  })

  test.each([
    { reasoning_effort: "none" },
    { reasoning_effort: "minimal" },
    { reasoning: { enabled: false } },
    { thinking: { type: "disabled" } },
    {},
  ])("thoughts of Gemini are not asked for by %j", (wish) => {
    expect(thinkingOf("openai-chat", { messages: HI, ...wish })?.includeThoughts).toBeUndefined()
  })

  test("thoughts of Gemini are hidden from chat clients that exclude them", () => {
    const hidden = { effort: "high", exclude: true }
    expect(thinkingOf("openai-chat", { messages: HI, reasoning: hidden })).toMatchObject({ includeThoughts: false })
  })

  test("thoughts of Gemini are told to Responses clients by their summary alone", () => {
    const thinkingFor = (reasoning: JsonObject) => thinkingOf("openai-responses", { input: "Hi", reasoning })
    expect(thinkingFor({ effort: "high" }).includeThoughts).toBeUndefined()
    expect(thinkingFor({ effort: "high", summary: "auto" })).toMatchObject({ includeThoughts: true })
  })
})
