import { describe, expect, test } from "bun:test"
import { GatewayError } from "../../../canonical/gateway-error.ts"
import type { JsonObject } from "../../../canonical/json.ts"
import { bodyGuard } from "./body-rules.ts"
import { readRequest, requestEdits } from "./read-request.ts"

const sound = { model: "a/b", input: "hi" }

function refusal(body: object): string {
  try {
    bodyGuard.check(body as JsonObject)
    readRequest(body as JsonObject)
    return "accepted"
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error
    return `${error.code} ${error.param}`
  }
}

test("a valid request is accepted", () => {
  expect(readRequest({ ...sound, stream: true })).toMatchObject({ operation: "responses", model: "a/b", stream: true })
})

test("items of every kind pass, including unknown ones", () => {
  const input = [
    { role: "user", content: "hi" },
    { type: "message", role: "developer", content: [{ type: "input_text", text: "x" }] },
    { type: "function_call", call_id: "c", name: "n", arguments: "{}", id: "fc_1" },
    { type: "function_call_output", call_id: "c", output: [{ type: "input_text", text: "x" }] },
    { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "…" },
    { type: "web_search_call", id: "ws_1" },
    { type: "tomorrow" },
  ]
  const tools = [
    { type: "function", name: "n", parameters: {} },
    { type: "namespace", tools: [] },
    { type: "web_search" },
  ]
  const more = { instructions: "be kind", include: ["reasoning.encrypted_content"], reasoning: { effort: "low" } }
  expect(refusal({ ...sound, input, tools, ...more, prompt_cache_key: "k", store: false })).toBe("accepted")
})

describe("an invalid request is refused with the path of the member", () => {
  const cases: [object, string][] = [
    [{ model: undefined }, "missing_parameter model"],
    [{ input: undefined }, "missing_parameter input"],
    [{ input: 5 }, "invalid_parameter input"],
    [{ input: [{ role: "tool", content: "x" }] }, "invalid_parameter input[0].role"],
    [{ input: [{ role: "user" }] }, "missing_parameter input[0].content"],
    [{ input: [{ type: "function_call", call_id: "c", name: "n" }] }, "missing_parameter input[0].arguments"],
    [{ input: [{ type: "item_reference" }] }, "missing_parameter input[0].id"],
    [{ input: [{ type: "item_reference", id: "" }] }, "invalid_parameter input[0].id"],
    [
      { input: [{ role: "user", content: [{ type: "input_file", file_id: "f" }] }] },
      "unsupported_parameter input[0].content[0].file_id",
    ],
    [{ instructions: 1 }, "invalid_parameter instructions"],
    [{ temperature: 2.1 }, "invalid_parameter temperature"],
    [{ top_p: -1 }, "invalid_parameter top_p"],
    [{ max_output_tokens: 0 }, "invalid_parameter max_output_tokens"],
    [{ stream: 1 }, "invalid_parameter stream"],
    [{ store: "no" }, "invalid_parameter store"],
    [{ include: "x" }, "invalid_parameter include"],
    [{ text: { format: { type: "xml" } } }, "invalid_parameter text.format.type"],
    [{ text: { format: { type: "json_schema", name: "n" } } }, "missing_parameter text.format.schema"],
    [{ tools: [{ name: "n" }] }, "missing_parameter tools[0].type"],
    [{ tools: [{ type: "function" }] }, "missing_parameter tools[0].name"],
    [{ tools: [{ type: "file_search", vector_store_ids: ["v"] }] }, "unsupported_parameter tools[0].vector_store_ids"],
    [{ tools: [{ type: "code_interpreter", container: "c" }] }, "unsupported_parameter tools[0].container"],
    [{ previous_response_id: "r".repeat(129) }, "invalid_parameter previous_response_id"],
    [{ previous_response_id: "" }, "invalid_parameter previous_response_id"],
    [{ store: "yes" }, "invalid_parameter store"],
    [{ conversation: "conv_1" }, "unsupported_parameter conversation"],
    [{ prompt: { id: "pmpt_1" } }, "unsupported_parameter prompt"],
    [{ background: true }, "unsupported_parameter background"],
    [{ service_tier: "priority" }, "model_not_priced service_tier"],
  ]
  for (const [change, expected] of cases) {
    test(`the change ${JSON.stringify(change)} is refused`, () =>
      expect(refusal({ ...sound, ...change })).toBe(expected))
  }
})

test("the upstream stores nothing", () => {
  const edits = requestEdits(readRequest(sound), { model: "gpt-x", streamUsage: "ask" })
  expect(edits).toEqual([
    { path: ["model"], set: '"gpt-x"' },
    { path: ["provider"], remove: true },
    { path: ["store"], set: "false" },
  ])
})

test("a response is stored unless the caller declines, and a count never is", () => {
  const keptIn = (body: object, does: "generate" | "count-tokens" = "generate") =>
    readRequest({ ...sound, ...body } as JsonObject, { does }).storage
  expect(keptIn({})).toEqual({ store: true })
  expect(keptIn({ store: null, previous_response_id: null })).toEqual({ store: true })
  expect(keptIn({ store: false, previous_response_id: "resp_1" })).toEqual({ store: false, previous: "resp_1" })
  expect(keptIn({ store: true, previous_response_id: "resp_1" }, "count-tokens")).toEqual({
    store: false,
    previous: "resp_1",
  })
})

test("sealed reasoning is requested for a stored response if every target reasons", () => {
  const includes = (body: object, kept: object) => {
    const reading = readRequest({ ...sound, ...body } as JsonObject)
    const summary = { ...reading, storage: { store: true, ...reading.storage, ...kept } }
    return requestEdits(summary, { model: "gpt-x", streamUsage: "ask" }).find(({ path }) => path[0] === "include")
  }
  const logprobs = "message.output_text.logprobs"
  const set = (...names: string[]) => ({ path: ["include"], set: JSON.stringify(names) })
  expect(includes({}, { reasons: true })).toEqual(set("reasoning.encrypted_content"))
  expect(includes({ include: [logprobs] }, { reasons: true })).toEqual(set(logprobs, "reasoning.encrypted_content"))
  expect(includes({ include: ["reasoning.encrypted_content"] }, { reasons: true })).toBeUndefined()
  expect(includes({}, { reasons: false })).toBeUndefined()
  expect(includes({}, { reasons: true, store: false })).toBeUndefined()
})
