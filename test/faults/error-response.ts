// An error response as a caller receives it, and the assertions that every upstream failure shares.
import { expect } from "bun:test"

/** Texts of the scripted upstreams that no caller and no log may repeat. */
export const CANARY = "words-of-the-upstream"
export const CREDENTIAL = "upstream-credential"

export interface ReportedError {
  readonly code: string
  readonly message: string
  readonly type: string
  readonly attempts?: { status?: number; reason: string }[]
}

export interface ErrorResponse {
  readonly status: number
  readonly error: ReportedError
  readonly text: string
  readonly headers: Headers
}

export async function readErrorResponse(response: Response): Promise<ErrorResponse> {
  const text = await response.text()
  const { error } = JSON.parse(text) as { error: ReportedError }
  return { status: response.status, error, text, headers: response.headers }
}

/** 503 with every attempt, none of the upstream's text, and a hint not to retry at once. */
export function expectUnavailable({ status, error, text, headers }: ErrorResponse, upstreamStatus?: number): void {
  expect({ status, code: error.code, type: error.type }).toEqual({
    status: 503,
    code: "upstream_unavailable",
    type: "service_unavailable_error",
  })
  expect(error.attempts?.length).toBeGreaterThan(0)
  for (const { status: seen } of error.attempts ?? []) expect(seen).toBe(upstreamStatus as number)
  expect(headers.get("x-should-retry")).toBe("false")
  expect(headers.get("x-request-id")).toBeTruthy()
  expect(text).not.toContain(CANARY)
}
