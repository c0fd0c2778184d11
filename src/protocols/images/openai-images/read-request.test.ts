import { expect, test } from "bun:test"
import { GatewayError } from "../../../canonical/gateway-error.ts"
import type { JsonObject } from "../../../canonical/json.ts"
import { outlineJson } from "../../../transport/json/json-scan.ts"
import { readRequest } from "./read-request.ts"
import { relayAnswer } from "./relay-response.ts"

function refusal(body: object): string {
  try {
    readRequest({ model: "a/b", prompt: "a cat", ...body } as JsonObject)
    return "accepted"
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error
    return `${error.code} ${error.param}`
  }
}

test("each member has bounds", () => {
  const cases: [object, string][] = [
    [{ n: 2, size: "1024x1024", quality: "high", response_format: "b64_json", background: "transparent" }, "accepted"],
    [{ prompt: undefined }, "missing_parameter prompt"],
    [{ prompt: "" }, "invalid_parameter prompt"],
    [{ model: undefined }, "accepted"],
    [{ model: "" }, "invalid_parameter model"],
    [{ n: 0 }, "invalid_parameter n"],
    [{ size: 5 }, "invalid_parameter size"],
    [{ quality: [] }, "invalid_parameter quality"],
    [{ response_format: "png" }, "invalid_parameter response_format"],
    [{ output_format: "webp", output_compression: 50, user: "u", odd: 1 }, "accepted"],
    [{ output_compression: 101 }, "invalid_parameter output_compression"],
    [{ output_format: 1 }, "invalid_parameter output_format"],
    [{ background: true }, "invalid_parameter background"],
    [{ user: 5 }, "invalid_parameter user"],
    [{ stream: true }, "unsupported_parameter stream"],
  ]
  for (const [body, expected] of cases) expect([body, refusal(body)]).toEqual([body, expected])
})

test("images are relayed unchanged, and their usage is split", () => {
  const usage = '{"input_tokens":20,"input_tokens_details":{"text_tokens":12,"image_tokens":8},"output_tokens":100}'
  const text = `{"created":1,"data":[{"b64_json":"AA=="}],"usage":${usage}}`
  const outlined = outlineJson(text)
  if (!outlined) throw new Error("it is an object")
  expect(relayAnswer(text, outlined)).toEqual({
    text,
    images: 1,
    usage: { input: 12, imageInput: 8, imageOutput: 100 },
  })
  expect(relayAnswer("{}", { open: 1, members: [] })).toBeUndefined()
})
