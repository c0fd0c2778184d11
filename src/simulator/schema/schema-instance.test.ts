import { describe, expect, test } from "bun:test"
import fc from "fast-check"
import type { Json } from "../../canonical/json.ts"
import { violations } from "./schema-check.fixture.ts"
import { instanceOf } from "./schema-instance.ts"

const tree = {
  $ref: "#/$defs/node",
  $defs: {
    node: {
      type: "object",
      properties: {
        label: { type: "string" },
        next: { anyOf: [{ $ref: "#/$defs/node" }, { type: "null" }] },
        children: { type: "array", items: { $ref: "#/$defs/node" } },
      },
      required: ["label", "next", "children"],
      additionalProperties: false,
    },
  },
}

describe("an instance of a schema", () => {
  const schemas: Record<string, Json> = {
    "an empty schema": {},
    "the schema that allows all": true,
    "nested objects": {
      type: "object",
      properties: { a: { type: "object", properties: { b: { type: "integer" } }, required: ["b"] } },
      required: ["a"],
    },
    "a constant": { const: { a: [1, null] } },
    "an enumeration": { enum: ["red", "green"] },
    "a required member without a description": {
      type: "object",
      required: ["x"],
      additionalProperties: { type: "number" },
    },
    "a map": { type: "object", additionalProperties: { type: "boolean" }, minProperties: 3 },
    "few properties": { type: "object", properties: { a: {}, b: {}, c: {} }, required: ["c"], maxProperties: 2 },
    "a list of at least three": { type: "array", items: { type: "integer" }, minItems: 3 },
    "a list of different entries": {
      type: "array",
      items: { type: "string", maxLength: 3 },
      minItems: 4,
      uniqueItems: true,
    },
    "a list of different choices": { type: "array", items: { enum: [1, 2, 3] }, minItems: 3, uniqueItems: true },
    "an empty list": { type: "array", maxItems: 0 },
    "a tuple": { type: "array", prefixItems: [{ type: "string" }, { type: "number" }], items: false, minItems: 2 },
    "a schema that contains itself": tree,
    "a discriminated union": {
      oneOf: [
        { type: "object", properties: { kind: { const: "a" } }, required: ["kind"] },
        { type: "object", properties: { kind: { const: "b" } }, required: ["kind"] },
      ],
    },
    "parts that hold together": {
      allOf: [
        { type: "object", properties: { a: { type: "number", minimum: 3 } }, required: ["a"] },
        { properties: { a: { type: "integer", maximum: 9 }, b: { type: "string" } }, required: ["b"] },
      ],
    },
    "a choice the rest must allow": { type: "string", anyOf: [{ type: "integer" }, { enum: ["yes"] }] },
    "a nullable type": { type: ["null", "integer"], minimum: 5 },
    "Google's spelling": {
      type: "OBJECT",
      properties: {
        tags: { type: "ARRAY", items: { type: "STRING" }, minItems: "2" },
        n: { type: "INTEGER", nullable: true },
      },
      required: ["tags"],
    },
    "an older draft's open bounds": {
      type: "integer",
      minimum: 4,
      exclusiveMinimum: true,
      maximum: 6,
      exclusiveMaximum: true,
    },
    "steps of a tenth": { type: "number", multipleOf: 0.1, minimum: 0.25, maximum: 0.35 },
    "a negative range": { type: "number", maximum: -2.5 },
    "a narrow range": { type: "number", exclusiveMinimum: 0, exclusiveMaximum: 1 },
    "whole halves": { type: "integer", multipleOf: 1.5, minimum: 1 },
    "a date": { type: "string", format: "date" },
    "a time": { type: "string", format: "date-time" },
    "an address": { type: "string", format: "email" },
    "a link": { type: "string", format: "uri" },
    "an identifier": { type: "string", format: "uuid" },
    "a postal code": { type: "string", pattern: "^\\d{5}(-\\d{4})?$" },
    "a slug of some length": { type: "string", pattern: "^[a-z][a-z0-9-]*$", minLength: 12 },
    "one of two": { type: "string", pattern: "^(?:cat|dog)s?$" },
    "anything but a vowel": { type: "string", pattern: "^[^aeiou]{3}$" },
    "a long text": { type: "string", minLength: 40, maxLength: 41 },
  }
  test.each(Object.entries(schemas))("an instance satisfies its schema: %s", (_, schema) => {
    expect(violations(instanceOf(schema, "value"), schema)).toEqual([])
  })
})

