import { expect, test } from "bun:test"
import { array, assert, integer, property, string } from "fast-check"
import { directiveRows, parseDirectives, splitModelName } from "./directives.ts"

const NO_NUMBER = "N"
/** Every directive as the table lists it. */
const words = directiveRows().map((row) => /`([^`]+)`/.exec(row)?.[1] ?? "")

test("every directive of the table is parsed, alone and joined, in a header and in a model's name", () => {
  const row = array(integer({ min: 0, max: words.length - 1 }), { minLength: 1, maxLength: 6 })
  assert(
    property(row, integer({ min: 1, max: 99 }), string(), (picked, number, name) => {
      const directives = picked.map((at) =>
        (words[at] ?? "").replace("status-N", "status-503").replace(NO_NUMBER, String(number)),
      )
      const suffix = `@${directives.join(".")}`
      expect(parseDirectives(directives.join("."))).toBeDefined()
      if (name !== "") expect(splitModelName(name + suffix)).toMatchObject({ name, suffix })
    }),
  )
})

test("a model's name and its suffix always add up to the whole name", () => {
  assert(
    property(string(), (modelName) => {
      const { name, suffix } = splitModelName(modelName)
      expect(name + suffix).toBe(modelName)
    }),
  )
})

test("a suffix that is not a directive is part of the model's name", () => {
  const names = ["claude-3-5-sonnet@20240620", "m@", "@status-503", "m@status", "m@status-N", "m@Status-503"]
  for (const name of [
    ...names,
    "m@status-299",
    "m@status-600",
    "m@split-0",
    "m@jitter-101",
    "m@html.",
    "m@stall-after--1",
  ]) {
    expect(splitModelName(name)).toMatchObject({ name, suffix: "" })
  }
})

test("of two contradicting directives the later one applies, and all others apply together", () => {
  expect(parseDirectives("status-500.status-503")?.status).toBe(503)
  expect(parseDirectives("cut-after-3.stall-before-headers.retry-after-1.retry-info-2")).toEqual({
    hints: [
      { form: "seconds", amount: 1 },
      { form: "retry-info", amount: 2 },
    ],
    faults: [
      { effect: "cut", at: 3 },
      { effect: "stall", at: "before-headers" },
    ],
  })
})
