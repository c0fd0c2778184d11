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
  test("a log line does not show a secret, should one get into a field", () => {
    const smuggled = { reason: new Secret("sk-canary") as unknown as string }
    expect(logged(smuggled)).toContain("[secret]")
    expect(logged(smuggled)).not.toContain("sk-canary")
  })

  test("a log line is one line, whatever its fields hold", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (reason) => {
        const text = logged({ reason })
        expect(text.indexOf("\n")).toBe(text.length - 1)
        expect(JSON.parse(text).reason).toBe(reason.toWellFormed())
      }),
    )
  })

  test("a log line tells of an error its code and whose it is, and nothing of what it says or what caused it", () => {
    const cause = new Error("sk-canary in a cause", { cause: new Error("sk-canary below") })
    const progress = new ExchangeProgress({ requestId: "id", route: "POST /v1/chat/completions" })
    const error = new GatewayError("internal_error", "sk-canary in a message", { cause, param: "sk-canary" })
    const text = logged(recordFields(toExchangeRecord(progress, failedEnd(error, 500))))
    expect(text).toContain('"error_code":"internal_error"')
    expect(text).not.toContain("sk-canary")
  })
})

describe("the stack of a fault", () => {
  test("the stack of a fault has its name and places, without its message", () => {
    const stack = stackOf(new TypeError("sk-canary")) ?? ""
    expect(stack).toStartWith("TypeError\n")
    expect(stack).toContain("log.test.ts:")
    expect(stack).not.toContain("sk-canary")
  })

  test.each([
    "first\n    at sk-canary (/file.ts:1:2)",
    "\n    at sk-canary:1:2",
    "at sk-canary (x:1:2)\n    at sk-canary (y:3:4)",
  ])("the stack of a fault does not take a message that looks like places for them: %p", (message) => {
    const stack = stackOf(new Error(message)) ?? ""
    expect(stack).not.toContain("sk-canary")
    expect(stack).toContain("log.test.ts:")
  })

  test("the stack of a fault has no invented error name", () => {
    const error = new Error("x")
    error.name = "sk-canary\n    at sk-canary (/file.ts:1:2)"
    expect(stackOf(error)).not.toContain("sk-canary")
  })

  test("the stack of a fault holds nothing of a message, whatever that is", () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom("\n", " ", "at", "(", ")", ":1:2", "/f.ts", "x") }), (text) => {
        const stack = stackOf(new Error(`${text}\n    at sk-canary${text} (/f.ts:1:2)\n${text}`)) ?? ""
        expect(stack).not.toContain("sk-canary")
      }),
    )
  })

  test("the stack of a fault is not there for what is no error, or is one the caller is told", () => {
    expect(stackOf("sk-canary")).toBeUndefined()
    expect(stackOf({ stack: "sk-canary" })).toBeUndefined()
    expect(stackOf(new GatewayError("invalid_json", "x"))).toBeUndefined()
  })
})
