import { expect, test } from "bun:test"
import fc from "fast-check"
import { parseTraceParent } from "../../src/telemetry/trace-context.ts"

const traceId = "4bf92f3577b34da6a3ce929d0e0e4736"
const spanId = "00f067aa0ba902b7"

test("a traceparent names the trace, the parent span and the sampling flag", () => {
  expect(parseTraceParent(`00-${traceId}-${spanId}-01`)).toEqual({ traceId, spanId, sampled: true })
  expect(parseTraceParent(`00-${traceId}-${spanId}-00`)).toEqual({ traceId, spanId, sampled: false })
  expect(parseTraceParent(`00-${traceId}-${spanId}-03`)?.sampled).toBe(true)
  expect(parseTraceParent(`00-${traceId}-${spanId}-fe`)?.sampled).toBe(false)
})

test("a later version may have additional fields", () => {
  expect(parseTraceParent(`cc-${traceId}-${spanId}-01-what-the-future-holds`)).toEqual({
    traceId,
    spanId,
    sampled: true,
  })
  expect(parseTraceParent(`cc-${traceId}-${spanId}-01`)).toEqual({ traceId, spanId, sampled: true })
})

test.each([
  "",
  `00-${traceId}-${spanId}`,
  `00-${traceId}-${spanId}-01-more`,
  `00-${traceId}-${spanId}-01, 00-${traceId}-${spanId}-01`,
  `ff-${traceId}-${spanId}-01`,
  `00-${"0".repeat(32)}-${spanId}-01`,
  `00-${traceId}-${"0".repeat(16)}-01`,
  `00-${traceId.toUpperCase()}-${spanId}-01`,
  `00-${traceId}-${spanId}-1`,
  `cc-${traceId}-${spanId}-01more`,
])("the traceparent %p is malformed", (header) => {
  expect(parseTraceParent(header)).toBeUndefined()
})

test("any accepted traceparent is hexadecimal and of the right length", () => {
  const near = fc.stringMatching(/^[0-9a-fA-Fg]{2}-[0-9a-f]{31,33}-[0-9a-f]{15,17}-[0-9a-f]{1,3}(-.*)?$/)
  fc.assert(
    fc.property(fc.oneof(fc.string({ unit: "binary" }), near), (header) => {
      const parent = parseTraceParent(header)
      if (!parent) return
      expect(parent.traceId).toMatch(/^[0-9a-f]{32}$/)
      expect(parent.spanId).toMatch(/^[0-9a-f]{16}$/)
      expect(header).toContain(`-${parent.traceId}-${parent.spanId}-`)
    }),
    { numRuns: 2000 },
  )
})
