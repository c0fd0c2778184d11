import { describe, expect, test } from "bun:test"
import { GatewayError } from "../../../canonical/gateway-error.ts"
import { decodeError, encodeError } from "../../openai/openai-errors.ts"
import { errorFrame } from "./errors.ts"

describe("decoding an upstream's error", () => {
  const read = (status: number, body: string | object, retryAfterMs?: number) =>
    decodeError({ status, retryAfterMs, body: typeof body === "string" ? body : JSON.stringify(body) })

  const cases: [string, GatewayError, string, string][] = [
    [
      "about a parameter",
      read(400, { error: { message: "Bad n", param: "n", code: null } }),
      "invalid_parameter",
      "caller",
    ],
    [
      "about the context window",
      read(400, { error: { code: "context_length_exceeded", message: "x" } }),
      "context_length_exceeded",
      "caller",
    ],
    [
      "about the context window, in its message",
      read(400, { message: "This model's maximum context length is 8192 tokens" }),
      "context_length_exceeded",
      "caller",
    ],
    ["about content", read(400, { error: { code: "content_filter", message: "x" } }), "content_refused", "caller"],
    ["with status 422", read(422, { detail: "field required" }), "invalid_parameter", "caller"],
    [
      "about the gateway's credential",
      read(401, { error: { message: "Incorrect API key sk-123" } }),
      "upstream_unavailable",
      "gateway",
    ],
    [
      "about the gateway's credential, with status 400",
      read(400, { error: "Incorrect API key provided: sk-1" }),
      "upstream_unavailable",
      "gateway",
    ],
    ["about the gateway's payment", read(402, ""), "upstream_unavailable", "gateway"],
    ["about an unknown model", read(404, { error: { code: "model_not_found" } }), "upstream_unavailable", "gateway"],
    ["about a rate limit", read(429, { error: { message: "slow" } }, 2000), "upstream_rate_limited", "upstream"],
    ["of the provider itself", read(500, "<html>oops</html>"), "upstream_unavailable", "upstream"],
    ["without a body", read(400, ""), "invalid_parameter", "caller"],
  ]
  test.each(cases)("an error %s is decoded", (_, error, code, owner) => {
    expect([error.code, error.owner]).toEqual([code, owner] as never)
  })

  test("an upstream's message and parameter are kept if the caller is at fault", () => {
    const error = read(400, { error: { message: "Bad n", param: "n" } })
    expect([error.message, error.param]).toEqual(["Bad n", "n"])
  })

  test("an upstream's message is hidden if the caller is not at fault", () => {
    expect(read(401, { error: { message: "Incorrect API key sk-123" } }).message).not.toContain("sk-123")
    expect(read(500, { error: { message: "db at 10.0.0.1 down" } }).message).not.toContain("10.0.0.1")
  })

  test("the retry delay of an upstream's error is kept", () => {
    expect(read(429, "", 2000).retryAfterMs).toBe(2000)
  })
})

describe("encoding a gateway error", () => {
  const error = new GatewayError("invalid_parameter", "Bad «n».", { param: "n" })

  test("a gateway error has the specification's shape", () => {
    expect(encodeError(error)).toEqual({
      error: { code: "invalid_parameter", message: "Bad «n».", type: "invalid_request_error", param: "n" },
    })
  })

  test("an error inside a stream is one event, without the terminal one", () => {
    const text = Buffer.from(errorFrame(error), "latin1").toString()
    expect(text).toBe(`data: ${JSON.stringify(encodeError(error))}\n\n`)
  })
})
