import { describe, expect, test } from "bun:test"
import type { ChatSettings } from "../../../../canonical/chat/chat-request.ts"
import type { ContentPart } from "../../../../canonical/chat/content-part.ts"
import type { JsonObject } from "../../../../canonical/json.ts"
import type { UpstreamRequestContext } from "../../../chat-codec.ts"
import * as models from "../codec.fixture.ts"
import { call, encoded, tool as f, refusal, request, result, text, turnOf } from "../codec.fixture.ts"

const settings = (given: ChatSettings, changes: Partial<UpstreamRequestContext> = {}) => {
  const { body, lost } = encoded(request({ settings: given }), changes)
  const { messages: _, ...rest } = body
  return { ...rest, lost } as object
}

describe("settings", () => {
  test("settings go to the interface's members or to those of the model's vendor", () => {
    const given = { maxOutputTokens: 99, topP: 0.5, topK: 7, stop: ["x"] }
    expect(settings(given)).toEqual({
      inferenceConfig: { maxTokens: 99, topP: 0.5, stopSequences: ["x"] },
      additionalModelRequestFields: { top_k: 7 },
      additionalModelResponseFieldPaths: ["/stop_sequence"],
      lost: [],
    })
    expect(settings({ stop: ["x"] }, { stream: true })).toMatchObject({
      additionalModelResponseFieldPaths: ["/delta/stop_sequence"],
    })
    expect(settings({ topK: 7 }, { model: models.NOVA })).toEqual({
      additionalModelRequestFields: { inferenceConfig: { topK: 7 } },
      lost: [],
    })
    expect(settings(given, { model: models.LLAMA })).toEqual({
      inferenceConfig: { maxTokens: 99, topP: 0.5, stopSequences: ["x"] },
      lost: ["dropped topK (hint)"],
    })
  })

  test("absent settings are not sent", () => {
    expect(settings({})).toEqual({ lost: [] })
  })

  test.each<[ChatSettings, Partial<UpstreamRequestContext>, object]>([
    [
      { maxOutputTokens: 9000 },
      {},
      { inferenceConfig: { maxTokens: 8192 }, lost: ["approximated maxOutputTokens (hint)"] },
    ],
    [{ temperature: 1.5 }, {}, { inferenceConfig: { temperature: 1 }, lost: ["approximated temperature (meaning)"] }],
    [{ temperature: 0.5, topP: 0.5 }, {}, { inferenceConfig: { temperature: 0.5 }, lost: ["dropped topP (hint)"] }],
    [
      { temperature: 0.5, topP: 0.5 },
      { model: models.NOVA },
      { inferenceConfig: { temperature: 0.5, topP: 0.5 }, lost: [] },
    ],
    [
      { temperature: 0.5, topP: 0.5, topK: 3 },
      { fixedSampling: true },
      { lost: ["dropped temperature (hint)", "dropped topP (hint)", "dropped topK (hint)"] },
    ],
    [{ temperature: 1, topP: 1 }, { fixedSampling: true }, { lost: [] }],
    [{ stop: ["\n", "x"] }, { model: models.LLAMA }, { inferenceConfig: { stopSequences: ["\n", "x"] }, lost: [] }],
    [
      { stop: ["\n"], seed: 0, verbosity: "low", cacheKey: "k", endUser: "u", frequencyPenalty: 1, presencePenalty: 0 },
      {},
      {
        lost: [
          ...["dropped frequencyPenalty (hint)", "dropped seed (hint)", "dropped verbosity (hint)"],
          ...["dropped cacheKey (hint)", "dropped endUser (hint)", "dropped stop (meaning)"],
        ],
      },
    ],
    [{ candidates: 1, modalities: ["text"], format: { kind: "text" } }, {}, { lost: [] }],
  ])("the settings %j with the context %j are encoded as %j", (given, changes, expected) => {
    expect(settings(given, changes)).toEqual(expected as never)
  })

  test.each<ChatSettings>([{ candidates: 2 }, { logprobs: 0 }, { modalities: ["text", "image"] }])(
    "the settings %j are refused",
    (given) => {
      const [param] = Object.keys(given)
      expect(refusal(() => settings(given))).toMatchObject({ code: "unsupported_parameter", param })
    },
  )

  test("`parallelToolCalls` is reported as lost", () => {
    const { lost } = encoded(request({ tools: [f], settings: { parallelToolCalls: false } }))
    expect(lost).toEqual(["dropped parallelToolCalls (meaning)"])
  })
})

