import { describe, expect, test } from "bun:test"
import type { ReceivedPart } from "../conformance/conversation.ts"
import { callsOf, misfits, wrongCalls } from "./calls.ts"
import type { ToolSteps, ToolUse } from "./task.ts"

const read = (file: string): ToolUse => ({ tool: "read", arguments: { file }, resultText: `content of ${file}` })
const steps: ToolSteps = [[read("a"), read("b")], [read("c")]]

/** The conversation as it should come back. */
const faithful = (): ReceivedPart[] =>
  steps.flatMap((uses, step) => [
    ...callsOf(uses, step).map((call): ReceivedPart => ({ kind: "call", call })),
    ...callsOf(uses, step).map((call, index) => resultOf(call.id, `${uses[index]?.resultText}\n`)),
  ])

function resultOf(callId: string, text: string): ReceivedPart {
  return { kind: "result", callId, text, images: [], failed: false }
}

describe("the tool calls that a model receives", () => {
  test("calls are accepted if each returns unchanged with its own result", () => {
    expect(wrongCalls(faithful(), { steps, haveIds: true })).toEqual([])
  })

  test("two exchanged results are reported", () => {
    const parts = faithful().map((part) => {
      if (part.kind !== "result" || part.callId === "call_1_0") return part
      return { ...part, callId: part.callId === "call_0_0" ? "call_0_1" : "call_0_0" }
    })
    expect(wrongCalls(parts, { steps, haveIds: true })).toHaveLength(2)
  })

  test("a missing call and a call with other arguments, another name or another id are reported", () => {
    const [first, ...rest] = faithful()
    expect(wrongCalls(rest, { steps, haveIds: true })).toHaveLength(1)
    if (first?.kind !== "call") throw new Error("it begins with a call")
    for (const change of [{ arguments: { file: "b" } }, { name: "write" }, { id: "call_9" }]) {
      const parts: ReceivedPart[] = [{ ...first, call: { ...first.call, ...change } }, ...rest]
      expect(wrongCalls(parts, { steps, haveIds: true })).toHaveLength(1)
    }
  })

  test("calls without ids are matched by their order", () => {
    const renamed = (id: string) => `unnamed ${id}`
    const parts = faithful().map((part): ReceivedPart => {
      if (part.kind === "call") return { ...part, call: { ...part.call, id: renamed(part.call.id) } }
      return part.kind === "result" ? { ...part, callId: renamed(part.callId) } : part
    })
    expect(wrongCalls(parts, { steps, haveIds: false })).toEqual([])
    expect(wrongCalls(parts, { steps, haveIds: true })).toHaveLength(3)
  })
})

test("a model calls only declared tools, by their schema", () => {
  const tool = {
    name: "read",
    description: "",
    schema: { type: "object", properties: { file: {} }, required: ["file"] },
  }
  expect(misfits(read("a"), tool)).toEqual([])
  expect(misfits(read("a"), undefined)).toHaveLength(1)
  expect(misfits({ ...read("a"), arguments: { path: "a" } }, tool)).toHaveLength(2)
})
