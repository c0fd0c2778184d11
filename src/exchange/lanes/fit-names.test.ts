import { describe, expect, test } from "bun:test"
import fc from "fast-check"
import type { ChatRequest } from "../../canonical/chat/chat-request.ts"
import { fitNames } from "./fit-names.ts"

const pattern = { toolName: /^[a-zA-Z0-9_-]{1,64}$/, callId: /^[a-zA-Z0-9_-]{1,40}$/ }

function requestCalling(name: string, id = "call_1"): ChatRequest {
  return {
    model: "a/b",
    instructions: [],
    turns: [
      { role: "assistant", parts: [{ kind: "tool-call", id, name, arguments: "{}", runsAt: "client" }] },
      { role: "user", parts: [{ kind: "tool-result", callId: id, name, parts: [], isError: false }] },
    ],
    tools: [{ kind: "function", name }],
    toolChoice: { mode: "tool", name },
    settings: {},
    stream: false,
    routing: { fallback: [] },
  }
}

test("a request whose names fit stays unchanged", () => {
  const request = requestCalling("look_up")
  expect(fitNames(request, pattern).request).toBe(request)
})

test("a name that does not fit is replaced everywhere and restored in the answer", () => {
  const { request, names } = fitNames(requestCalling("files.read/all"), pattern)
  const [sent = ""] = names.keys()
  expect(sent).toMatch(/^files_read_all_[0-9a-f]{8}$/)
  expect(names.get(sent)).toBe("files.read/all")
  expect(request).toEqual(requestCalling(sent))
})

test("an id that does not fit is replaced alike in a call and in its result", () => {
  const { request } = fitNames(requestCalling("f", "fc/1|äöü"), pattern)
  const [call, result] = request.turns.flatMap(({ parts }) => parts)
  expect(call).toMatchObject({ id: expect.stringMatching(/^fc_1/) as unknown as string })
  expect(result).toMatchObject({ callId: (call as { id: string }).id })
})

test("an id becomes nine letters and digits if the host accepts nothing else", () => {
  const nine = { ...pattern, callId: /^[a-zA-Z0-9]{9}$/ }
  const [call] = fitNames(requestCalling("f", "call_0123456789"), nine).request.turns[0]?.parts ?? []
  expect((call as { id: string }).id).toMatch(nine.callId)
})

describe("fitted names", () => {
  test("fitted names are valid, distinct and independent of the rest of the request", () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1 }), fc.string({ minLength: 1 }), (one, other) => {
        const fitted = (name: string) => fitNames(requestCalling(name, name), pattern).request.tools[0]?.name ?? ""
        expect(fitted(one)).toMatch(pattern.toolName)
        expect(fitted(one) === fitted(other)).toBe(one === other)
        const both = { ...requestCalling(one), tools: [...requestCalling(one).tools, ...requestCalling(other).tools] }
        expect(fitNames(both, pattern).request.tools.map(({ name }) => name)).toEqual([fitted(one), fitted(other)])
      }),
    )
  })
})
