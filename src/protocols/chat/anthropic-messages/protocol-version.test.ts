import { expect, test } from "bun:test"
import { GatewayError } from "../../../canonical/gateway-error.ts"
import type { RequestEnvelope } from "../../contract.ts"
import { readVersion } from "./protocol-version.ts"

function read(headers: RequestEnvelope["headers"]): string {
  try {
    return readVersion({ does: "generate", rest: "", query: "", headers })
  } catch (error) {
    return error instanceof GatewayError ? error.code : String(error)
  }
}

test("either header is accepted, and any date from 2023 on selects the newest version known by then", () => {
  expect(read({ "msg-version": "2023-06-01" })).toBe("2023-06-01")
  expect(read({ "anthropic-version": "2023-01-01" })).toBe("2023-01-01")
  expect(read({ "msg-version": "2025-01-31" })).toBe("2023-06-01")
  expect(read({ "anthropic-version": "2026-10-21" })).toBe("2026-10-21")
  expect(read({ "anthropic-version": "2031-12-31" })).toBe("2026-10-21")
})

test("a missing version, or one that is not a date, is refused", () => {
  const wrong = [
    "",
    "latest",
    "2022-12-31",
    "2023-13-01",
    "2023-02-30",
    "2023-6-1",
    "2023-06-01, 2023-06-01",
    "20230601",
  ]
  expect(read({})).toBe("invalid_version")
  for (const version of wrong) expect([version, read({ "msg-version": version })]).toEqual([version, "invalid_version"])
})
