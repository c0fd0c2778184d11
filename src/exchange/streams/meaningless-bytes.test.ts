import { describe, expect, test } from "bun:test"
import type { StreamEvent } from "../../canonical/chat/stream-event.ts"
import { MAX_MEANINGLESS_BYTES, MeaninglessBytes } from "./meaningless-bytes.ts"

const frame = (length: number, data?: string) => ({ raw: "x".repeat(length), event: undefined, data, dataStart: -1 })
const HALF = frame(MAX_MEANINGLESS_BYTES / 2)
const delta = (text: string): StreamEvent => ({ type: "part-delta", candidate: 0, part: 0, text })

describe("bytes without content", () => {
  test("bytes without content are counted up to a bound", () => {
    const bytes = new MeaninglessBytes()
    expect([bytes.exceededBy(HALF), bytes.exceededBy(HALF), bytes.exceededBy(frame(1))]).toEqual([false, false, true])
  })

  test.each<[string, StreamEvent, boolean]>([
    ["text", delta("a"), true],
    ["empty text", delta(""), false],
    [
      "a tool call",
      { type: "part-start", candidate: 0, part: 0, start: { kind: "tool-call", id: "1", name: "f", runsAt: "client" } },
      true,
    ],
    ["a part that begins", { type: "part-start", candidate: 0, part: 0, start: { kind: "text" } }, false],
    ["a finish", { type: "candidate-end", candidate: 0, finish: { reason: "stop" } as never }, true],
    ["something of one vendor's own", { type: "foreign", protocol: "x", value: {} }, true],
    ["usage", { type: "usage", usage: { input: 1 } as never }, false],
  ])("the count of bytes without content restarts after %s, if that is content", (_, event, isContent) => {
    const bytes = new MeaninglessBytes()
    bytes.exceededBy(HALF)
    bytes.exceededBy(HALF)
    bytes.hear(event)
    expect(bytes.exceededBy(frame(1))).toBe(!isContent)
  })

  test("a large event of unknown form counts as a few meaningless bytes", () => {
    const bytes = new MeaninglessBytes()
    for (let event = 0; event < 100; event++) expect(bytes.exceededBy(frame(3_000_000, "{}"))).toBe(false)
  })

  test("keep-alives for the longest allowed stream stay far below the bound", () => {
    const bytes = new MeaninglessBytes()
    const comment = { raw: ": STILL PROCESSING YOUR REQUEST\n\n", event: undefined, data: undefined, dataStart: -1 }
    for (let second = 0; second < 30 * 60; second++) expect(bytes.exceededBy(comment)).toBe(false)
  })
})
