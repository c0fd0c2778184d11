import { describe, expect, test } from "bun:test"
import { toGatewayError, type UpstreamErrorText } from "./upstream-errors.ts"

const ANTHROPIC =
  "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits."

describe("a gateway account without credit", () => {
  test.each<[number, UpstreamErrorText]>([
    [400, { type: "invalid_request_error", message: ANTHROPIC }],
    [
      400,
      {
        type: "invalid_request_error",
        message: "You have reached your specified API usage limits. You will regain access on …",
      },
    ],
    [429, { type: "insufficient_quota", code: "insufficient_quota", message: "You exceeded your current quota." }],
    [429, { code: "billing_hard_limit_reached", message: "Billing hard limit has been reached." }],
    [402, { message: "Insufficient Balance" }],
    [402, { type: "billing_error" }],
    [403, { code: "insufficient_credits" }],
  ])(
    "an error with status %p about exhausted credit is the gateway's, not the caller's: %p",
    (status, upstreamError) => {
      const error = toGatewayError(upstreamError, { status })
      expect(error).toMatchObject({ code: "upstream_unavailable", owner: "gateway", upstreamStatus: status })
      expect(error.message).not.toContain("Billing")
    },
  )

  test("a caller cannot make the gateway's account look out of credit", () => {
    const upstreamError = { type: "invalid_request_error", message: `Unknown tool "${ANTHROPIC}".` }
    expect(toGatewayError(upstreamError, { status: 400 })).toMatchObject({ code: "invalid_parameter", owner: "caller" })
  })

  test("a rate limit that links to a billing page is not a lack of credit", () => {
    const upstreamError = {
      message: "Rate limit reached. Visit https://console.example.com/settings/billing to upgrade.",
    }
    expect(toGatewayError(upstreamError, { status: 429 })).toMatchObject({
      code: "upstream_rate_limited",
      owner: "upstream",
    })
  })
})
