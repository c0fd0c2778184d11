import { describe, expect, test } from "bun:test"
import fc from "fast-check"
import { CustomToolInput } from "./custom-tool-input.ts"

function read(pieces: readonly string[]): string {
  const input = new CustomToolInput()
  return pieces.map((piece) => input.push(piece)).join("") + input.finish()
}

function cutAt(text: string, places: readonly number[]): string[] {
  const cuts = [...new Set(places.map((place) => place % (text.length + 1)))].sort((a, b) => a - b)
  return [0, ...cuts].map((from, index) => text.slice(from, cuts[index] ?? text.length))
}

describe("the input of a custom tool", () => {
  test("the input of a custom tool is the text in the quotes, at any chunk boundary and with any escapes", () => {
    const written = (text: string, ascii: boolean): string => {
      const json = JSON.stringify(text)
      const escaped = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`
      return `{ "input" : ${ascii ? json.replace(/[^\x20-\x7e]/g, escaped) : json}\n}`
    }
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), fc.boolean(), fc.array(fc.nat(200)), (text, ascii, places) => {
        expect(read(cutAt(written(text, ascii), places))).toBe(text)
      }),
    )
  })

  test("the input of a custom tool is passed on as it arrives", () => {
    const input = new CustomToolInput()
    expect(['{"in', 'put":"ab', "c\\", 'n"d', '"}'].map((piece) => input.push(piece))).toEqual([
      "",
      "ab",
      "c",
      "\n",
      "",
    ])
  })

  test("the input of a custom tool never contains half of a surrogate pair", () => {
    const input = new CustomToolInput()
    expect(['{"input":"\\ud83d', "\\ude", '00!"}'].map((piece) => input.push(piece))).toEqual(["", "", "😀!"])
  })

  test.each([
    ["{}", "{}"],
    ["", ""],
    ['{"other": "x"}', '{"other": "x"}'],
    ['{"command": ["a"], "input": "x"}', "x"],
    [`*** Begin Patch\n${"x".repeat(100)}`, `*** Begin Patch\n${"x".repeat(100)}`],
    ['{"input":"cut off', "cut off"],
  ])("arguments in an unexpected form, %j, become the input %j", (args, input) => {
    expect(read([args])).toBe(input)
  })
})
