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
  ["a failed connection", upstream(), "connect", true],
  ["a status 408", upstream(408), "timeout", true],
  ["a status 504", upstream(504), "timeout", true],
  ...[425, 500, 502, 503, 529].map((status): [string, GatewayError, FailureKind, boolean] => [
    `a status ${status}`,
    upstream(status),
    "server",
    true,
  ]),
  ["a rate limit", plain("upstream_rate_limited", "upstream"), "limited", true],
  ["a rejected credential", ours(401), "credential", true],
  ["a credential rejected with status 400", ours(400), "credential", true],
  ["an unknown model", ours(404), "not-found", true],
  ["a request beyond the context window", plain("context_length_exceeded", "caller"), "context", true],
  ["an internal error", plain("internal_error"), "gateway", true],
  ["an invalid parameter", plain("invalid_parameter"), "caller", false],
  ["a content refusal", plain("content_refused", "caller"), "refusal", false],
  ["a shutdown", plain("shutting_down"), "stopping", false],
]

describe("an error of an attempt", () => {
  test.each(cases)("%s has its failure kind and fallback rule", (_, error, kind, moves) => {
    expect(failureKind(error)).toBe(kind)
    expect(allowsFallback(kind)).toBe(moves)
  })
})
