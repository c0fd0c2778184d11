import { expect, test } from "bun:test"
import fc from "fast-check"
import { findDuplicateName } from "./json-duplicates.ts"

test.each([
  ['{"a":1,"a":2}', "a"],
  ['{"x":[{"a":1,"b":{"c":1,"c":2}}]}', "c"],
  ['{"x":{"file":{"file_id":"f"},"file" \n : {}}}', "file"],
  ['{"x":{"\\u0061":1,"a":2}}', "a"],
  ['{"a":"\\\\","b":"\\"","c":{"d\\"":1,"d\\"":2}}', 'd"'],
  ['{"a":{"a":{"a":1}},"b":["a","a"],"c":"a"}', undefined],
  ['[{"a":1},{"a":1}]', undefined],
  ["{}", undefined],
])("%s holds %p twice", (text, name) => {
  expect(findDuplicateName(text)).toBe(name as string)
})

test("what is parsed and written again names every member once", () => {
  fc.assert(fc.property(fc.json(), (text) => findDuplicateName(JSON.stringify(JSON.parse(text))) === undefined))
})

test("a member that is written twice is found wherever it stands", () => {
  const inner = fc.dictionary(fc.string(), fc.jsonValue(), { minKeys: 1, maxKeys: 3 })
  fc.assert(
    fc.property(inner, fc.jsonValue(), fc.nat(5), (object, value, depth) => {
      const [name = ""] = Object.keys(object)
      const twice = `{${JSON.stringify(name)}:${JSON.stringify(value)},${JSON.stringify(object).slice(1)}`
      const text = `${'{"outer":['.repeat(depth)}${twice}${"]}".repeat(depth)}`
      expect(findDuplicateName(text)).toBe(name)
    }),
  )
})
