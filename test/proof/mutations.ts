// Mutations of valid bytes, JSON and event streams, with seeded random numbers.
import type { SeededRandom } from "./seeded-random.ts"

/** Bytes with a meaning for some parser. */
const TOKENS = [
  "\u0000",
  "\r\n",
  "\r",
  "\n\n",
  "\xff\xfe",
  "\xc0\xaf",
  "\xed\xa0\x80",
  "\xef\xbb\xbf",
  "\xf4\x90\x80\x80",
  "data: ",
  "event: error\n",
  "data: [DONE]\n\n",
  ": \n",
  '"',
  "\\",
  "\\u",
  "\\ud800",
  "{",
  "}",
  "[",
  "]",
  ",",
  ":",
  "null",
  "1e999",
  "-",
  "%00",
  "%",
  "../",
  "chunked",
  "0\r\n\r\n",
  "Content-Length: 0\r\n",
  "\t",
  " ",
]

export function mutateBytes(bytes: Buffer, random: SeededRandom, times = 1 + random.below(4)): Buffer {
  let mutated = bytes
  for (let time = 0; time < times; time++) mutated = mutateOnce(mutated, random)
  return mutated
}

function mutateOnce(bytes: Buffer, random: SeededRandom): Buffer {
  const from = random.below(bytes.length + 1)
  const to = Math.min(bytes.length, from + 1 + random.below(random.chance(0.2) ? 200 : 8))
  const [before, span, after] = [bytes.subarray(0, from), bytes.subarray(from, to), bytes.subarray(to)]
  switch (random.below(7)) {
    case 0:
      return Buffer.concat([before, after])
    case 1:
      return Buffer.concat([before, span, span, after])
    case 2:
      return Buffer.concat([before, Buffer.from(random.pick(TOKENS), "latin1"), span, after])
    case 3:
      return Buffer.concat([before, Buffer.from(random.pick(TOKENS), "latin1"), after])
    case 4:
      return Buffer.concat([before, span.map(() => random.below(256)), after])
    case 5:
      return Buffer.concat([after, span, before])
    default:
      return random.chance(0.5) ? before : Buffer.concat([before, span.toReversed(), after])
  }
}

/** Values no schema has in mind, as JSON text or as what only resembles it. */
const VALUES: readonly string[] = [
  "null",
  "true",
  "0",
  "-0",
  "-1",
  "1.5",
  "1e999",
  "-1e999",
  "1E400",
  "9007199254740993",
  "123456789012345678901234567890",
  "0.1e-400",
  "01",
  "+1",
  ".5",
  "NaN",
  "Infinity",
  "undefined",
  "0x10",
  '""',
  '" "',
  '"\\ud800"',
  '"\\udc00\\ud800"',
  '"\\u0000"',
  '"\\u006d\\u006fdel"',
  '"\\/\\b\\f"',
  '"\\x41"',
  '"\u2028\u2029"',
  '"\t"',
  "'single'",
  `"${"x".repeat(70_000)}"`,
  `"${"\\u0041".repeat(5000)}"`,
  "[]",
  "{}",
  "[[]]",
  "[null]",
  "[1,]",
  "{,}",
  '{"a":1,"a":2}',
  '{"":{"":""}}',
  '{"__proto__":{"stream":true}}',
  '{"constructor":{"prototype":{}}}',
  '{"toString":1,"length":-1}',
  `${"[".repeat(100)}${"]".repeat(100)}`,
  `${"[".repeat(3000)}${"]".repeat(3000)}`,
  `${'{"a":'.repeat(1000)}1${"}".repeat(1000)}`,
  `[${"0,".repeat(5000)}0]`,
  `{${Array.from({ length: 1500 }, (_, index) => `"k${index}":0`).join(",")}}`,
  '[{"type":"text"}]',
  '"test/model"',
]

/** The places of a value's members and items, however deep: holder and name. */
function places(value: unknown, found: [holder: Record<string, unknown>, name: string][] = []): typeof found {
  if (typeof value !== "object" || value === null) return found
  const holder = value as Record<string, unknown>
  for (const name of Object.keys(holder)) {
    found.push([holder, name])
    places(holder[name], found)
  }
  return found
}

const MARK = "raw text "

/** JSON text of a value in which something is not as it should be. */
export function mutateJson(value: unknown, random: SeededRandom): Buffer {
  const copy = structuredClone(value)
  const spots = places(copy)
  const raw: string[] = []
  const marked = () => `${MARK}${raw.push(random.pick(VALUES)) - 1}`
  for (let times = random.below(3); times >= 0 && spots.length > 0; times--) {
    const [holder, name] = random.pick(spots)
    const how = random.throw()
    if (how < 0.15) delete holder[name]
    else if (how < 0.3) holder[name] = structuredClone(random.pick(spots)[0])
    else holder[how < 0.4 ? random.pick(["__proto__ ", "", "toString", "model "]) : name] = marked()
  }
  let text = acyclic(copy)
  for (const [index, written] of raw.entries()) text = text.split(`"${MARK}${index}"`).join(written)
  if (random.chance(0.15)) text = text.replace("{", '{"model":"test/model",')
  if (random.chance(0.1))
    text = text.replace(/"(\w)/, (_, letter: string) => `"\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`)
  const bytes = Buffer.from(text)
  return random.chance(0.3) ? mutateBytes(bytes, random) : bytes
}

/** A holder that was put into itself cannot be written. */
function acyclic(value: unknown): string {
  try {
    return JSON.stringify(value)
  } catch {
    return '{"model":'
  }
}

/** An event stream with something wrong in an event's data, or anywhere. */
export function mutateStream(events: readonly string[], random: SeededRandom): Buffer {
  const written = [...events]
  for (let times = random.below(3); times > 0; times--) {
    const at = random.below(written.length)
    const event = written[at] ?? ""
    const data = dataOf(event)
    if (data !== undefined && random.chance(0.6)) {
      const mutated = mutateJson(data, random).toString("latin1")
      written[at] = Buffer.from(event, "utf8")
        .toString("latin1")
        .replace(/data: .*/, () => `data: ${mutated}`)
    } else if (random.chance(0.3)) written.splice(at, 1)
    else if (random.chance(0.5)) written.splice(at, 0, random.pick(written))
    else written[at] = event.replaceAll("\n", random.pick(["\r", "\r\n", "\n\n", "", "\n \n"]))
  }
  const bytes = Buffer.from(written.join(""), "latin1")
  return random.chance(0.5) ? mutateBytes(bytes, random) : bytes
}

/** The data of an event if it is JSON. */
function dataOf(event: string): unknown {
  try {
    return JSON.parse(/data: (\{.*\})/.exec(event)?.[1] ?? "")
  } catch {
    return undefined
  }
}

/** The bytes in pieces, cut anywhere. */
export function pieces(bytes: Buffer, random: SeededRandom): Buffer[] {
  const cut: Buffer[] = []
  const longest = random.pick([1, 3, 64, 1024, 65_536])
  for (let at = 0; at < bytes.length && cut.length < 300; ) {
    const length = cut.length === 299 ? bytes.length : 1 + random.below(longest)
    cut.push(bytes.subarray(at, at + length))
    at += length
  }
  return cut
}
