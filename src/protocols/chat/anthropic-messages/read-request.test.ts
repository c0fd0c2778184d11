import { describe, expect, test } from "bun:test"
import { GatewayError } from "../../../canonical/gateway-error.ts"
import type { JsonObject } from "../../../canonical/json.ts"
import type { RequestEnvelope } from "../../contract.ts"
import { anthropicMessages } from "./anthropic-messages.ts"
import { bodyGuard } from "./body-rules.ts"
import { readRequest } from "./read-request.ts"

const envelope: RequestEnvelope = { does: "generate", rest: "", query: "", headers: { "msg-version": "2023-06-01" } }
const vendor: RequestEnvelope = { ...envelope, headers: { "anthropic-version": "2026-10-21" } }
const sound = { model: "a/b", max_tokens: 10, messages: [{ role: "user", content: "hi" }] }

function refusal(body: object, at: RequestEnvelope = envelope): string {
  try {
    bodyGuard.check(body as JsonObject)
    readRequest(body as JsonObject, at)
    return "accepted"
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error
    return `${error.code} ${error.param}`
  }
}

describe("a valid request", () => {
  test("a valid request is accepted", () => {
    expect(readRequest(sound, envelope)).toEqual({
      operation: "messages",
      model: "a/b",
      stream: false,
      framing: "events",
      usageRequested: true,
      outputLimits: { maxOutputTokens: 10, candidates: 1 },
      routing: { fallback: [] },
      headers: { "anthropic-version": "2023-06-01" },
    })
  })

  test("a request may use the whole protocol and unknown members", () => {
    const rich = {
      ...sound,
      system: [{ type: "text", text: "be kind", cache_control: { type: "ephemeral" } }],
      messages: [
        {
          role: "user",
          content: [
            { type: "text", text: "x" },
            { type: "image", source: { type: "url", url: "u" } },
          ],
        },
        { role: "assistant", content: [{ type: "tool_use", id: "t", name: "n", input: {} }, { type: "thinking" }] },
        { role: "user", content: [{ type: "tool_result", tool_use_id: "t", content: "ok", is_error: false }] },
      ],
      temperature: 1,
      top_p: 0.5,
      top_k: 5,
      stop_sequences: ["x"],
      stream: true,
      tools: [
        { name: "n", input_schema: {} },
        { type: "web_search_20250305", name: "web_search" },
      ],
      tool_choice: { type: "tool", name: "n" },
      metadata: null,
      thinking: { type: "adaptive" },
      tomorrow: [1],
    }
    expect(refusal(rich)).toBe("accepted")
  })

  test("a count request needs no output limit", () => {
    const { max_tokens: _, ...countable } = sound
    expect(readRequest(countable, { ...envelope, does: "count-tokens" })).toMatchObject({ operation: "count_tokens" })
    expect(refusal(countable)).toBe("missing_parameter max_tokens")
  })

  test("an instruction among the messages is accepted only with the vendor's version header", () => {
    const instructed = { ...sound, messages: [{ role: "system", content: "x" }, ...sound.messages] }
    expect(refusal(instructed)).toBe("invalid_parameter messages[0].role")
    expect(refusal(instructed, vendor)).toBe("accepted")
  })

  test("beta features are forwarded", () => {
    const headers = { ...vendor.headers, "anthropic-beta": "a-1,b-2" }
    expect(readRequest(sound, { ...vendor, headers }).headers).toEqual({
      "anthropic-version": "2026-10-21",
      "anthropic-beta": "a-1,b-2",
    })
  })
})

describe("an invalid request is refused with the path of the member", () => {
  const cases: [object, string][] = [
    [{ model: undefined }, "missing_parameter model"],
    [{ model: 1 }, "invalid_parameter model"],
    [{ max_tokens: undefined }, "missing_parameter max_tokens"],
    [{ max_tokens: 0 }, "invalid_parameter max_tokens"],
    [{ max_tokens: 1.5 }, "invalid_parameter max_tokens"],
    [{ messages: undefined }, "missing_parameter messages"],
    [{ messages: [] }, "invalid_parameter messages"],
    [{ messages: [{ role: "tool", content: "x" }] }, "invalid_parameter messages[0].role"],
    [{ messages: [{ role: "user" }] }, "missing_parameter messages[0].content"],
    [{ messages: [{ role: "user", content: [{ type: "text" }] }] }, "missing_parameter messages[0].content[0].text"],
    [{ messages: [{ role: "user", content: [{}] }] }, "missing_parameter messages[0].content[0].type"],
    [{ system: 1 }, "invalid_parameter system"],
    [{ temperature: 1.01 }, "invalid_parameter temperature"],
    [{ temperature: -0.01 }, "invalid_parameter temperature"],
    [{ top_p: 1.1 }, "invalid_parameter top_p"],
    [{ top_k: 0.5 }, "invalid_parameter top_k"],
    [{ stream: "yes" }, "invalid_parameter stream"],
    [{ stop_sequences: "x" }, "invalid_parameter stop_sequences"],
    [{ stop_sequences: [1] }, "invalid_parameter stop_sequences[0]"],
    [{ tools: {} }, "invalid_parameter tools"],
    [{ tools: [{ name: "n" }] }, "missing_parameter tools[0].input_schema"],
    [{ tool_choice: "auto" }, "invalid_parameter tool_choice"],
    [{ container: "c_1" }, "unsupported_parameter container"],
    [{ service_tier: "priority" }, "model_not_priced service_tier"],
    [{ speed: "fast" }, "model_not_priced speed"],
    [{ provider: { sort: "x" } }, "invalid_parameter provider.sort"],
    [{ api_base: "http://x" }, "unsupported_parameter api_base"],
  ]
  for (const [change, expected] of cases) {
    test(`the change ${JSON.stringify(change)} is refused`, () =>
      expect(refusal({ ...sound, ...change })).toBe(expected))
  }

  test("a file is an object of the provider's account", () => {
    const content = [{ type: "document", source: { type: "file", file_id: "f" } }]
    expect(refusal({ ...sound, messages: [{ role: "user", content }] })).toBe(
      "unsupported_parameter messages[0].content[0].source.file_id",
    )
  })
})

test("a null member counts as absent", () => {
  const nulls = { temperature: null, top_p: null, top_k: null, system: null, stream: null, tools: null, provider: null }
  expect(refusal({ ...sound, ...nulls })).toBe("accepted")
})

test("the gateway replaces the model's name and removes the routing extension", () => {
  const edits = anthropicMessages.requestEdits(readRequest(sound, envelope), { model: "claude-x", streamUsage: "sent" })
  expect(edits).toEqual([
    { path: ["model"], set: '"claude-x"' },
    { path: ["provider"], remove: true },
  ])
})
