import { describe, expect, test } from "bun:test"
import { ERROR_CODES, type ErrorCode } from "../../../canonical/error-codes.ts"
import { type ErrorDetails, GatewayError } from "../../../canonical/gateway-error.ts"
import { decodeByteText } from "../../../transport/json/byte-text.ts"
import { decodeError, decodeErrorBody, encodeError, errorFrame } from "./errors.ts"

describe("decoding an upstream's error", () => {
  const read = (status: number, body: string | object, retryAfterMs?: number) =>
    decodeError({ status, retryAfterMs, body: typeof body === "string" ? body : JSON.stringify(body) })
  const google = (code: number, status: string, message = "x", details?: object[]) => ({
    error: { code, message, status, ...(details && { details }) },
  })
  const tooLong = "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."
  const badKey = "API key not valid. Please pass a valid API key."
  const abroad = "User location is not supported for the API use."

  const cases: [string, GatewayError, string, string][] = [
    ["about a parameter", read(400, google(400, "INVALID_ARGUMENT", "Bad topK")), "invalid_parameter", "caller"],
    [
      "about the context window",
      read(400, google(400, "INVALID_ARGUMENT", tooLong)),
      "context_length_exceeded",
      "caller",
    ],
    [
      "about the gateway's key, with status 400",
      read(400, google(400, "INVALID_ARGUMENT", badKey)),
      "upstream_unavailable",
      "gateway",
    ],
    [
      "about the gateway's account",
      read(400, google(400, "FAILED_PRECONDITION", abroad)),
      "upstream_unavailable",
      "gateway",
    ],
    ["about the gateway's permissions", read(403, google(403, "PERMISSION_DENIED")), "upstream_unavailable", "gateway"],
    ["about an unknown model", read(404, google(404, "NOT_FOUND")), "upstream_unavailable", "gateway"],
    ["in an array", read(404, [google(404, "NOT_FOUND")]), "upstream_unavailable", "gateway"],
    ["in an array, about a parameter", read(400, [google(400, "INVALID_ARGUMENT")]), "invalid_parameter", "caller"],
    ["about a rate limit", read(429, google(429, "RESOURCE_EXHAUSTED")), "upstream_rate_limited", "upstream"],
    ["of the provider itself", read(503, google(503, "UNAVAILABLE")), "upstream_unavailable", "upstream"],
    ["that is not JSON", read(502, "<html>oops</html>"), "upstream_unavailable", "upstream"],
    ["that is empty", read(400, "[]"), "invalid_parameter", "caller"],
    ["that is plain text", read(400, { error: "no" }), "invalid_parameter", "caller"],
    ["with status 200", read(502, google(429, "RESOURCE_EXHAUSTED")), "upstream_rate_limited", "upstream"],
  ]
  test.each(cases)("an error %s is decoded", (_, error, code, owner) => {
    expect<string[]>([error.code, error.owner]).toEqual([code, owner])
  })

  test("an upstream's message is kept only if the caller is at fault", () => {
    expect(read(400, google(400, "INVALID_ARGUMENT", "Bad topK")).message).toBe("Bad topK")
    expect(read(400, google(400, "FAILED_PRECONDITION", "project 42 pays nothing")).message).not.toContain("42")
    expect(read(503, google(503, "UNAVAILABLE", "host 10.0.0.1 is down")).message).not.toContain("10.0.0.1")
  })

  test("the retry delay is read from the error's details if there is no header", () => {
    const details = [
      { "@type": "QuotaFailure", violations: [] },
      { "@type": "RetryInfo", retryDelay: "34.4s" },
    ]
    const body = google(429, "RESOURCE_EXHAUSTED", "x", details)
    expect(read(429, body).retryAfterMs).toBe(34_400)
    expect(read(429, body, 2000).retryAfterMs).toBe(2000)
    for (const retryDelay of ["soon", "-1s", 5, ""]) {
      expect(read(429, google(429, "RESOURCE_EXHAUSTED", "x", [{ retryDelay }])).retryAfterMs).toBeUndefined()
    }
  })

  test("an error inside a stream has its status in its code or its status word", () => {
    const codeOf = (error: object) => decodeErrorBody({ error } as never).code
    expect(codeOf({ code: 503, message: "busy", status: "UNAVAILABLE" })).toBe("upstream_unavailable")
    expect(codeOf({ code: 400, message: "bad", status: "INVALID_ARGUMENT" })).toBe("invalid_parameter")
    expect(codeOf({ status: "INVALID_ARGUMENT", message: "bad" })).toBe("invalid_parameter")
    expect(codeOf({ status: "RESOURCE_EXHAUSTED" })).toBe("upstream_rate_limited")
    expect(decodeErrorBody([{ error: { code: 400 } }]).code).toBe("invalid_parameter")
  })
})

test("an error body without any known member still decodes to an error", () => {
  for (const odd of [{ toString: 1 }, [], null, true, Number.POSITIVE_INFINITY, { constructor: null }]) {
    const error = { code: odd, status: odd, message: odd, details: odd }
    expect(decodeErrorBody({ error } as never)).toBeInstanceOf(GatewayError)
    expect(decodeError({ status: 500, body: JSON.stringify({ error }) })).toBeInstanceOf(GatewayError)
  }
})

describe("encoding a gateway error", () => {
  const make = (code: ErrorCode, details?: ErrorDetails) => new GatewayError(code, "Bad «n».", details)

  test("a gateway error has the specification's shape, all strings, and the status word that Google's clients know", () => {
    expect(encodeError(make("invalid_api_key"))).toEqual({
      error: {
        code: "invalid_api_key",
        message: "Bad «n».",
        type: "authentication_error",
        status: "UNAUTHENTICATED",
      },
    })
  })

  test("a gateway error lists the attempts", () => {
    const attempts = [{ model: "a/b", provider: "p", status: 500, reason: "upstream_unavailable" }]
    expect(encodeError(make("upstream_unavailable", { attempts }))).toMatchObject({ error: { attempts } })
  })

  const words: Record<number, string> = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    405: "INVALID_ARGUMENT",
    409: "ABORTED",
    413: "INVALID_ARGUMENT",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
  }
  test.each(Object.keys(ERROR_CODES) as ErrorCode[])("%s has its status word", (code) => {
    const error = make(code)
    expect(encodeError(error)).toMatchObject({ error: { status: words[error.status] ?? "none" } })
  })

  test("an error inside a stream is one bare line, with the HTTP status as its code and the gateway's code in the details", () => {
    const frame = errorFrame(make("upstream_unavailable"))
    expect(frame).not.toContain("\n")
    expect(frame.startsWith('{"error":{"code":503,')).toBe(true)
    expect(JSON.parse(decodeByteText(frame))).toMatchObject({
      error: { code: 503, message: "Bad «n».", status: "UNAVAILABLE", details: [{ reason: "upstream_unavailable" }] },
    })
  })
})
