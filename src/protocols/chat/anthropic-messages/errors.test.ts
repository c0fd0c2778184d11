import { expect, test } from "bun:test"
import { GatewayError } from "../../../canonical/gateway-error.ts"
import { decodeError, encodeError } from "./errors.ts"

test("a gateway error has the specification's shape and the members that the vendor's clients need", () => {
  const error = new GatewayError("invalid_parameter", "`top_k` must be a whole number.", { param: "top_k" })
  expect(encodeError(error, { requestId: "r1" })).toEqual({
    type: "error",
    error: {
      code: "invalid_parameter",
      message: "`top_k` must be a whole number.",
      type: "invalid_request_error",
      param: "top_k",
    },
    request_id: "r1",
  })
})

test("a prompt that is too long is reported in the wording that coding agents recognise", () => {
  const encodeTooLong = (message: string) =>
    (encodeError(new GatewayError("context_length_exceeded", message), { requestId: "" }) as { error: object }).error
  expect(encodeTooLong("prompt is too long: 5 tokens > 3 maximum")).toMatchObject({
    message: "prompt is too long: 5 tokens > 3 maximum",
  })
  expect(encodeTooLong("Too many tokens.")).toMatchObject({ message: "prompt is too long: Too many tokens." })
})

const upstream: [string, number, object, string, string][] = [
  ["a bad request", 400, { type: "invalid_request_error", message: "messages: x" }, "invalid_parameter", "caller"],
  [
    "a long prompt",
    400,
    { type: "invalid_request_error", message: "prompt is too long: 5 tokens > 3 maximum" },
    "context_length_exceeded",
    "caller",
  ],
  [
    "the gateway's key",
    401,
    { type: "authentication_error", message: "invalid x-api-key" },
    "upstream_unavailable",
    "gateway",
  ],
  ["the gateway's permissions", 403, { type: "permission_error", message: "no" }, "upstream_unavailable", "gateway"],
  ["an unknown model", 404, { type: "not_found_error", message: "model: x" }, "upstream_unavailable", "gateway"],
  ["a rate limit", 429, { type: "rate_limit_error", message: "slow down" }, "upstream_rate_limited", "upstream"],
  ["an internal fault", 500, { type: "api_error", message: "oops" }, "upstream_unavailable", "upstream"],
  ["an overload", 529, { type: "overloaded_error", message: "Overloaded" }, "upstream_unavailable", "upstream"],
]
for (const [name, status, error, code, owner] of upstream) {
  test(`an upstream's error about ${name} is decoded`, () => {
    const body = JSON.stringify({ type: "error", error, request_id: "req_1" })
    expect(decodeError({ status, body })).toMatchObject({ code, owner })
  })
}

test("an HTML page instead of an error body still decodes to an error", () => {
  expect(decodeError({ status: 502, body: "<html>" })).toMatchObject({
    code: "upstream_unavailable",
    owner: "upstream",
  })
})
