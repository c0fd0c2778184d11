import { expect, test } from "bun:test"
import fc from "fast-check"
import { projectSchema, toJsonSchema } from "./gemini-schema.ts"

test("the vendor's dialect becomes JSON Schema, and property names stay unchanged", () => {
  const given = {
    type: "OBJECT",
    properties: {
      any_of: { type: "ARRAY", items: { type: "INTEGER", format: "int32" }, min_items: "1" },
      type: { type: "STRING", enum: ["a"], nullable: true },
    },
    anyOf: [{ type: "NUMBER" }, { type: "TYPE_UNSPECIFIED" }],
    required: ["type"],
  }
  expect(toJsonSchema(given)).toEqual({
    type: "object",
    properties: {
      any_of: { type: "array", items: { type: "integer", format: "int32" }, minItems: 1 },
      type: { type: ["string", "null"], enum: ["a", null] },
    },
    anyOf: [{ type: "number" }, {}],
    required: ["type"],
  })
})

test("JSON Schema stays unchanged", () => {
  const given = { type: "object", properties: { a: { type: ["string", "null"] } }, additionalProperties: false }
  expect(toJsonSchema(given)).toEqual(given)
})

test.each([
  [{ $ref: "#/$defs/A", $defs: { A: { type: "string" } } }, { type: "string" }, []],
  [
    {
      properties: { a: { $ref: "#/definitions/x~1y", description: "d" } },
      definitions: { "x/y": { type: "string", $comment: "c" } },
    },
    { properties: { a: { type: "string", description: "d" } } },
    [],
  ],
  [{ oneOf: [{ type: "string" }, { const: 1 }] }, { anyOf: [{ type: "string" }, { enum: [1] }] }, []],
  [
    { type: "object", properties: { a: {} }, required: ["a"], allOf: [{ properties: { b: {} }, required: ["b"] }] },
    { type: "object", properties: { a: {}, b: {} }, required: ["a", "b"] },
    [],
  ],
  [{ type: "number", exclusiveMinimum: 0, not: {} }, { type: "number" }, ["exclusiveMinimum", "not"]],
  [{ $ref: "https://x.org/s" }, {}, ["$ref"]],
  [{ $ref: "#/$defs/missing" }, {}, ["$ref"]],
  [{ properties: { next: { $ref: "#" } } }, { properties: { next: { properties: { next: {} } } } }, ["$ref"]],
])("the schema %j is encoded as the vendor accepts it", (given, schema, dropped) => {
  expect(projectSchema(given)).toEqual({ schema, dropped })
})

test("a schema that expands exponentially is cut off", () => {
  const $defs = Object.fromEntries(
    Array.from({ length: 30 }, (_, at) => [
      `d${at}`,
      { properties: { a: { $ref: `#/$defs/d${at + 1}` }, b: { $ref: `#/$defs/d${at + 1}` } } },
    ]),
  )
  expect(projectSchema({ $ref: "#/$defs/d0", $defs }).dropped).toContain("$ref")
})

test("any value becomes a schema without references", () => {
  const keyword = fc.constantFrom(
    "$ref",
    "properties",
    "items",
    "anyOf",
    "allOf",
    "oneOf",
    "$defs",
    "additionalProperties",
  )
  const schema = fc.letrec((tie) => ({
    any: fc.oneof(
      { depthSize: "small" },
      fc.constantFrom("#", "#/$defs/type", "#/properties/x", 1, true, false, null),
      fc.array(tie("any"), { maxLength: 3 }),
      fc.dictionary(keyword, tie("any"), { maxKeys: 4 }),
    ),
  })).any
  fc.assert(
    fc.property(schema, (given) => {
      expect(JSON.stringify(projectSchema(given as never).schema)).not.toContain('"$ref":"')
    }),
  )
})
