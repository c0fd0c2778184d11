import { describe, expect, test } from "bun:test"
import { ERROR_CODES } from "../error-codes.ts"
import { asGatewayError, GatewayError } from "../gateway-error.ts"
import { claimFields } from "../passthrough-fields.ts"
import { totalTokens } from "../usage.ts"
import { assembleResponse } from "./assemble-response.ts"
import { isMeaningful, type StreamEvent } from "./stream-event.ts"

describe("claim", () => {
  test("fields that no decoder claims are passed through", () => {
    const claimed = claimFields({ a: 1, b: null, c: { d: 2 } })
    expect(claimed.take("a")).toBe(1)
    expect(claimed.rest("openai-chat")).toEqual({ protocol: "openai-chat", members: { b: null, c: { d: 2 } } })
  })

  test("a null field counts as absent and as claimed", () => {
    const claimed = claimFields({ a: null })
    expect(claimed.take("a")).toBeUndefined()
    expect(claimed.rest("openai-chat")).toBeUndefined()
  })

  test("a field called __proto__ is treated like any other", () => {
    const claimed = claimFields(JSON.parse('{"__proto__":{"x":1}}'))
    expect(Object.keys(claimed.rest("openai-chat")?.members ?? {})).toEqual(["__proto__"])
    expect(claimFields({}).take("constructor")).toBeUndefined()
  })
})

describe("assembling a stream", () => {
  test("a stream is assembled into the whole response", () => {
    const events: StreamEvent[] = [
      { type: "stream-start", id: "1", model: "m" },
      { type: "part-start", candidate: 0, part: 0, start: { kind: "reasoning", form: "full" } },
      { type: "part-delta", candidate: 0, part: 0, text: "hm" },
      { type: "part-end", candidate: 0, part: 0, sealed: { mintedBy: "x", data: "s" } },
      { type: "part-start", candidate: 0, part: 1, start: { kind: "tool-call", id: "c", name: "f", runsAt: "client" } },
      { type: "part-start", candidate: 0, part: 2, start: { kind: "text" } },
      { type: "part-delta", candidate: 0, part: 1, text: '{"a":' },
      { type: "part-delta", candidate: 0, part: 2, text: "Hi" },
      { type: "part-delta", candidate: 0, part: 1, text: "1}" },
      { type: "candidate-end", candidate: 0, finish: { reason: "stop" } },
      { type: "usage", usage: { input: 1 } },
      { type: "stream-end" },
    ]
    expect(assembleResponse(events)).toEqual({
      id: "1",
      model: "m",
      candidates: [
        {
          index: 0,
          parts: [
            { kind: "reasoning", form: "full", text: "hm", sealed: { mintedBy: "x", data: "s" } },
            { kind: "tool-call", id: "c", name: "f", runsAt: "client", arguments: '{"a":1}' },
            { kind: "text", text: "Hi" },
          ],
          finish: { reason: "stop" },
        },
      ],
      usage: { input: 1 },
    })
  })

  test("a delta without its start throws", () => {
    expect(() => assembleResponse([{ type: "part-delta", candidate: 0, part: 0, text: "x" }])).toThrow("never started")
  })
})

test("opening events are not meaningful; text, tool calls and finishes are", () => {
  const start = (kind: "text" | "refusal"): StreamEvent => ({
    type: "part-start",
    candidate: 0,
    part: 0,
    start: { kind },
  })
  expect(isMeaningful({ type: "stream-start" })).toBe(false)
  expect(isMeaningful(start("text"))).toBe(false)
  expect(isMeaningful({ type: "part-delta", candidate: 0, part: 0, text: "" })).toBe(false)
  expect(isMeaningful({ type: "usage", usage: {} })).toBe(false)
  expect(isMeaningful({ type: "part-delta", candidate: 0, part: 0, text: "x" })).toBe(true)
  expect(isMeaningful({ type: "candidate-end", candidate: 0, finish: { reason: "stop" } })).toBe(true)
  const call = { kind: "tool-call", id: "", name: "", runsAt: "client" } as const
  expect(isMeaningful({ type: "part-start", candidate: 0, part: 0, start: call })).toBe(true)
})

test("the total is the sum of disjoint buckets", () => {
  expect(totalTokens({ input: 1, cacheRead: 2, output: 4, reasoning: 8 })).toBe(15)
  expect(totalTokens({})).toBe(0)
})

describe("errors", () => {
  test("an error code determines status and type", () => {
    const error = new GatewayError("invalid_api_key", "No.")
    expect([error.status, error.kind, error.owner]).toEqual([401, "authentication_error", "caller"])
    expect(new GatewayError("upstream_unavailable", "No.").owner).toBe("gateway")
  })

  test("error codes have the statuses of the specification", () => {
    const statuses = new Set(Object.values(ERROR_CODES).map(({ status }) => status))
    expect([...statuses].sort()).toEqual([400, 401, 403, 404, 405, 409, 413, 429, 500, 503])
  })

  test("only errors that may pass with time are retryable", () => {
    const may = (code: "overloaded" | "upstream_unavailable" | "insufficient_balance", retryAfterMs?: number) =>
      new GatewayError(code, "", { retryAfterMs }).mayRetry
    expect(may("overloaded")).toBe(true)
    expect(may("upstream_unavailable")).toBe(false)
    expect(may("upstream_unavailable", 60_000)).toBe(true)
    expect(may("upstream_unavailable", 60_001)).toBe(false)
    expect(may("insufficient_balance")).toBe(false)
  })

  test("an unexpected error reveals nothing about itself", () => {
    const error = asGatewayError(new TypeError("secret prompt text"))
    expect(error.code).toBe("internal_error")
    expect(error.message).not.toContain("secret")
  })
})