describe("reasoning settings", () => {
  const thought = (
    reasoning: ChatSettings["reasoning"],
    model: string,
    more: Partial<UpstreamRequestContext> & ChatSettings = {},
  ) => {
    const { maxOutputTokens, temperature, ...changes } = more
    const given = { ...(reasoning && { reasoning }), ...(temperature !== undefined && { temperature }) }
    const limited = maxOutputTokens === undefined ? given : { ...given, maxOutputTokens }
    const { inferenceConfig, additionalModelRequestFields, lost } = settings(limited, {
      model,
      ...changes,
    }) as JsonObject
    return { ...(additionalModelRequestFields as JsonObject), inferenceConfig, lost }
  }
  const effortLost = "approximated reasoning.effort (hint)"

  test.each<[string, NonNullable<ChatSettings["reasoning"]>, object]>([
    [
      models.CLAUDE,
      { budgetTokens: 2000 },
      {
        thinking: { type: "enabled", budget_tokens: 2000 },
        inferenceConfig: { maxTokens: 8192 },
        lost: [],
      },
    ],
    [
      models.CLAUDE,
      { effort: "low" },
      {
        thinking: { type: "enabled", budget_tokens: 2048 },
        inferenceConfig: { maxTokens: 8192 },
        lost: [effortLost],
      },
    ],
    [
      models.CLAUDE,
      { effort: "max" },
      {
        thinking: { type: "enabled", budget_tokens: 8191 },
        inferenceConfig: { maxTokens: 8192 },
        lost: [effortLost, effortLost],
      },
    ],
    [
      models.NEW_CLAUDE,
      { effort: "xhigh", show: "summary" },
      { thinking: { type: "adaptive", display: "summarized" }, output_config: { effort: "high" }, lost: [effortLost] },
    ],
    [
      models.NEW_CLAUDE,
      { budgetTokens: 8000 },
      {
        thinking: { type: "adaptive" },
        output_config: { effort: "medium" },
        lost: ["approximated reasoning.budgetTokens (hint)"],
      },
    ],
    [
      models.NOVA,
      { effort: "minimal" },
      { reasoningConfig: { type: "enabled", maxReasoningEffort: "low" }, lost: [effortLost] },
    ],
    [models.NOVA, { effort: "high" }, { reasoningConfig: { type: "enabled", maxReasoningEffort: "high" }, lost: [] }],
    [models.GPT_OSS, { effort: "high" }, { reasoning_effort: "high", lost: [] }],
    ["openai.gpt-5.5", { effort: "low" }, { reasoning: { effort: "low" }, lost: [] }],
    [models.LLAMA, { effort: "high" }, { lost: ["dropped reasoning (hint)"] }],
    [
      models.GPT_OSS,
      { effort: "low", show: "hidden" },
      { reasoning_effort: "low", lost: ["dropped reasoning.show (hint)"] },
    ],
    [models.CLAUDE, { effort: "none" }, { thinking: { type: "disabled" }, lost: [] }],
    [models.NOVA, { effort: "none" }, { reasoningConfig: { type: "disabled" }, lost: [] }],
    [models.NEW_CLAUDE, { budgetTokens: 0 }, { lost: ["dropped reasoning (hint)"] }],
    [models.GPT_OSS, { effort: "none" }, { lost: ["dropped reasoning (hint)"] }],
    [models.CLAUDE, { show: "full" }, { lost: ["dropped reasoning (hint)"] }],
  ])("reasoning settings are encoded for %s: %j", (model, reasoning, expected) => {
    expect(thought(reasoning, model)).toEqual({ inferenceConfig: undefined, ...expected } as never)
  })

  test("the reasoning budget stays within the model's bounds", () => {
    expect(thought({ effort: "high" }, models.NEW_CLAUDE, { efforts: ["none", "low"] })).toMatchObject({
      output_config: { effort: "low" },
    })
    expect(thought({ effort: "none" }, models.GPT_OSS, { efforts: ["none", "low"] })).toMatchObject({
      reasoning_effort: "none",
      lost: [],
    })
    expect(thought({ budgetTokens: 500 }, models.CLAUDE, { thinkingTokens: { min: 2000 } })).toMatchObject({
      thinking: { budget_tokens: 2000 },
      lost: ["approximated reasoning.budgetTokens (hint)"],
    })
    expect(thought({ budgetTokens: 5000 }, models.CLAUDE, { thinkingTokens: { max: 3000 } })).toMatchObject({
      thinking: { budget_tokens: 3000 },
    })
    expect(thought({ effort: "high" }, models.CLAUDE, { reasons: false })).toMatchObject({
      lost: ["dropped reasoning (hint)"],
    })
  })

  test("reasoning stays below the output limit, or is dropped", () => {
    expect(thought({ budgetTokens: 5000 }, models.CLAUDE, { maxOutputTokens: 2000 })).toMatchObject({
      thinking: { budget_tokens: 1999 },
      inferenceConfig: { maxTokens: 2000 },
    })
    expect(thought({ budgetTokens: 5000 }, models.CLAUDE, { maxOutputTokens: 500 })).toEqual({
      inferenceConfig: { maxTokens: 500 },
      lost: ["dropped reasoning (hint)"],
    })
    expect(thought({ effort: "high" }, models.NOVA, { maxOutputTokens: 500 })).toMatchObject({
      reasoningConfig: { maxReasoningEffort: "medium" },
      inferenceConfig: { maxTokens: 500 },
      lost: [effortLost],
    })
  })

  test("sampling settings are dropped while Claude reasons, and kept for Nova", () => {
    expect(thought({ effort: "high" }, models.NEW_CLAUDE, { temperature: 0.2 })).toMatchObject({
      inferenceConfig: undefined,
      lost: ["dropped temperature (hint)"],
    })
    expect(thought({ effort: "medium" }, models.NOVA, { temperature: 0.2 })).toMatchObject({
      inferenceConfig: { temperature: 0.2 },
    })
  })

  test("reasoning is disabled if Claude must call a tool", () => {
    const given = { tools: [f], toolChoice: { mode: "required" }, settings: { reasoning: { effort: "high" } } } as const
    for (const model of [models.CLAUDE, models.NEW_CLAUDE]) {
      const { body, lost } = encoded(request(given), { model })
      expect(body.additionalModelRequestFields).toBeUndefined()
      expect(lost).toEqual(["dropped reasoning (hint)"])
    }
  })

  test("reasoning is disabled if the reasoning before the last calls is missing", () => {
    const thoughts = {
      kind: "reasoning",
      form: "full",
      at: "p",
      text: "hm",
      sealed: { mintedBy: "the-minter", data: "s" },
    } as const
    const turns = (...before: readonly ContentPart[]) => [
      ...[turnOf("user", text("a")), turnOf("assistant", ...before, call("1")), turnOf("user", result("1"))],
    ]
    const given = { tools: [f], settings: { reasoning: { budgetTokens: 2000 } } }
    const unsigned = encoded(request({ ...given, turns: turns() }))
    expect(unsigned.body.additionalModelRequestFields).toBeUndefined()
    expect(unsigned.lost).toEqual(["dropped reasoning (hint)"])
    const signed = encoded(request({ ...given, turns: turns(thoughts) }))
    expect(signed.body.additionalModelRequestFields).toBeDefined()
    const adaptive = encoded(request({ ...given, turns: turns() }), { model: models.NEW_CLAUDE })
    expect(adaptive.body.additionalModelRequestFields).toBeDefined()
  })
})
