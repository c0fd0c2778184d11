import { expect, test } from "bun:test"
import type { ReasoningSettings } from "../../../../canonical/chat/chat-request.ts"
import type { UpstreamRequestContext } from "../../../chat-codec.ts"
import { encoded } from "../codec.fixture.ts"

type ThinkingTraits = Pick<UpstreamRequestContext, "efforts" | "thinkingTokens">

const NEWER: ThinkingTraits = { efforts: ["low", "medium", "high", "xhigh", "max"] }
const OLDER: ThinkingTraits = { thinkingTokens: { min: 1024 } }
const BETWEEN: ThinkingTraits = { efforts: ["low", "medium", "high"], thinkingTokens: { min: 1024 } }

function encodeReasoning(reasoning: ReasoningSettings, traits: ThinkingTraits) {
  const request = {
    ...{ model: "a/b", instructions: [], tools: [], stream: false, routing: { fallback: [] } },
    turns: [{ role: "user", parts: [{ kind: "text", text: "Hi" }] }],
    settings: { maxOutputTokens: 50_000, reasoning },
  } as const
  const { body, lost } = encoded(request, { ...traits, maxOutputTokens: 64_000 })
  const { thinking, output_config: output } = body
  return { thinking, effort: (output as { effort?: string } | undefined)?.effort, lost }
}

test.each<[string, ReasoningSettings, ThinkingTraits, unknown, string | undefined, string[]]>([
  ["an effort for a newer model", { effort: "high" }, NEWER, { type: "adaptive" }, "high", []],
  ["an effort that the model lacks", { effort: "minimal" }, NEWER, { type: "adaptive" }, "low", ["reasoning.effort"]],
  [
    "a budget for a newer model",
    { budgetTokens: 9000 },
    NEWER,
    { type: "adaptive" },
    "medium",
    ["reasoning.budgetTokens"],
  ],
  [
    "an effort for an older model",
    { effort: "low" },
    OLDER,
    { type: "enabled", budget_tokens: 2048 },
    undefined,
    ["reasoning.effort"],
  ],
  [
    "a budget for an older model",
    { budgetTokens: 9000 },
    OLDER,
    { type: "enabled", budget_tokens: 9000 },
    undefined,
    [],
  ],
  [
    "a budget below the minimum",
    { budgetTokens: 12 },
    OLDER,
    { type: "enabled", budget_tokens: 1024 },
    undefined,
    ["reasoning.budgetTokens"],
  ],
  [
    "visible reasoning for an older model",
    { show: "summary" },
    OLDER,
    { type: "enabled", budget_tokens: 8192 },
    undefined,
    [],
  ],
  [
    "an effort for a model that accepts both",
    { effort: "high" },
    BETWEEN,
    { type: "enabled", budget_tokens: 24_576 },
    "high",
    [],
  ],
  ["disabled reasoning", { effort: "none" }, OLDER, { type: "disabled" }, undefined, []],
])("reasoning settings are encoded: %s", (_, reasoning, traits, thinking, effort, losses) => {
  const encoded = encodeReasoning(reasoning, traits)
  expect(encoded.thinking).toEqual(thinking as never)
  expect(encoded.effort).toBe(effort as never)
  expect(encoded.lost.map((loss) => loss.split(" ")[1] ?? "")).toEqual(losses)
})

test("a temperature is not sent to a model that rejects it", () => {
  const request = {
    ...{ model: "a/b", instructions: [], tools: [], stream: false, routing: { fallback: [] } },
    turns: [{ role: "user", parts: [{ kind: "text", text: "Hi" }] }],
    settings: { temperature: 0.2, topP: 0.5, topK: 3 },
  } as const
  const { body, lost } = encoded(request, { fixedSampling: true })
  expect(Object.keys(body)).not.toContain("temperature")
  expect(lost).toEqual(["temperature", "topP", "topK"].map((name) => `dropped ${name} (hint)`))
})

test("an older model does not continue reasoning if the reasoning before its calls is missing", () => {
  const thought = (mintedBy: string) =>
    ({ kind: "reasoning", form: "full", text: "hm", sealed: { mintedBy, data: "s" } }) as const
  const thinkingWith = (mintedBy: string) =>
    encoded(
      {
        ...{ model: "a/b", instructions: [], stream: false, routing: { fallback: [] } },
        settings: { reasoning: { budgetTokens: 2000 } },
        tools: [{ kind: "function", name: "f" }],
        turns: [
          { role: "user", parts: [{ kind: "text", text: "Hi" }] },
          { role: "assistant", parts: [thought(mintedBy)] },
          { role: "assistant", parts: [{ kind: "tool-call", id: "c", name: "f", arguments: "{}", runsAt: "client" }] },
          { role: "user", parts: [{ kind: "tool-result", callId: "c", parts: [], isError: false }] },
        ],
      },
      OLDER,
    ).body.thinking
  expect(thinkingWith("anthropic")).toEqual({ type: "enabled", budget_tokens: 2000 })
  expect(thinkingWith("somebody")).toBeUndefined()
})
