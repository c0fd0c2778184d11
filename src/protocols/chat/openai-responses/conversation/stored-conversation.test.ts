import { describe, expect, test } from "bun:test"
import fc from "fast-check"
import { GatewayError } from "../../../../canonical/gateway-error.ts"
import type { Json, JsonObject } from "../../../../canonical/json.ts"
import { decodeByteText, encodeByteText, fromByteText } from "../../../../transport/json/byte-text.ts"
import { outlineJson } from "../../../../transport/json/json-scan.ts"
import { asciiOf } from "../../../../transport/json/json-splice.ts"
import { conversation } from "./stored-conversation.ts"

const { inputOf, continued, itemsOf, answerIn, listInput } = conversation

function toDocument(json: string) {
  const text = encodeByteText(json)
  const outlined = outlineJson(text)
  if (!outlined) throw new Error("no object")
  return { text, outline: outlined }
}

const bytesOf = (text: string) => fromByteText(encodeByteText(text))
const user = (content: Json) => ({ type: "message", role: "user", content })

describe("continuing a conversation", () => {
  const items = fc.array(fc.record({ role: fc.constant("user"), content: fc.string({ unit: "binary" }) }))
  const input = fc.oneof(fc.string({ unit: "binary" }), items)
  const space = fc.constantFrom(undefined, 2)

  test("a continued request has the earlier items, then its own, and names no earlier response", () => {
    fc.assert(
      fc.property(items, input, space, (before, own, spaces) => {
        const body = { model: "a/b", previous_response_id: "resp_1", input: own, tools: [] }
        const text = continued(toDocument(JSON.stringify(body, null, spaces)), asciiOf(before).slice(1, -1))
        const ownItems = typeof own === "string" ? [user(own)] : own
        expect(JSON.parse(decodeByteText(text))).toEqual({ model: "a/b", input: [...before, ...ownItems], tools: [] })
      }),
    )
  })

  test("a continued request keeps every byte of its own", () => {
    const own =
      '{"previous_response_id" : "r", "input": [ {"role":"user", "content":"h\\u00e9 ö", "n":1.0} ] , "x":1E2}'
    const expected = '{"input": [{"a":1}, {"role":"user", "content":"h\\u00e9 ö", "n":1.0} ] , "x":1E2}'
    expect(decodeByteText(continued(toDocument(own), '{"a":1}'))).toBe(expected)
  })
})

test("a request's own input is stored as it was written", () => {
  expect(inputOf(toDocument('{"model":"m","input": [ 1.0 ],"x":2}'))).toBe("[ 1.0 ]")
  expect(inputOf(toDocument('{"input":"hi"}'))).toBe('"hi"')
})

test("a continued turn holds the earlier input and output, without unreadable reasoning", () => {
  const message = { type: "message", id: "msg_1", role: "assistant", content: [] }
  const sealed = { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "x" }
  const output = [sealed, { type: "reasoning", id: "rs_2", summary: [] }, message]
  expect(itemsOf({ input: "hi", response: { output } })).toEqual([user("hi"), sealed, message])
  expect(itemsOf({ input: [user("a"), user("b")], response: {} })).toEqual([user("a"), user("b")])
})

describe("the stored response", () => {
  const event = (type: string, response: JsonObject) =>
    `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: 1, response })}\n\n`

  test("a response to be stored is found in a whole body and in the last event of a stream", () => {
    const response = { id: "resp_1", store: true, output: ["ö"] }
    const left = (text: string) => JSON.parse(decodeByteText(answerIn(bytesOf(text)) ?? "null"))
    expect(left(JSON.stringify(response))).toEqual(response)
    for (const end of ["response.completed", "response.incomplete"]) {
      const begun = event("response.in_progress", { ...response, output: [] })
      expect(left(`: ping\n\n${begun}${event(end, response)}`)).toEqual(response)
    }
  })

  test("a response is not stored if it says so or is incomplete", () => {
    const cases = [
      '{"id":"resp_1","store":false}',
      '{"id":"resp_1"}',
      '{"store":true',
      "",
      event("response.completed", { store: false }),
      event("response.failed", { store: true }),
      event("response.created", { store: true }),
    ]
    for (const text of cases) expect(answerIn(bytesOf(text))).toBeUndefined()
  })
})

describe("the list of input items", () => {
  const responseId = "resp_abc"
  const list = (input: Json, query = "") =>
    listInput({ responseId, input }, new URLSearchParams(query)) as {
      data: (JsonObject & { id: string })[]
      first_id: string | null
      last_id: string | null
      has_more: boolean
    }

  test("every listed item has a type, an id and parts, and keeps its own members", () => {
    const call = { type: "function_call_output", call_id: "c", output: "x" }
    const { data } = list([{ role: "assistant", content: "yes" }, call, { ...user([]), id: "mine" }], "order=asc")
    expect(data).toEqual([
      {
        ...{ type: "message", id: "msg_abc_0", status: "completed", role: "assistant" },
        content: [{ type: "output_text", text: "yes", annotations: [], logprobs: [] }],
      },
      { ...call, id: "fco_abc_1" },
      { ...user([]), id: "mine", status: "completed" },
    ])
    expect(list("hi").data).toMatchObject([{ type: "message", role: "user", content: [{ type: "input_text" }] }])
  })

  test("the pages of the list have every item once, in the requested order", () => {
    fc.assert(
      fc.property(
        fc.nat(40),
        fc.integer({ min: 1, max: 100 }),
        fc.constantFrom("asc", "desc"),
        (count, limit, order) => {
          const input = Array.from({ length: count }, (_, index) => user(`${index}`))
          const seen: string[] = []
          for (let after = "", more = true; more; ) {
            const page = list(input, `limit=${limit}&order=${order}${after}`)
            expect(page.data.length).toBeLessThanOrEqual(limit)
            expect([page.first_id, page.last_id]).toEqual([page.data[0]?.id ?? null, page.data.at(-1)?.id ?? null])
            seen.push(...page.data.map(({ id }) => id))
            after = `&after=${page.last_id}`
            more = page.has_more
          }
          const ids = input.map((_, index) => `msg_abc_${index}`)
          expect(seen).toEqual(order === "asc" ? ids : ids.reverse())
        },
      ),
    )
  })

  test("an invalid query of the list is refused", () => {
    for (const [query, param] of [
      ["limit=0", "limit"],
      ["limit=101", "limit"],
      ["limit=x", "limit"],
      ["order=up", "order"],
      ["after=nobody", "after"],
    ] as const) {
      try {
        list("hi", query)
        throw new Error("it was not refused")
      } catch (thrown) {
        if (!(thrown instanceof GatewayError)) throw thrown
        expect([thrown.code, thrown.param]).toEqual(["invalid_parameter", param])
      }
    }
  })
})
