import { describe, expect, test } from "bun:test"
import type { ChatRequest } from "../../canonical/chat/chat-request.ts"
import type { ContentPart, ReasoningPart, ToolCallPart } from "../../canonical/chat/content-part.ts"
import type { StreamEvent } from "../../canonical/chat/stream-event.ts"
import { type AnswerRestoration, restoreResponse, StreamRestorer } from "../lanes/restore-answer.ts"
import { carryThoughts, restoreCarriedThoughts } from "./carried-thoughts.ts"

const mending: AnswerRestoration = { names: new Map(), customs: new Set(), keep: (_, kept) => carryThoughts(kept) }
const thought: ReasoningPart = {
  kind: "reasoning",
  form: "summary",
  text: "I should look.",
  sealed: { mintedBy: "anthropic-messages/anthropic", data: "signature" },
}
const call = (id: string): ToolCallPart => ({ kind: "tool-call", id, name: "f", arguments: "{}", runsAt: "client" })
const own = { mintedBy: "gemini-generate/google", data: "own" }

function answered(parts: readonly ContentPart[]): readonly ContentPart[] {
  const candidate = { index: 0, parts, finish: { reason: "tool-calls" } } as const
  return restoreResponse({ candidates: [candidate] }, mending).candidates[0]?.parts ?? []
}

function returned(parts: readonly ContentPart[]): readonly ContentPart[] | undefined {
  const rest = { model: "a/b", instructions: [], tools: [], settings: {}, stream: false, routing: { fallback: [] } }
  const request: ChatRequest = { ...rest, turns: [{ role: "assistant", parts }] }
  return restoreCarriedThoughts(request).turns[0]?.parts
}

const withoutThoughts = (parts: readonly ContentPart[]) => parts.filter(({ kind }) => kind !== "reasoning")

describe("thoughts carried on a call", () => {
  test("thoughts carried on a call return through a client that drops thoughts, before their call", () => {
    const parts = [thought, call("1"), call("2")]
    expect(returned(withoutThoughts(answered(parts)))).toEqual(parts)
  })

  test("thoughts carried on a call leave the call its own seal", () => {
    const parts = [thought, { ...call("1"), sealed: own }]
    expect(returned(withoutThoughts(answered(parts)))).toEqual(parts)
  })

  test("thoughts carried on a call are not duplicated if the client returns them itself, sealed or not", () => {
    const parts = [thought, call("1")]
    expect(returned(answered(parts))).toEqual(parts)
    const { sealed: _, ...unsealed } = thought
    expect(returned([unsealed, ...withoutThoughts(answered(parts))])).toEqual(parts)
  })

  test("thoughts of a stream are carried on the end of the call", () => {
    const { text, sealed, ...start } = thought
    const { arguments: _, ...calling } = call("1")
    const events: StreamEvent[] = [
      { type: "part-start", candidate: 0, part: 0, start },
      { type: "part-delta", candidate: 0, part: 0, text },
      { type: "part-end", candidate: 0, part: 0, ...(sealed && { sealed }) },
      { type: "part-start", candidate: 0, part: 1, start: calling },
      { type: "part-end", candidate: 0, part: 1 },
    ]
    const stream = new StreamRestorer(mending)
    const last = events.flatMap((event) => stream.push(event)).at(-1)
    const seal = last?.type === "part-end" ? last.sealed : undefined
    expect(returned([{ ...call("1"), ...(seal && { sealed: seal }) }])).toEqual([thought, call("1")])
  })

  test("a call without thoughts before it stays as it is", () => {
    const parts = [{ ...call("1"), sealed: own }, call("2")]
    expect(answered(parts)).toEqual(parts)
    expect(returned(parts)).toEqual(parts)
  })

  test("a forged list of carried thoughts is dropped", () => {
    for (const data of [
      "",
      "{",
      "[]",
      '{"thoughts":[1,{"form":"loud","text":"x"},{"form":"full","text":"no seal"}]}',
    ]) {
      expect(returned([{ ...call("1"), sealed: { mintedBy: "trivium:thoughts", data } }])).toEqual([call("1")])
    }
  })
})
