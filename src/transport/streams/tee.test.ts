import { describe, expect, test } from "bun:test"
import { fromByteText, toByteText } from "../json/byte-text.ts"
import type { SseFrame } from "./sse.ts"
import { Tee, type TeeOptions } from "./tee.ts"

const stream = "data: one\n\n: note\n\ndata: two\n\ndata: three\n\n"

function teeOf(options: Partial<TeeOptions<string>> = {}) {
  const failures: unknown[] = []
  const seen: string[] = []
  const tee = new Tee<string>({
    observer: { push: ({ data }: SseFrame) => (data === undefined ? [] : [data]), finish: () => ["end"] },
    edit: ({ raw }) => raw,
    onEvent: (event) => {
      seen.push(event)
      return "go-on"
    },
    onObserverFailure: (cause) => failures.push(cause),
    growth: { partOf: () => undefined, mayVary: new Map(), onAlike: () => {}, onText: () => {} },
    ...options,
  })
  const run = (text: string) => {
    const passed = [tee.push(fromByteText(text)), tee.finish()].map((bytes) => (bytes ? toByteText(bytes) : ""))
    tee.conclude()
    return passed.join("")
  }
  return { tee, run, seen, failures }
}

test("every byte passes, and the observer sees every event", () => {
  const { run, seen } = teeOf()
  expect(run(stream)).toBe(stream)
  expect(seen).toEqual(["one", "two", "three", "end"])
})

test("an observer that fails does not change the output, and is reported once", () => {
  const { run, failures } = teeOf({
    observer: {
      push() {
        throw new Error("observer broke")
      },
      finish: () => [],
    },
  })
  expect(run(stream)).toBe(stream)
  expect(failures).toHaveLength(1)
})

test("an event may end the output with its frame, or before it", () => {
  const ending = (verdict: "last-frame" | "stop-before") =>
    teeOf({ onEvent: (event) => (event === "two" ? verdict : "go-on") }).run(stream)
  expect(ending("last-frame")).toBe("data: one\n\n: note\n\ndata: two\n\n")
  expect(ending("stop-before")).toBe("data: one\n\n: note\n\n")
})

test("the last frame may be held back after the earlier output has passed", () => {
  const { run, tee } = teeOf({ onEvent: (event) => (event === "two" ? "hold-frame" : "go-on") })
  expect(run(stream)).toBe("data: one\n\n: note\n\n")
  expect([tee.isHeld, tee.held]).toEqual([true, "data: two\n\n"])
})

test("the end of the bytes may be held back if no frame is the last", () => {
  const { run, tee } = teeOf({ onEvent: (event) => (event === "end" ? "hold-frame" : "go-on") })
  expect(run(stream)).toBe(stream)
  expect([tee.isHeld, tee.held]).toEqual([true, undefined])
})

test("a frame may end the output before it, and before the observer sees it", () => {
  const { run, seen } = teeOf({ onFrame: ({ data }) => (data === "two" ? "stop-before" : "go-on") })
  expect(run(stream)).toBe("data: one\n\n: note\n\n")
  expect(seen).toEqual(["one"])
})

test("frames may be edited and dropped", () => {
  const { run } = teeOf({ edit: ({ raw, data }) => (data === "two" ? "" : raw.replace("one", "1")) })
  expect(run(stream)).toBe("data: 1\n\n: note\n\ndata: three\n\n")
})

describe("frames of the same shape", () => {
  const mayVary = new Map([["text", true]])
  const partOf = (events: readonly string[]) => (events.length === 1 && events[0] === "more" ? "part" : undefined)
  const frameOf = (text: string) => `data: {"text":"${text}","end":null}\n\n`
  const ended = 'data: {"text":"x","end":"stop"}\n\n'

  function growing(growth = { partOf, mayVary, onAlike: () => {}, onText: () => {} }) {
    const shown: string[] = []
    const tee = new Tee<string>({
      observer: {
        push({ raw }) {
          shown.push(raw)
          return [raw.includes("stop") ? "end" : raw.includes("text") ? "more" : "other"]
        },
        finish: () => [],
      },
      edit: ({ raw }) => raw.replace('"text"', '"words"'),
      onEvent: () => "go-on",
      onObserverFailure: () => {},
      growth,
    })
    const push = (text: string) => {
      const passed = tee.push(fromByteText(text))
      return passed ? toByteText(passed) : ""
    }
    return { push, shown }
  }

  test("frames of the same shape pass edited without parsing once two were parsed", () => {
    const { push, shown } = growing()
    const words = ["a", "b", "c", "d"]
    expect(words.map((word) => push(frameOf(word)))).toEqual(
      words.map((word) => frameOf(word).replace("text", "words")),
    )
    expect(shown).toEqual([frameOf("a"), frameOf("b")])
  })

  test("frames of the same shape are parsed again after any other event", () => {
    const { push, shown } = growing()
    for (const frame of [frameOf("a"), frameOf("b"), frameOf("c"), ended, frameOf("d"), frameOf("e"), frameOf("f")])
      push(frame)
    expect(shown).toEqual([frameOf("a"), frameOf("b"), ended, frameOf("d"), frameOf("e")])
  })

  test("frames of the same shape are parsed while part of a frame awaits its end", () => {
    const { push, shown } = growing()
    const text = frameOf("a") + frameOf("b") + frameOf("c").slice(0, 9)
    expect(push(text) + push(frameOf("c").slice(9)) + push(frameOf("d"))).toBe(
      ["a", "b", "c", "d"].map((word) => frameOf(word).replace("text", "words")).join(""),
    )
    expect(shown).toEqual([frameOf("a"), frameOf("b"), frameOf("c")])
  })

  test("frames of the same shape pass alike at any cut of the bytes", () => {
    const whole = ["a", "b", "c"].map(frameOf).join("") + ended + ["d", "e", "f"].map(frameOf).join("")
    const expected = whole.replaceAll('"text"', '"words"')
    for (let first = 0; first <= whole.length; first++) {
      for (const second of [first + 1, first + 17, whole.length - 3]) {
        const { push } = growing()
        const pieces = [whole.slice(0, first), whole.slice(first, second), whole.slice(Math.max(first, second))]
        expect(pieces.map(push).join("")).toBe(expected)
      }
    }
  })
})
