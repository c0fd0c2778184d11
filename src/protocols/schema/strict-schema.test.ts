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
  ["all there is", closed({ a: text, b: { type: ["string", "null"] } })],
  ["objects in lists", closed({ a: { type: "array", items: closed({ b: text }) } })],
  [
    "choices and references",
    closed({ a: { anyOf: [text, { $ref: "#/$defs/b" }] } }, { $defs: { b: closed({ c: text }) } }),
  ],
])("a schema that requires %s can be enforced", (_, schema) => {
  expect(isStrict(schema)).toBe(true)
})

test.each<[string, Json | undefined]>([
  ["there is none", undefined],
  ["anything goes", {}],
  ["it is no object", text],
  ["a member may be missing", closed({ a: text }, { required: [] })],
  ["there may be others", closed({ a: text }, { additionalProperties: true })],
  ["so it is within", closed({ a: { type: "array", items: { type: "object", properties: {} } } })],
  ["so it is among the definitions", closed({}, { $defs: { a: { type: "object" } } })],
  ["it knows words the vendor does not", closed({ a: { allOf: [text] } })],
  ["it is a choice", closed({}, { anyOf: [] })],
])("a schema cannot be enforced if %s", (_, schema) => {
  expect(isStrict(schema)).toBe(false)
})
