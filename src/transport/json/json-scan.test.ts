import { describe, expect, test } from "bun:test"
import fc from "fast-check"
import { duplicateMember, findMember, type JsonLimits, outlineJson, outlineJsonInSlices } from "./json-scan.ts"

const limits = (limit: Partial<JsonLimits>): JsonLimits => ({
  maxDepth: Number.POSITIVE_INFINITY,
  maxValues: Number.POSITIVE_INFINITY,
  maxMembers: Number.POSITIVE_INFINITY,
  ...limit,
})

function memberText(text: string, name: string): string | undefined {
  const outlined = outlineJson(text)
  const member = outlined && findMember(outlined, name)
  return member && text.slice(member.valueStart, member.end)
}

describe("the outline", () => {
  test("the outline finds each member's value, without the white space around it", () => {
    const text = ' {\n "a" : 1.50 ,"b":\t{"a": [1, {"c": "}"}]} , "c":"x\\"y,}" , "d" : null } '
    expect(memberText(text, "a")).toBe("1.50")
    expect(memberText(text, "b")).toBe('{"a": [1, {"c": "}"}]}')
    expect(memberText(text, "c")).toBe('"x\\"y,}"')
    expect(memberText(text, "d")).toBe("null")
    expect(memberText(text, "e")).toBeUndefined()
  })

  test("the outline reads names as a parser does", () => {
    expect(memberText('{"mod\\u0065l": 1}', "model")).toBe("1")
    expect(memberText('{"a\\\\": 1, "b": 2}', "a\\")).toBe("1")
  })

  test("the outline agrees with the parser on every object", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.constantFrom(undefined, 1, "\t"), (object, space) => {
        const text = JSON.stringify(object, null, space)
        const members = outlineJson(text)?.members ?? []
        const read = members.map(({ name, valueStart, end }) => [name, JSON.parse(text.slice(valueStart, end))])
        expect(Object.fromEntries(read)).toEqual(JSON.parse(text))
      }),
    )
  })

  test.each(["", " ", "[]", "1", '"a"', "{", '{"a":1', '{"a":"', "}", "{}}", "{} x", '{"a":[}', "[{}]", "\\"])(
    "no outline exists for %p",
    (text) => {
      // `{"a":[}` closes in the wrong order; the parser detects that, so only its refusal counts.
      const refused = outlineJson(text) === undefined || !parses(text)
      expect(refused).toBe(true)
    },
  )

  test("the outline of any text is found or refused without an error or an endless loop", () => {
    fc.assert(fc.property(fc.string({ unit: fc.constantFrom(...'{}[]":,\\ab1 \n') }), (text) => void outlineJson(text)))
  })

  test("an outline exists for every text that parses as an object", () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...'{}[]":,1 ') }), (text) => {
        if (parses(text) && text.trim().startsWith("{")) expect(outlineJson(text)).toBeDefined()
      }),
      { numRuns: 2000 },
    )
  })

  test("the outline names a duplicate member", () => {
    expect(duplicateMember(outlineJson('{"a":1,"b":2,"\\u0061":3}') ?? { open: 0, members: [] })).toBe("a")
    expect(duplicateMember(outlineJson('{"a":{"a":1},"b":[{"b":1}]}') ?? { open: 0, members: [] })).toBeUndefined()
  })
})

describe("the limits", () => {
  test("depth counts brackets, not those inside strings", () => {
    expect(() => outlineJson(`{"a":${"[".repeat(5)}${"]".repeat(5)}}`, limits({ maxDepth: 5 }))).toThrow("maxDepth 5")
    expect(outlineJson(`{"a":${"[".repeat(4)}${"]".repeat(4)}}`, limits({ maxDepth: 5 }))).toBeDefined()
    expect(outlineJson(`{"a":"${"[".repeat(99)}"}`, limits({ maxDepth: 5 }))).toBeDefined()
  })

  test("a text nested 100,000 deep is refused after the first few", () => {
    expect(() => outlineJson("[".repeat(100_000), limits({ maxDepth: 128 }))).toThrow("maxDepth")
    expect(() => outlineJson('{"a":'.repeat(100_000), limits({ maxDepth: 128 }))).toThrow("maxDepth")
  })

  test("members of the outermost object are counted", () => {
    const members = Array.from({ length: 11 }, (_, n) => `"${n}":1`).join(",")
    expect(() => outlineJson(`{${members}}`, limits({ maxMembers: 10 }))).toThrow("maxMembers 10")
    expect(outlineJson(`{"a":{${members}}}`, limits({ maxMembers: 10 }))).toBeDefined()
  })

  test("the limit on the number of values is enforced", () => {
    expect(() => outlineJson(`{"a":[${"1,".repeat(100)}1]}`, limits({ maxValues: 50 }))).toThrow("maxValues 50")
  })
})

test("a scan in slices finds what a scan in one finds", async () => {
  await fc.assert(
    fc.asyncProperty(fc.dictionary(fc.string(), fc.jsonValue()), fc.integer({ min: 1, max: 50 }), async (object, n) => {
      const text = JSON.stringify(object)
      expect(await outlineJsonInSlices(text, { limits: limits({}), sliceLength: n })).toEqual(outlineJson(text))
    }),
    { numRuns: 50 },
  )
})

const long = "1".repeat(5000)
const gap = " ".repeat(5000)
test.each([`{"a":${long},"b":2}`, `{"a"${gap}:1,"b":2}`, `{"a":${gap}1${gap},"b":2}`, `{"a":[${long}],"b":${gap}"x"}`])(
  "numbers and white space of any length are scanned in slices: case %#",
  async (text) => {
    const found = outlineJson(text)
    expect(found?.members.map(({ name, valueStart, end }) => [name, JSON.parse(text.slice(valueStart, end))])).toEqual(
      Object.entries(JSON.parse(text)),
    )
    expect(await outlineJsonInSlices(text, { limits: limits({}), sliceLength: 100 })).toEqual(found)
  },
)

test.each(["1".repeat(3_000_000), `${" ".repeat(3_000_000)}1`, `[${"1,".repeat(500_000)}1]`])(
  "a scan in slices lets other tasks run: case %#",
  async (value) => {
    let turns = 0
    const timer = setInterval(() => turns++, 0)
    await outlineJsonInSlices(`{"a":${value}}`, { limits: limits({}), sliceLength: 10_000 })
    clearInterval(timer)
    expect(turns).toBeGreaterThan(2)
  },
)

function parses(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
