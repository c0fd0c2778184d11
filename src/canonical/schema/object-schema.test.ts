import { describe, expect, test } from "bun:test"
import { isObject, type Json } from "../json.ts"
import { runFieldChecks } from "./field-mismatch.ts"
import { object, optional, required } from "./object-schema.ts"
import { boolean, integer, list, nullable, text, time, type ValueSchema } from "./value-schema.ts"

const wish = object({
  name: required(text({ max: 5 })),
  models: optional(list(text(), { max: 2 })),
  until: required(nullable(time)),
  times: optional(integer({ min: 1, max: 9 })),
  strict: optional(boolean),
})

describe("a schema", () => {
  test("a schema reads a valid value, and null for an optional member as absent", () => {
    const whole = { name: "abcde", models: ["a", "b"], until: "2027-01-31T00:00:00Z", times: 9, strict: true }
    expect(runFieldChecks(() => wish.read(whole))).toEqual(whole)
    expect(runFieldChecks(() => wish.read({ name: "a", until: null, models: null }))).toEqual({
      name: "a",
      until: null,
    })
  })

  const misfits: readonly [string, Json, string, string][] = [
    ["no object", [], "invalid_parameter", "The body must be an object."],
    ["a member that is missing", { until: null }, "missing_parameter", "`name` is required."],
    ["a null that must be there", { name: null, until: null }, "invalid_parameter", "`name` must be a string"],
    ["a string too long", { name: "abcdef", until: null }, "invalid_parameter", "`name` must be a string of 1 to 5"],
    ["an empty string", { name: "", until: null }, "invalid_parameter", "`name`"],
    ["an item that is no string", { name: "a", until: null, models: ["a", 1] }, "invalid_parameter", "`models[1]`"],
    ["too many items", { name: "a", until: null, models: ["a", "b", "c"] }, "invalid_parameter", "at most 2"],
    ["a time without a day", { name: "a", until: "soon" }, "invalid_parameter", "`until` must be a time"],
    ["a fraction", { name: "a", until: null, times: 1.5 }, "invalid_parameter", "`times` must be a whole number"],
    ["a word for true", { name: "a", until: null, strict: "true" }, "invalid_parameter", "`strict` must be true"],
    ["an unknown member", { name: "a", until: null, nmae: 1 }, "invalid_parameter", "`nmae` is not a known member."],
  ]
  test.each(misfits)("a schema refuses %s and names the member", (_, value, code, message) => {
    const thrown = attempt(() => runFieldChecks(() => wish.read(value)))
    expect(thrown).toMatchObject({ code, status: 400 })
    expect(String(thrown)).toContain(message)
  })

  test("a schema describes itself as JSON Schema", () => {
    expect(wish.jsonSchema).toMatchObject({
      type: "object",
      required: ["name", "until"],
      additionalProperties: false,
      properties: {
        name: { type: "string", maxLength: 5 },
        models: { type: "array", maxItems: 2 },
        until: { anyOf: [{ format: "date-time" }, { type: "null" }] },
      },
    })
  })

  test("a schema ignores members of the object prototype", () => {
    const none: ValueSchema<object> = object({})
    expect(() => runFieldChecks(() => none.read(JSON.parse('{"__proto__": 1}')))).toThrow("is not a known member")
    expect(isObject(runFieldChecks(() => none.read({})))).toBe(true)
  })
})

function attempt(act: () => unknown): unknown {
  try {
    return act()
  } catch (thrown) {
    return thrown
  }
}