/** Schemas that can be satisfied. */
const { schema: anySchema } = fc.letrec<{ schema: Json }>((tie) => ({
  schema: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom<Json>({ type: "boolean" }, { type: "null" }, {}, true, { enum: [null, 2] }, { const: "c" }),
    fc
      .record({ minLength: fc.nat(30), more: fc.nat(20) })
      .map(({ minLength, more }) => ({ type: "string", minLength, maxLength: minLength + more })),
    fc
      .record({
        type: fc.constantFrom("integer", "number"),
        minimum: fc.integer({ min: -50, max: 50 }),
        more: fc.nat(40),
      })
      .map(({ type, minimum, more }) => ({ type, minimum, maximum: minimum + more })),
    fc
      .record({ exclusiveMinimum: fc.integer({ min: -50, max: 50 }), multipleOf: fc.integer({ min: 1, max: 7 }) })
      .map((bounds) => ({ type: "integer", ...bounds })),
    fc
      .record({ items: tie("schema"), minItems: fc.nat(3), more: fc.nat(3) })
      .map(({ items, minItems, more }) => ({ type: "array", items, minItems, maxItems: minItems + more })),
    fc
      .record({ properties: fc.dictionary(fc.string(), tie("schema"), { maxKeys: 4 }), isClosed: fc.boolean() })
      .chain(({ properties, isClosed }) =>
        fc.subarray(Object.keys(properties)).map((required) => {
          return { type: "object", properties, required, additionalProperties: !isClosed }
        }),
      ),
    fc.array(tie("schema"), { minLength: 1, maxLength: 3 }).map((anyOf) => ({ anyOf })),
    tie("schema").map((part) => ({ allOf: [part, {}] })),
  ),
}))

test("an instance of any satisfiable schema satisfies it, and is the same every time", () => {
  fc.assert(
    fc.property(anySchema, (schema) => {
      const made = instanceOf(schema, "value")
      expect(violations(made, schema)).toEqual([])
      expect(instanceOf(schema, "value")).toEqual(made)
    }),
    { numRuns: 500 },
  )
})

describe("an endless schema", () => {
  const endless: Record<string, Json> = {
    "requires itself twice": {
      type: "object",
      properties: { a: { $ref: "#" }, b: { $ref: "#" } },
      required: ["a", "b"],
    },
    "is itself": { $ref: "#" },
    "combines itself twice": { allOf: [{ $ref: "#" }, { $ref: "#" }] },
    "may be itself": { anyOf: [{ $ref: "#" }, { $ref: "#" }] },
    "requires a million entries": { type: "array", minItems: 1e6, items: { type: "array", minItems: 1e6 } },
    "requires a billion letters": { type: "string", minLength: 1e9 },
    "repeats a pattern for ever": { type: "string", pattern: "^((a{1000}){1000}){1000}$" },
  }
  test.each(Object.entries(endless))("a schema that %s has a bounded instance", (_, schema) => {
    expect(JSON.stringify(instanceOf(schema, "value")).length).toBeLessThan(1e6)
  })
})

test("strings are plain words that name their member", () => {
  const schema = { type: "object", properties: { command: { type: "string" } } }
  expect(instanceOf(schema, "run")).toEqual({ command: "simulated command" })
})

test("a pattern with a lookaround is ignored", () => {
  expect(instanceOf({ type: "string", pattern: "^(?=.*\\d).+$" }, "code")).toBe("simulated code")
})
