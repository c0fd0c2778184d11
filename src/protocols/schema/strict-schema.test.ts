import { expect, test } from "bun:test"
import type { Json } from "../../canonical/json.ts"
import { isStrict } from "./strict-schema.ts"

const closed = (properties: { [name: string]: Json }, more: object = {}): Json => ({
  type: "object",
  properties,
  required: Object.keys(properties),
  additionalProperties: false,
  ...more,
})
const text = { type: "string", minLength: 1 }

test.each<[string, Json]>([
  ["nothing", closed({})],
  ["all its members", closed({ a: text, b: { type: ["string", "null"] } })],
  ["objects in lists", closed({ a: { type: "array", items: closed({ b: text }) } })],
  [
    "choices and references",
    closed({ a: { anyOf: [text, { $ref: "#/$defs/b" }] } }, { $defs: { b: closed({ c: text }) } }),
  ],
])("a schema that requires %s can be enforced", (_, schema) => {
  expect(isStrict(schema)).toBe(true)
})

test.each<[string, Json | undefined]>([
  ["it is absent", undefined],
  ["it is empty", {}],
  ["it is not an object", text],
  ["a member is optional", closed({ a: text }, { required: [] })],
  ["it allows further members", closed({ a: text }, { additionalProperties: true })],
  ["a nested schema is open", closed({ a: { type: "array", items: { type: "object", properties: {} } } })],
  ["a definition is open", closed({}, { $defs: { a: { type: "object" } } })],
  ["it has keywords that the vendor does not know", closed({ a: { allOf: [text] } })],
  ["it is a choice of alternatives", closed({}, { anyOf: [] })],
])("a schema cannot be enforced if %s", (_, schema) => {
  expect(isStrict(schema)).toBe(false)
})
