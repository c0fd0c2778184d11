import { describe, expect, test } from "bun:test"
import type { ErrorCode } from "../canonical/error-codes.ts"
import { GatewayError } from "../canonical/gateway-error.ts"
import { allowsFallback, type FailureKind, failureKind } from "./failure-kind.ts"

const upstream = (upstreamStatus?: number) =>
  new GatewayError("upstream_unavailable", "", { owner: "upstream", upstreamStatus })
const ours = (upstreamStatus: number) =>
  new GatewayError("upstream_unavailable", "", { owner: "gateway", upstreamStatus })
const plain = (code: ErrorCode, owner?: "caller" | "upstream") => new GatewayError(code, "", { owner })

const cases: [string, GatewayError, FailureKind, boolean][] = [
  ["a connection that fails", upstream(), "connect", true],
  ["a status 408", upstream(408), "timeout", true],
  ["a status 504", upstream(504), "timeout", true],
  ...[425, 500, 502, 503, 529].map((status): [string, GatewayError, FailureKind, boolean] => [
    `a status ${status}`,
    upstream(status),
    "server",
    true,
  ]),
  ["a limit", plain("upstream_rate_limited", "upstream"), "limited", true],
  ["a credential refused", ours(401), "credential", true],
  ["a credential refused with status 400", ours(400), "credential", true],
  ["a model not found", ours(404), "not-found", true],
  ["a window too small", plain("context_length_exceeded", "caller"), "context", true],
  ["a fault of ours", plain("internal_error"), "gateway", true],
  ["a parameter of the caller's", plain("invalid_parameter"), "caller", false],
  ["a refusal of contents", plain("content_refused", "caller"), "refusal", false],
  ["the gateway's end", plain("shutting_down"), "stopping", false],
]

describe("an error of an attempt", () => {
  test.each(cases)("%s", (_, error, kind, moves) => {
    expect(failureKind(error)).toBe(kind)
    expect(allowsFallback(kind)).toBe(moves)
  })
})
