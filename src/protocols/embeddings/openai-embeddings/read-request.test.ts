import { describe, expect, test } from "bun:test"
import { GatewayError } from "../../../canonical/gateway-error.ts"
import type { JsonObject } from "../../../canonical/json.ts"
import { outlineJson } from "../../../transport/json/json-scan.ts"
import { readRequest } from "./read-request.ts"
import { relayAnswer } from "./relay-response.ts"

function refusal(body: object): string {
  try {
    readRequest({ model: "a/b", ...body } as JsonObject)
    return "accepted"
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error
    return `${error.code} ${error.param}`
  }
}

describe("input", () => {
  test("the input may be text, texts, tokens or lists of tokens", () => {
    for (const input of ["x", ["x", "y"], [1, 2], [[1], [2, 3]]]) expect(refusal({ input })).toBe("accepted")
  })

  test("other inputs and empty ones are refused", () => {
    for (const input of ["", [], [""], [[]], 5, {}, ["x", 1], [1.5], [-1], [[1], "x"], [null]]) {
      expect([input, refusal({ input })]).toEqual([input, "invalid_parameter input"])
    }
    expect(refusal({})).toBe("missing_parameter input")
  })
})

test("the other members have bounds", () => {
  const more: [object, string][] = [
    [{ dimensions: 256, encoding_format: "base64", user: "u" }, "accepted"],
    [{ dimensions: 0 }, "invalid_parameter dimensions"],
    [{ encoding_format: "hex" }, "invalid_parameter encoding_format"],
    [{ user: 1 }, "invalid_parameter user"],
    [{ provider: { fallback: ["c/d"] } }, "accepted"],
  ]
  for (const [body, expected] of more) expect(refusal({ input: "x", ...body })).toBe(expected)
})

test("the relay replaces the model's name, and all usage is input", () => {
  const text =
    '{"object":"list","data":[{"embedding":[0.10, -2e-3]}],"model":"up","usage":{"prompt_tokens":8,"total_tokens":8}}'
  const outlined = outlineJson(text)
  if (!outlined) throw new Error("it is an object")
  const context = { model: "a/b", reading: readRequest({ model: "a/b", input: "x" }) }
  expect(relayAnswer(text, outlined, context)).toEqual({ text: text.replace('"up"', '"a/b"'), usage: { input: 8 } })
})

describe("vectors in another encoding than requested", () => {
  const passed = (embedding: string, encoding_format: string) => {
    const text = `{"data":[{"object":"embedding","index":0,"embedding":${embedding},"odd":"é"}],"model":"up"}`
    const outlined = outlineJson(text)
    if (!outlined) throw new Error("it is an object")
    const context = { model: "a/b", reading: readRequest({ model: "a/b", input: "x", encoding_format }) }
    const { data } = JSON.parse(relayAnswer(text, outlined, context)?.text ?? "{}")
    return data
  }

  test("vectors in another encoding than requested are converted", () => {
    const item = { object: "embedding", index: 0, odd: "é" }
    expect(passed("[1,-2]", "base64")).toEqual([{ ...item, embedding: "AACAPwAAAMA=" }])
    expect(passed('"AACAPwAAAMA="', "float")).toEqual([{ ...item, embedding: [1, -2] }])
    expect(passed('"AACAPwAAAMA="', "base64")).toEqual([{ ...item, embedding: "AACAPwAAAMA=" }])
  })

  test("an embedding that is no vector is relayed unchanged", () => {
    expect(passed('"???"', "float")).toMatchObject([{ embedding: "???" }])
  })
})
