import { describe, expect, test } from "bun:test"
import fc from "fast-check"
import { fromByteText, toByteText } from "../json/byte-text.ts"
import { FrameStencil } from "./frame-stencil.ts"

const mayVary = new Map([
  ["text", true],
  ["seq", false],
])

const frame = (text: string, { model = "theirs", seq = "7", rest = "null" } = {}) =>
  `data: {"model":"${model}","seq":${seq},"delta":{"text":${text}},"finish":${rest}}\n\n`

const ours = (...parts: Parameters<typeof frame>) => frame(parts[0], { ...parts[1], model: "ours" })

function stencilOf(before: string, after: string, rename = (raw: string) => raw.replace('"theirs"', '"ours"')) {
  const passage = (raw: string) => ({ raw, passed: rename(raw) })
  return FrameStencil.between(passage(before), passage(after), mayVary)
}

function passes(stencil: FrameStencil | undefined, text: string): string | undefined {
  const passed = stencil?.pass(fromByteText(text), () => {})
  return passed && toByteText(passed)
}

test("the stencil returns the text as written in JSON, without the numbers around it", () => {
  const learnt = stencilOf(frame('"one"', { seq: "1" }), frame('"two"', { seq: "2" }))
  const texts: string[] = []
  const two = frame('"a \\n b"', { seq: "30" }) + frame('""', { seq: "31" })
  learnt?.pass(fromByteText(two), (bytes, from, to) => texts.push(toByteText(bytes.subarray(from, to))))
  expect(texts).toEqual(["a \\n b", ""])
})

describe("what two frames teach", () => {
  const learnt = stencilOf(frame('"one"'), frame('"two"'))

  test("a frame that differs in the same place passes as they did", () => {
    expect(passes(learnt, frame('"three"'))).toBe(ours('"three"'))
    expect(passes(learnt, frame('""'))).toBe(ours('""'))
  })

  test("escapes and bytes beyond ASCII pass as they are", () => {
    for (const text of ['"a \\"b\\" \\\\"', '"\\n\\t\\/"', '"na\xc3\xafve"', '"\xff\xfe"']) {
      expect(passes(learnt, frame(text))).toBe(ours(text))
    }
  })

  test("several whole frames pass together", () => {
    expect(passes(learnt, frame('"three"') + frame('"four"'))).toBe(ours('"three"') + ours('"four"'))
  })

  test("a number may vary too, and both at once", () => {
    const counted = stencilOf(frame('"one"', { seq: "9" }), frame('"two"', { seq: "10" }))
    expect(passes(counted, frame('"three"', { seq: "123" }))).toBe(ours('"three"', { seq: "123" }))
    for (const seq of ["-1", "1.5", "01", "null", ""]) expect(passes(counted, frame('"x"', { seq }))).toBeUndefined()
  })

  test("what differs elsewhere has to be read", () => {
    const others = [
      frame('"x"', { rest: '"stop"' }),
      frame('"x"', { model: "other" }),
      frame("null"),
      frame('"x"').slice(0, -1),
      frame('"x"') + frame('"y"').slice(0, 20),
      `: note\n\n${frame('"x"')}`,
      frame('"x","more":"y"'),
    ]
    for (const other of others) expect(passes(learnt, other)).toBeUndefined()
  })

  test("a string that no parser takes, or only after more thought, has to be read", () => {
    for (const text of ['"a\nb"', '"\\q"', '"\\u00e9"', '"open', '"\\']) {
      expect(passes(learnt, frame(text))).toBeUndefined()
    }
  })
})

describe("two frames teach nothing", () => {
  test("when they are the same", () => expect(stencilOf(frame('"one"'), frame('"one"'))).toBeUndefined())

  test("when a member differs that may not", () => {
    expect(stencilOf(frame('"one"', { rest: '"a"' }), frame('"two"', { rest: '"b"' }))).toBeUndefined()
    expect(stencilOf(frame('"one"', { model: "a" }), frame('"two"', { model: "b" }))).toBeUndefined()
  })

  test("when a name, a kind or the structure differs", () => {
    expect(stencilOf('data: {"text":"one"}\n\n', 'data: {"texts":"two"}\n\n')).toBeUndefined()
    expect(stencilOf('data: {"text":"one"}\n\n', 'data: {"text":1}\n\n')).toBeUndefined()
    expect(stencilOf('data: {"text":["one"]}\n\n', 'data: {"text":["two"]}\n\n')).toBeUndefined()
    expect(stencilOf('data: {"text":"one"}\n\n', 'data: {"text": "two"}\n\n')).toBeUndefined()
  })

  test("when what passes does not hold what came", () => {
    expect(stencilOf(frame('"one"'), frame('"two"'), (raw) => raw.replace(/one|two/, "word"))).toBeUndefined()
    expect(stencilOf(frame('"one"'), frame('"two"'), () => "")).toBeUndefined()
  })
})

test("whatever fits passes with nothing but the edit made", () => {
  const learnt = stencilOf(frame('"one"'), frame('"two"'))
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => {
      const json = toByteText(Buffer.from(JSON.stringify(text)))
      const passed = passes(learnt, frame(json))
      if (!json.includes("\\u")) expect(passed).toBe(ours(json))
      else expect(passed).toBeUndefined()
    }),
  )
})
