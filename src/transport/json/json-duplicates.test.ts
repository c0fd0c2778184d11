import { expect, test } from "bun:test"
import fc from "fast-check"
import { renameDuplicates } from "./json-duplicates.ts"

test.each([
  ['{"a":1,"a":2}', '{"a":1,"a#2":2}'],
  ['{"x":[{"a":1,"b":{"c":1,"c":2,"c":3}}]}', '{"x":[{"a":1,"b":{"c":1,"c#2":2,"c#3":3}}]}'],
  ['{"x":{"file":{"file_id":"f"},"file" \n : {}}}', '{"x":{"file":{"file_id":"f"},"file#2" \n : {}}}'],
  ['{"x":{"\\u0061":1,"a":2}}', '{"x":{"\\u0061":1,"a#2":2}}'],
  ['{"a":"\\\\","b":"\\"","c":{"d\\"":1,"d\\"":2}}', '{"a":"\\\\","b":"\\"","c":{"d\\"":1,"d\\"#2":2}}'],
])("duplicate members of %s are renamed as in %s", (text, unique) => {
  expect(renameDuplicates(text)).toBe(unique)
})

test.each(['{"a":{"a":{"a":1}},"b":["a","a"],"c":"a"}', '[{"a":1},{"a":1}]', "{}"])(
  "%s has no duplicate member and stays unchanged",
  (text) => {
    expect(renameDuplicates(text)).toBe(text)
  },
)

test("text without duplicate members stays unchanged", () => {
  fc.assert(
    fc.property(fc.json(), (json) => {
      const text = JSON.stringify(JSON.parse(json))
      expect(renameDuplicates(text)).toBe(text)
    }),
  )
})

test("both values of a duplicate member are found at any depth", () => {
  const name = fc.string().filter((each) => each !== "__proto__")
  fc.assert(
    fc.property(name, fc.jsonValue(), fc.jsonValue(), fc.nat(5), (member, first, last, depth) => {
      const twice = `{${JSON.stringify(member)}:${JSON.stringify(first)},${JSON.stringify(member)}:${JSON.stringify(last)}}`
      const text = `${"[".repeat(depth)}${twice}${"]".repeat(depth)}`
      const parsed: unknown = JSON.parse(renameDuplicates(text))
      const found = Array.from({ length: depth }).reduce<unknown>((value) => (value as unknown[])[0], parsed)
      const plain = (value: unknown) => JSON.parse(JSON.stringify(value))
      expect(found).toEqual(plain({ [member]: first, [`${member}#2`]: last }))
    }),
  )
})
