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

describe("a stencil learnt from two frames", () => {
  const learnt = stencilOf(frame('"one"'), frame('"two"'))

  test("a frame that differs only in the learnt value fits the stencil", () => {
    expect(passes(learnt, frame('"three"'))).toBe(ours('"three"'))
    expect(passes(learnt, frame('""'))).toBe(ours('""'))
  })

  test("escapes and bytes beyond ASCII fit the stencil unchanged", () => {
    for (const text of ['"a \\"b\\" \\\\"', '"\\n\\t\\/"', '"na\xc3\xafve"', '"\xff\xfe"']) {
      expect(passes(learnt, frame(text))).toBe(ours(text))
    }
  })

  test("several whole frames fit the stencil together", () => {
    expect(passes(learnt, frame('"three"') + frame('"four"'))).toBe(ours('"three"') + ours('"four"'))
  })

  test("a number may vary too, alone or with the text", () => {
    const counted = stencilOf(frame('"one"', { seq: "9" }), frame('"two"', { seq: "10" }))
    expect(passes(counted, frame('"three"', { seq: "123" }))).toBe(ours('"three"', { seq: "123" }))
    for (const seq of ["-1", "1.5", "01", "null", ""]) expect(passes(counted, frame('"x"', { seq }))).toBeUndefined()
  })

  test("a frame that differs elsewhere does not fit the stencil", () => {
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

  test("a string that is invalid, or valid only after closer inspection, does not fit the stencil", () => {
    for (const text of ['"a\nb"', '"\\q"', '"\\u00e9"', '"open', '"\\']) {
      expect(passes(learnt, frame(text))).toBeUndefined()
    }
  })
})

describe("two frames that teach no stencil", () => {
  test("two equal frames teach no stencil", () => expect(stencilOf(frame('"one"'), frame('"one"'))).toBeUndefined())

  test("two frames that differ in a fixed member teach no stencil", () => {
    expect(stencilOf(frame('"one"', { rest: '"a"' }), frame('"two"', { rest: '"b"' }))).toBeUndefined()
    expect(stencilOf(frame('"one"', { model: "a" }), frame('"two"', { model: "b" }))).toBeUndefined()
  })

  test("two frames that differ in a name, a kind or the structure teach no stencil", () => {
    expect(stencilOf('data: {"text":"one"}\n\n', 'data: {"texts":"two"}\n\n')).toBeUndefined()
    expect(stencilOf('data: {"text":"one"}\n\n', 'data: {"text":1}\n\n')).toBeUndefined()
    expect(stencilOf('data: {"text":["one"]}\n\n', 'data: {"text":["two"]}\n\n')).toBeUndefined()
    expect(stencilOf('data: {"text":"one"}\n\n', 'data: {"text": "two"}\n\n')).toBeUndefined()
  })

  test("frames whose edited form lacks the received text teach no stencil", () => {
    expect(stencilOf(frame('"one"'), frame('"two"'), (raw) => raw.replace(/one|two/, "word"))).toBeUndefined()
    expect(stencilOf(frame('"one"'), frame('"two"'), () => "")).toBeUndefined()
  })
})

test("every frame that fits passes with only the edit made", () => {
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
