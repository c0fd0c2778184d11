import { describe, expect, test } from "bun:test"
import fc from "fast-check"
import { GatewayError } from "../../src/canonical/gateway-error.ts"
import { Secret } from "../../src/config/secret.ts"
import { ExchangeProgress } from "../../src/exchange/record/exchange-progress.ts"
import { failedEnd, recordFields, stackOf, toExchangeRecord } from "../../src/exchange/record/exchange-record.ts"
import { Log, type LogFields } from "../../src/telemetry/log.ts"

function logged(fields: LogFields): string {
  let text = ""
  const log = new Log({ write: (lines) => (text += lines) })
  log.line("info", "test", fields)
  log.flush()
  return text
}

describe("a log line", () => {
  test("a log line does not contain a secret, even if one gets into a field", () => {
    const smuggled = { reason: new Secret("sk-canary") as unknown as string }
    expect(logged(smuggled)).toContain("[secret]")
    expect(logged(smuggled)).not.toContain("sk-canary")
  })

  test("a log line is one line, whatever its fields contain", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (reason) => {
        const text = logged({ reason })
        expect(text.indexOf("\n")).toBe(text.length - 1)
        expect(JSON.parse(text).reason).toBe(reason.toWellFormed())
      }),
    )
  })

  test("a log line has the code and owner of an error, and neither its message nor its cause", () => {
    const cause = new Error("sk-canary in a cause", { cause: new Error("sk-canary below") })
    const progress = new ExchangeProgress({ requestId: "id", route: "POST /v1/chat/completions" })
    const error = new GatewayError("internal_error", "sk-canary in a message", { cause, param: "sk-canary" })
    const text = logged(recordFields(toExchangeRecord(progress, failedEnd(error, 500))))
    expect(text).toContain('"error_code":"internal_error"')
    expect(text).not.toContain("sk-canary")
  })
})

describe("the stack of a fault", () => {
  test("the stack of a fault has its name and positions, without its message", () => {
    const stack = stackOf(new TypeError("sk-canary")) ?? ""
    expect(stack).toStartWith("TypeError\n")
    expect(stack).toContain("log.test.ts:")
    expect(stack).not.toContain("sk-canary")
  })

  test.each([
    "first\n    at sk-canary (/file.ts:1:2)",
    "\n    at sk-canary:1:2",
    "at sk-canary (x:1:2)\n    at sk-canary (y:3:4)",
  ])("the stack of a fault has no position from a message that resembles one: %p", (message) => {
    const stack = stackOf(new Error(message)) ?? ""
    expect(stack).not.toContain("sk-canary")
    expect(stack).toContain("log.test.ts:")
  })

  test("the stack of a fault has no invented error name", () => {
    const error = new Error("x")
    error.name = "sk-canary\n    at sk-canary (/file.ts:1:2)"
    expect(stackOf(error)).not.toContain("sk-canary")
  })

  test("the stack of a fault contains nothing of any message", () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom("\n", " ", "at", "(", ")", ":1:2", "/f.ts", "x") }), (text) => {
        const stack = stackOf(new Error(`${text}\n    at sk-canary${text} (/f.ts:1:2)\n${text}`)) ?? ""
        expect(stack).not.toContain("sk-canary")
      }),
    )
  })

  test("a stack is omitted for values that are no error, and for errors shown to the caller", () => {
    expect(stackOf("sk-canary")).toBeUndefined()
    expect(stackOf({ stack: "sk-canary" })).toBeUndefined()
    expect(stackOf(new GatewayError("invalid_json", "x"))).toBeUndefined()
  })
})
