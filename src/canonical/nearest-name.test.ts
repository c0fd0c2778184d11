import { describe, expect, test } from "bun:test"
import fc from "fast-check"
import { editDistance, nearestName, quoteName, suggestKnownName } from "./nearest-name.ts"

const providers = ["openai", "anthropic", "gemini", "groq", "mistral", "openai-compatible"]

describe("the nearest name", () => {
  test.each([
    ["opena", "openai"],
    ["OpenAI", "openai"],
    ["antropic", "anthropic"],
    ["gemnii", "gemini"],
    ["openai_compatible", "openai-compatible"],
    ["gorq", "groq"],
  ])("the nearest name to %p is %p", (written, meant) => {
    expect(nearestName(written, providers)).toBe(meant)
  })

  test("there is no nearest name when none is near", () => {
    expect(nearestName("zzz", providers)).toBeUndefined()
    expect(nearestName("a", ["b"])).toBeUndefined()
    expect(nearestName("", providers)).toBeUndefined()
    expect(nearestName("anything", [])).toBeUndefined()
  })

  test("the nearest name to a known name is that name", () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.stringMatching(/^[a-z_]{2,12}$/), { minLength: 1 }), fc.nat(), (known, index) => {
        const name = known[index % known.length] as string
        expect(nearestName(name, known)).toBe(name)
      }),
    )
  })

  test("a known name of five or more letters is found with one letter missing", () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[a-z_]{5,12}$/), fc.nat(), (name, index) => {
        const cut = index % name.length
        expect(nearestName(name.slice(0, cut) + name.slice(cut + 1), [name])).toBe(name)
      }),
    )
  })

  test("a name of a megabyte is searched quickly", () => {
    const before = process.cpuUsage()
    expect(nearestName("x".repeat(1_000_000), providers)).toBeUndefined()
    expect(process.cpuUsage(before).user).toBeLessThan(1_000_000)
  })
})

describe("the edit distance", () => {
  test.each([
    ["", "", 0],
    ["", "abc", 3],
    ["abc", "abd", 1],
    ["abcd", "acbd", 1],
    ["kitten", "sitting", 3],
  ])("the edit distance between %p and %p is %p", (one, other, distance) => {
    expect(editDistance(one, other)).toBe(distance)
  })

  test("the edit distance is symmetric, zero only for equal texts, and at most the longer length", () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 12 }), fc.string({ maxLength: 12 }), (one, other) => {
        const distance = editDistance(one, other)
        expect(distance).toBe(editDistance(other, one))
        expect(distance === 0).toBe(one === other)
        expect(distance).toBeLessThanOrEqual(Math.max(one.length, other.length))
      }),
    )
  })
})

test("a suggestion contains the nearest name, or else all known names", () => {
  expect(suggestKnownName("prot", ["host", "port"])).toBe('did you mean "port"?')
  expect(suggestKnownName("colour", ["host", "port"])).toBe("known: host, port")
})

test("a quoted name is shortened and stays on one line", () => {
  expect(quoteName('a\n"b')).toBe('"a\\n\\"b"')
  expect(quoteName("x".repeat(1000)).length).toBeLessThan(100)
})
