import { Database } from "bun:sqlite"
import { describe, expect, test } from "bun:test"
import fc from "fast-check"
import { addLines, afterLineKey, escapeName, lineKeyOf, paidOf, unescapeName } from "./run-lines.ts"
import { mergeSortedLines, sumEqualKeys } from "./sorted-runs.ts"

/** Names of any characters, including separators of fields and lines. */
const name = fc.string({ unit: fc.constantFrom("a", "b", "é", "\t", "\n", "%", "\ufffd", "😀", "\ud800", "\u0000") })
const lineKey = fc.tuple(name, name).map((names) => names.map(escapeName).join("\t"))
const line = fc.tuple(lineKey, fc.bigInt({ min: 0n, max: 10n ** 19n })).map(([at, nano]) => `${at}\t1,${nano}`)

describe("a name", () => {
  test("an escaped name is restored exactly", () => {
    fc.assert(fc.property(name, (each) => expect(unescapeName(escapeName(each))).toBe(each)))
  })

  test("an escaped name contains no separators, and sorts in SQLite as in JavaScript", () => {
    const database = new Database(":memory:")
    const sorted = database.query<{ value: string }, [string]>("SELECT value FROM json_each(?1) ORDER BY value")
    fc.assert(
      fc.property(fc.array(name), (names) => {
        const texts = names.map(escapeName)
        expect(texts.every((text) => /^[ -~]*$/.test(text))).toBe(true)
        expect(sorted.all(JSON.stringify(texts)).map(({ value }) => value)).toEqual(texts.toSorted())
      }),
    )
  })
})

describe("a line", () => {
  test("a line sorts by its key", () => {
    fc.assert(
      fc.property(line, line, (a, b) => {
        const [first, second] = [lineKeyOf(a), lineKeyOf(b)]
        if (first !== second) expect(a < b).toBe(`${first}\t` < `${second}\t`)
        expect(a < afterLineKey(first)).toBe(true)
        if (`${first}\t` < `${second}\t`) expect(afterLineKey(first) < b).toBe(true)
      }),
    )
  })

  test("two lines with the same key are merged exactly, beyond 2^53 too", () => {
    expect(addLines("a\tb\t1,,9007199254740993", "a\tb\t2,5,1")).toBe("a\tb\t3,5,9007199254740994")
    expect([paidOf("a\tb\t1,,77"), paidOf("key:a\t20000\t78")]).toEqual([77n, 78n])
  })
})

test("merged lines are in order, each key once, and none is lost", () => {
  fc.assert(
    fc.property(fc.array(fc.array(line)), (lists) => {
      const lines = [...sumEqualKeys(mergeSortedLines(lists.map((list) => list.toSorted()[Symbol.iterator]())))]
      expect(lines).toEqual(lines.toSorted())
      expect(new Set(lines.map(lineKeyOf)).size).toBe(lines.length)
      const sum = (all: readonly string[]) => all.reduce((nano, each) => nano + paidOf(each), 0n)
      expect(sum(lines)).toBe(sum(lists.flat()))
    }),
  )
})
