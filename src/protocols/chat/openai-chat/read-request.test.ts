import { describe, expect, test } from "bun:test"
import fc from "fast-check"
import type { JsonObject } from "../../../canonical/json.ts"
import { spliceJson } from "../../../transport/json/json-splice.ts"
import { readRequest, requestEdits } from "./read-request.ts"

const bodyWith = (more: object): JsonObject => ({ model: "a/b", messages: [{ role: "user", content: "hi" }], ...more })

/** The body for a host that knows these limit members. */
function sent(body: JsonObject, limitMembers?: readonly string[]): JsonObject {
  const target = { model: "up", streamUsage: "sent" as const, limitMembers }
  return JSON.parse(spliceJson(JSON.stringify(body), requestEdits(readRequest(body), target)))
}

const BOTH = ["max_completion_tokens", "max_tokens"]
const [OLDER, NEWER] = [["max_tokens"], ["max_completion_tokens"]]

describe("the output limit", () => {
  test.each([
    [{ max_tokens: 5 }, undefined, { max_tokens: 5 }],
    [{ max_tokens: 5 }, BOTH, { max_tokens: 5 }],
    [{ max_tokens: 5 }, NEWER, { max_completion_tokens: 5 }],
    [{ max_completion_tokens: 5 }, undefined, { max_tokens: 5 }],
    [{ max_completion_tokens: 5 }, OLDER, { max_tokens: 5 }],
    [{ max_completion_tokens: 5 }, BOTH, { max_completion_tokens: 5 }],
    [{ max_completion_tokens: 1, max_tokens: 100_000 }, undefined, { max_tokens: 1 }],
    [{ max_completion_tokens: 100_000, max_tokens: 1 }, BOTH, { max_completion_tokens: 1 }],
    [{ max_completion_tokens: 7, max_tokens: null }, BOTH, { max_completion_tokens: 7, max_tokens: null }],
    [{}, BOTH, {}],
  ])("%j becomes, at a host that knows %j, %j", (body, known, expected) => {
    const { model: _, messages: __, ...rest } = sent(bodyWith(body), known)
    expect(rest).toEqual(expected as JsonObject)
  })

  test("the forwarded output limit is the smallest in the request, and the one that is held", () => {
    const limit = fc.option(fc.integer({ min: 1, max: 1e6 }), { nil: undefined })
    const known = fc.constantFrom(undefined, OLDER, NEWER, BOTH)
    fc.assert(
      fc.property(limit, limit, known, (max_tokens, max_completion_tokens, members) => {
        const written = [max_tokens, max_completion_tokens].filter((each) => each !== undefined)
        const body = bodyWith({
          ...(max_tokens !== undefined && { max_tokens }),
          ...(max_completion_tokens !== undefined && { max_completion_tokens }),
        })
        const upstream = sent(body, members)
        const seen = [upstream.max_tokens, upstream.max_completion_tokens].filter((each) => each !== undefined)
        const smallest = written.length > 0 ? Math.min(...written) : undefined
        expect(seen).toEqual(smallest === undefined ? [] : [smallest])
        expect(readRequest(body).outputLimits.maxOutputTokens).toBe(smallest)
      }),
    )
  })
})

test("candidates that a host generates to choose from are paid for like those it returns", () => {
  expect(readRequest(bodyWith({ n: 2 })).outputLimits.candidates).toBe(2)
  expect(readRequest(bodyWith({ n: 2, best_of: 5 })).outputLimits.candidates).toBe(5)
})

test.each([["flex"], ["priority"], ["scale"]])(
  "the service tier %s is refused because it has no price",
  (service_tier) => {
    expect(() => readRequest(bodyWith({ service_tier }))).toThrow(
      expect.objectContaining({ code: "model_not_priced", param: "service_tier" }),
    )
  },
)

describe("a list of models", () => {
  test("the list of models is the fallback, and is not forwarded", () => {
    const reading = readRequest(bodyWith({ models: ["c/d", "e/f"] }))
    expect(reading).toMatchObject({ model: "a/b", routing: { fallback: ["c/d", "e/f"] } })
    expect(sent(bodyWith({ models: ["c/d"] }))).not.toHaveProperty("models")
    expect(sent(bodyWith({ fallbacks: [{ model: "c/d" }, "e/f"] }))).not.toHaveProperty("fallbacks")
    expect(readRequest(bodyWith({ fallbacks: [{ model: "c/d" }, "e/f"] })).routing.fallback).toEqual(["c/d", "e/f"])
  })

  test("the list of models names the model if no other member does", () => {
    const { model: _, ...body } = bodyWith({ models: ["c/d", "e/f"] })
    expect(readRequest(body)).toMatchObject({ model: "c/d", routing: { fallback: ["e/f"] } })
  })

  test.each([
    [{ models: ["1", "2", "3", "4", "5", "6"] }, "models"],
    [{ models: ["c/d"], fallbacks: ["e/f"] }, "fallbacks"],
    [{ models: ["c/d"], provider: { fallback: ["e/f"] } }, "models"],
    [{ fallbacks: ["c/d"], provider: { fallback: ["e/f"] } }, "fallbacks"],
    [{ models: [7] }, "models[0]"],
    [{ models: "c/d" }, "models"],
    [{ fallbacks: [{ model: "c/d", max_tokens: 9 }] }, "fallbacks[0].max_tokens"],
    [{ fallbacks: [{}] }, "fallbacks[0].model"],
  ])("the list of models %j is refused for its %s", (more, param) => {
    expect(() => readRequest(bodyWith(more))).toThrow(expect.objectContaining({ param }))
  })
})
