import { describe, expect, test } from "bun:test"
import fc from "fast-check"
import { describeJsonFault, findJsonFault } from "./json-fault.ts"

function parses(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

describe("the position of a JSON fault", () => {
  test("a fault has a position exactly if the text is not JSON", () => {
    const soup = fc.string({ unit: fc.constantFrom(...'{}[]:,"\\tru1-.e 0\nnulé'), maxLength: 12 })
    fc.assert(
      fc.property(soup, (text) => {
        expect([text, findJsonFault(text) === undefined]).toEqual([text, parses(text)])
      }),
      { numRuns: 5000 },
    )
  })

  test("the text before the position of a fault is a valid JSON prefix", () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.nat(), (value, seed) => {
        const text = JSON.stringify(value, null, 2)
        expect(findJsonFault(text)).toBeUndefined()
        const cut = text.slice(0, seed % text.length)
        if (parses(cut)) return
        const fault = findJsonFault(cut)
        const lines = cut.split("\n")
        // The fault of a truncated text is at its end, except inside a literal or number.
        expect(fault?.line).toBe(lines.length)
      }),
    )
  })

  test.each([
    ['{\n  "model": "x",\n  messages: []\n}', 3, 3],
    ['{"a": 1,}', 1, 9],
    ["{'a': 1}", 1, 2],
    ['{"a": "b\n"}', 1, 9],
    ['{"a": 01}', 1, 8],
    ['{"a": "\\x"}', 1, 8],
    ["[1, 2", 1, 6],
    ["", 1, 1],
    ["{} {}", 1, 4],
    ['{"é": tru}', 1, 7],
  ])("the fault in %j is at line %d, column %d", (text, line, column) => {
    expect(findJsonFault(text)).toEqual({ line, column })
  })

  test("a fault is found in a text nested deeper than the call stack allows", () => {
    expect(findJsonFault("[".repeat(1_000_000))).toEqual({ line: 1, column: 1_000_001 })
  })
})

test("the message contains the fault and its position", () => {
  const text = '{\n  "a": 1,\n  b: 2\n}'
  try {
    JSON.parse(text)
  } catch (cause) {
    expect(describeJsonFault(text, cause)).toBe("Property name must be a string literal (line 3, column 3)")
  }
})
