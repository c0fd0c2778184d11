import { describe, expect, test } from "bun:test"
import fc from "fast-check"
import { asciiJson, type JsonEdit, spliceJson } from "./json-splice.ts"

const set = (path: string, value: string): JsonEdit => ({ path: path.split("."), set: value })
const remove = (path: string): JsonEdit => ({ path: path.split("."), remove: true })

describe("splicing", () => {
  const cases: [string, string, JsonEdit[], string][] = [
    ["replace", '{ "model" : "a" ,"x":1.0}', [set("model", '"b"')], '{ "model" : "b" ,"x":1.0}'],
    ["replace one spelled with escapes", '{"mod\\u0065l":"a"}', [set("model", '"b"')], '{"mod\\u0065l":"b"}'],
    [
      "replace below",
      '{"response":{"id":1,"model":"a"}}',
      [set("response.model", '"b"')],
      '{"response":{"id":1,"model":"b"}}',
    ],
    ["insert", '{"a":1}', [set("b", "2")], '{"a":1,"b":2}'],
    ["insert before odd space", '{"a":1 \n}', [set("b", "2")], '{"a":1,"b":2 \n}'],
    ["insert into an empty text", "{ }", [set("b", "2")], '{"b":2 }'],
    ["insert into an existing object", '{"o":{"x":1}}', [set("o.y", "true")], '{"o":{"x":1,"y":true}}'],
    ["insert into an empty object", '{"o":{}}', [set("o.y", "true")], '{"o":{"y":true}}'],
    ["insert into a null member", '{"o":null}', [set("o.y", "true")], '{"o":{"y":true}}'],
    ["insert into a missing object", '{"a":1}', [set("o.y", "true")], '{"a":1,"o":{"y":true}}'],
    ["insert three levels down", "{}", [set("a.b.c", "1")], '{"a":{"b":{"c":1}}}'],
    ["remove the first", '{"a":1, "b":2}', [remove("a")], '{"b":2}'],
    ["remove a middle one", '{"a":1, "b":2 , "c":3}', [remove("b")], '{"a":1, "c":3}'],
    ["remove the last", '{"a":1 , "b":2 }', [remove("b")], '{"a":1 }'],
    ["remove the only one", '{ "a":1 }', [remove("a")], "{ }"],
    ["remove below", '{"o":{"x":1,"y":2}}', [remove("o.x")], '{"o":{"y":2}}'],
    ["remove a missing member", '{"a":1}', [remove("b"), remove("a.c")], '{"a":1}'],
    ["remove neighbours at the end", '{"a":1,"b":2,"c":3}', [remove("b"), remove("c")], '{"a":1}'],
    ["remove all and insert", '{"a":1,"b":2}', [remove("a"), remove("b"), set("c", "3")], '{"c":3}'],
    ["remove the last and insert", '{"a":1,"b":2}', [remove("b"), set("c", "3")], '{"a":1,"c":3}'],
    [
      "all at once",
      '{"p":{},"model":"a","stream":true}',
      [set("model", '"b"'), remove("p"), set("o.u", "true")],
      '{"model":"b","stream":true,"o":{"u":true}}',
    ],
    ["change both occurrences of a duplicate member", '{"a":1,"a":2}', [set("a", "3")], '{"a":3,"a":3}'],
  ]
  test.each(cases)("splicing changes only the named members: %s", (_, text, edits, expected) => {
    expect(spliceJson(text, edits)).toBe(expected)
  })
})

test("text that is not an object stays unchanged", () => {
  for (const text of ["", "[1]", "null", '{"a":']) expect(spliceJson(text, [set("a", "1")])).toBe(text)
})

const name = fc.constantFrom("model", "stream", "provider", "a", "b", "\u00e9", 'q"', "")
const object = fc.dictionary(name, fc.jsonValue({ maxDepth: 2 }), { noNullPrototype: true })
const space = fc.stringMatching(/^[ \t\n\r]{0,3}$/)

/** JSON text of an object with any white space between its tokens. */
const formatted = fc.tuple(object, fc.array(space, { minLength: 40, maxLength: 40 })).map(([value, spaces]) => {
  let at = 0
  const gap = () => spaces[at++ % spaces.length] ?? ""
  const members = Object.entries(value).map(
    ([key, inner]) => `${gap()}${JSON.stringify(key)}${gap()}:${gap()}${JSON.stringify(inner)}${gap()}`,
  )
  return { value, text: `${gap()}{${members.length === 0 ? gap() : members.join(",")}}${gap()}` }
})

test("setting and removing members changes the text as it changes the value", () => {
  fc.assert(
    fc.property(formatted, name, name, fc.jsonValue(), ({ value, text }, changed, gone, fresh) => {
      const edits: JsonEdit[] = [{ path: [changed], set: JSON.stringify(fresh) }]
      if (gone !== changed) edits.push({ path: [gone], remove: true })
      const expected: Record<string, unknown> = { ...value, [changed]: fresh }
      if (gone !== changed) delete expected[gone]
      expect(JSON.parse(spliceJson(text, edits))).toEqual(JSON.parse(JSON.stringify(expected)))
    }),
    { numRuns: 1000 },
  )
})

test("replacing a value and putting it back gives the same text", () => {
  fc.assert(
    fc.property(formatted, name, ({ value, text }, changed) => {
      if (!Object.hasOwn(value, changed)) return
      const there = spliceJson(text, [{ path: [changed], set: "0" }])
      expect(spliceJson(there, [{ path: [changed], set: JSON.stringify(value[changed]) }])).toBe(text)
    }),
  )
})

test("strings are written in ASCII", () => {
  expect(asciiJson('é"\u{1f600}')).toBe('"\\u00e9\\"\\ud83d\\ude00"')
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => {
      expect(JSON.parse(asciiJson(text))).toBe(text)
      expect(asciiJson(text)).toMatch(/^[\0-\x7f]*$/)
    }),
  )
})
