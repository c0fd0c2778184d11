import { describe, expect, test } from "bun:test"
import type { Json, JsonObject } from "../../../canonical/json.ts"
import { ChunkRepairer } from "./repair-chunk.ts"

const chunk = (delta: JsonObject, more: JsonObject = {}): JsonObject => ({
  id: "chatcmpl-1",
  choices: [{ index: 0, delta, finish_reason: null }],
  ...more,
})

function mended(...chunks: Json[]): Json[] {
  const repairer = new ChunkRepairer()
  return chunks.map((each) => JSON.parse(repairer.repair(JSON.stringify(each))))
}

const deltas = (...chunks: Json[]) =>
  mended(...chunks).map((each) => (each as { choices: { delta: JsonObject }[] }).choices[0]?.delta)

test("a valid stream passes unchanged, in its own spelling", () => {
  const repairer = new ChunkRepairer()
  const texts = [
    '{ "id":"chatcmpl-1","choices":[{"index":0,"delta":{"role":"assistant","content":""}}] }',
    '{"id":"chatcmpl-1","choices":[{"index":0,"delta":{"content":"a", "logprob":1.0}}]}',
    '{"id":"chatcmpl-1","choices":[{"index":0,"delta":{"tool_calls":[{"index":0, "id":"c","function":{"name":"f"}}]}}]}',
    '{"id":"chatcmpl-1","choices":[{"index":0,"delta":{"tool_calls":[{"index":0, "function":{"arguments":"1.0"}}]}}]}',
    '{"id":"chatcmpl-1","choices":[ ],"usage":{}}',
  ]
  for (const text of texts) expect(repairer.repair(text)).toBe(text)
})

test("the first delta of each choice gets a role", () => {
  expect(deltas(chunk({ content: "a" }), chunk({ content: "b" }))).toEqual([
    { role: "assistant", content: "a" },
    { content: "b" },
  ])
  const second = { id: "chatcmpl-1", choices: [{ index: 1, delta: { content: "c" } }] }
  expect(deltas(chunk({ content: "a" }), second)).toEqual([
    { role: "assistant", content: "a" },
    { role: "assistant", content: "c" },
  ])
})

describe("pieces of tool calls get an index", () => {
  const call = (id: string | undefined, args: string) => ({
    ...(id !== undefined && { id }),
    function: { arguments: args },
  })

  test("pieces of tool calls get an index by their position in one delta", () => {
    const [delta] = deltas(chunk({ role: "assistant", tool_calls: [call("a", "{}"), call("b", "{}")] }))
    const calls = (delta?.tool_calls ?? []) as { index: number }[]
    expect(calls.map(({ index }) => index)).toEqual([0, 1])
  })

  test("pieces of tool calls get the index of the call they name, or of the one before", () => {
    const repaired = deltas(
      chunk({ role: "assistant", tool_calls: [call("a", "{")] }),
      chunk({ tool_calls: [call(undefined, "}")] }),
      chunk({ tool_calls: [call("b", "{")] }),
      chunk({ tool_calls: [call("a", " ")] }),
    )
    const calls = repaired.flatMap((delta) => (delta?.tool_calls ?? []) as { index: number }[])
    expect(calls.map(({ index }) => index)).toEqual([0, 0, 1, 0])
  })
})

test("all chunks get the id of the first", () => {
  const ids = mended(
    chunk({ role: "assistant" }, { id: "" }),
    chunk({ content: "a" }, { id: "one" }),
    chunk({ content: "b" }, { id: "two" }),
    chunk({ content: "c" }, { id: "three" }),
  ).map((each) => (each as JsonObject).id)
  expect(ids).toEqual(["", "one", "one", "one"])
})

test("a chunk without choices gets an empty list, and an error stays unchanged", () => {
  const filtered = { id: "x", prompt_filter_results: [] }
  expect(mended(filtered)).toEqual([{ ...filtered, choices: [] }])
  const error = { error: { message: "no" } }
  expect(mended(error)).toEqual([error])
})

test("data that is not a chunk passes unchanged", () => {
  const repairer = new ChunkRepairer()
  for (const text of ["{oops", "[1]", "null", '"choices"']) expect(repairer.repair(text)).toBe(text)
})

test("repairing a chunk leaves every other byte", () => {
  const data = '{ "choices" : [ {"x":"}{\\"","delta":{"content":"\xff\xc3("} ,"n":1.0} , {"index":1,"delta":{}} ]}'
  const passed = new ChunkRepairer().repair(data)
  expect(passed.replaceAll(/"role":"assistant",?|,(?="role")/g, "")).toBe(data)
  expect(passed.split('"role"').length).toBe(3)
})
