import { describe, expect, test } from "bun:test"
import type { Part, ReasoningPart } from "../canonical/part.ts"
import type { ChatRequest } from "../canonical/request.ts"
import { callIdsIn, KeptSeals, withKept } from "./kept-seals.ts"

const thought = (data: string): ReasoningPart => ({
  kind: "reasoning",
  form: "full",
  text: "hm",
  sealed: { mintedBy: "m", data },
})
const call = (id: string): Part => ({ kind: "tool-call", id, name: "f", arguments: "{}", runsAt: "client" })

describe("kept seals", () => {
  test("are found by tenant and call, and by nobody else", () => {
    const seals = new KeptSeals()
    seals.keep("a", "1", { before: [thought("x")] })
    expect(seals.find("a", ["1", "2"]).get("1")?.before).toEqual([thought("x")])
    expect(seals.find("b", ["1"]).size).toBe(0)
    expect([seals.has("a"), seals.has("b")]).toEqual([true, false])
  })

  test("expire", () => {
    let now = 0
    const seals = new KeptSeals({ now: () => now, lifetimeMs: 1000 })
    seals.keep("a", "1", { before: [] })
    now = 999
    expect(seals.find("a", ["1"]).size).toBe(1)
    now = 1000
    expect(seals.find("a", ["1"]).size).toBe(0)
  })

  test("take no more room than there is: a tenant's oldest go first, then the oldest tenant's", () => {
    const large = { before: [thought("x".repeat(1000))] }
    const seals = new KeptSeals({ maxTenantSize: 5000, maxSize: 8000 })
    for (const id of ["1", "2", "3"]) seals.keep("a", id, large)
    expect([...seals.find("a", ["1", "2", "3"]).keys()]).toEqual(["2", "3"])
    for (const id of ["4", "5"]) seals.keep("b", id, large)
    expect([...seals.find("a", ["2", "3"]).keys()]).toEqual(["3"])
    expect([...seals.find("b", ["4", "5"]).keys()]).toEqual(["4", "5"])
  })
})

describe("a conversation that returns", () => {
  const request = (parts: readonly Part[]): ChatRequest => ({
    ...{ model: "a/b", instructions: [], tools: [], settings: {}, stream: false, routing: { fallback: [] } },
    turns: [{ role: "assistant", parts }],
  })
  const restored = (parts: readonly Part[], kept: Record<string, Part[]>) => {
    const map = new Map(
      Object.entries(kept).map(([id, before]) => [
        id,
        { before: before as ReasoningPart[], sealed: { mintedBy: "m", data: id } },
      ]),
    )
    return withKept(request(parts), map).turns[0]?.parts
  }
  const sealed = (id: string) => ({ ...call(id), sealed: { mintedBy: "m", data: id } })
  const text: Part = { kind: "text", text: "I look it up" }

  test("has its thoughts before what was said, and the call its seal", () => {
    expect(restored([text, call("1")], { 1: [thought("x")] })).toEqual([thought("x"), text, sealed("1")])
  })

  test("has those between calls right before theirs", () => {
    const parts = [call("1"), call("2")]
    expect(restored(parts, { 1: [], 2: [thought("y")] })).toEqual([sealed("1"), thought("y"), sealed("2")])
  })

  test("has no thought twice that the client told back without its seal", () => {
    const bare: Part = { kind: "reasoning", form: "full", text: "hm" }
    expect(restored([bare, text, call("1")], { 1: [thought("x")] })).toEqual([thought("x"), text, sealed("1")])
    expect(restored([bare, call("1")], {})).toEqual([bare, call("1")])
  })

  test("tells its calls by the results in it", () => {
    expect(callIdsIn('{"tool_call_id":"a"},{"tool_call_id" : "b"},{"id":"c"}')).toEqual(new Set(["a", "b"]))
  })
})
