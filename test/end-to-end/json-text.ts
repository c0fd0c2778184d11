// Random JSON objects as people and programs write them: odd spellings of strings and numbers, odd white space.
import fc from "fast-check"

/** One member as written; `before` and `after` are the white space around it, `colon` the colon with its own. */
export interface MemberText {
  readonly before: string
  /** The name as JSON text. */
  readonly name: string
  readonly colon: string
  /** The value as JSON text. */
  readonly value: string
  readonly after: string
}

export interface ObjectText {
  readonly members: readonly MemberText[]
  readonly before: string
  readonly after: string
  /** The white space of an object without members. */
  readonly inner: string
}

export function objectText({ members, before, after, inner }: ObjectText): string {
  const written = members.map((member) => member.before + memberText(member) + member.after)
  return `${before}{${written.length === 0 ? inner : written.join(",")}}${after}`
}

/** A member without the white space around it. */
export function memberText({ name, colon, value }: MemberText): string {
  return name + colon + value
}

/** An object whose names, read by a parser, are all different and none of them reserved. */
export function jsonObject({
  reserved = [],
  minMembers = 0,
}: {
  reserved?: readonly string[]
  minMembers?: number
}): fc.Arbitrary<ObjectText> {
  const named = jsonString.filter((name) => !reserved.includes(JSON.parse(name)))
  const member = fc.record({ before: space, name: named, colon, value: jsonValue, after: space })
  const members = fc.uniqueArray(member, {
    selector: ({ name }) => JSON.parse(name),
    minLength: minMembers,
    maxLength: 8,
  })
  return fc.record({ members, before: space, after: space, inner: space })
}

/** A string's JSON text with unnecessary escapes. */
export function spelled(text: string): fc.Arbitrary<string> {
  const units = [...Array(text.length).keys()].map((at) => text.charCodeAt(at))
  return fc
    .array(fc.constantFrom("plain", "escaped"), { minLength: units.length, maxLength: units.length })
    .map((ways) => `"${units.map((unit, at) => (ways[at] === "plain" ? plain(unit) : hex(unit))).join("")}"`)
}

function plain(unit: number): string {
  // A lone half of a pair cannot be written as UTF-8, so both halves are escaped.
  return unit >= 0xd800 && unit <= 0xdfff ? hex(unit) : JSON.stringify(String.fromCharCode(unit)).slice(1, -1)
}

function hex(unit: number): string {
  return `\\u${unit.toString(16).padStart(4, "0")}`
}

const space = fc.string({ unit: fc.constantFrom(" ", "\n", "\t", "\r"), maxLength: 3 })
const colon = fc.tuple(space, space).map(([before, after]) => `${before}:${after}`)

const pieces = fc.oneof(
  fc.string({ unit: "grapheme", maxLength: 6 }),
  fc.string({ unit: "binary", maxLength: 4 }),
  fc.constantFrom("model", "provider", "}", "{", "],[", '"', "\\", '\\"', ":", ",", "\u2028", "__proto__", "12", ""),
)
const words = fc.array(pieces, { maxLength: 3 }).map((found) => found.join(""))
const rawWords = words.map((text) => JSON.stringify(text))
const jsonString = fc.oneof(
  rawWords,
  words.chain(spelled),
  fc.constantFrom('"\\ud800"', '"\\udc00\\ud800"', '"\\/"', '"\\b\\f"', '"\\u005c"', '"\\\\\\""', '"\\\\"'),
)

const jsonNumber = fc.oneof(
  fc.integer().map(String),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => JSON.stringify(number)),
  fc.constantFrom("-0", "0.10", "1.0", "1e0", "1E+2", "5e-1", "12345678901234567890", "1e999", "-0.0e-0"),
)

const { value: jsonValue } = fc.letrec<{ value: string }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, depthIdentifier: "value" },
    fc.oneof(jsonString, jsonNumber, fc.constantFrom("true", "false", "null")),
    fc.array(fc.tuple(space, tie("value"), space), { maxLength: 3 }).map((items) => {
      return `[${items.map((item) => item.join("")).join(",")}]`
    }),
    fc.array(fc.tuple(space, jsonString, colon, tie("value"), space), { maxLength: 3 }).map((items) => {
      return `{${items.map((item) => item.join("")).join(",")}}`
    }),
  ),
}))
