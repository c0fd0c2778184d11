import { expect, test } from "bun:test"
import fc from "fast-check"
import { fromByteText } from "../../transport/json/byte-text.ts"
import { AnswerTranscript } from "./answer-transcript.ts"

/** Adds a text as an unparsed event holds it: between quotes, in UTF-8. */
function hearUnread(said: AnswerTranscript, text: string): void {
  const frame = Buffer.from(`{"text":${JSON.stringify(text)}}`)
  said.addUnread(frame, '{"text":"'.length, frame.length - '"}'.length)
}

test("the transcript is the same for parsed and unparsed pieces of any size", () => {
  const piece = fc.record({ text: fc.string({ unit: "grapheme", maxLength: 40 }), isRead: fc.boolean() })
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 60 }), (pieces) => {
      const said = new AnswerTranscript()
      for (const { text, isRead } of pieces) isRead ? said.addText(0, text) : hearUnread(said, text)
      expect(said.whole()).toEqual({ text: pieces.map(({ text }) => text).join(""), share: 1 })
    }),
  )
})

test("interleaved candidates are kept separate in the transcript", () => {
  const said = new AnswerTranscript()
  for (const [candidate, text] of [
    [1, "uno "],
    [0, "one "],
    [1, "dos"],
    [0, "two"],
  ] as const)
    said.addText(candidate, text)
  expect(said.whole().text).toBe("one two\nuno dos")
})

test("a transcript beyond its size limit knows the share it kept", () => {
  const said = new AnswerTranscript()
  const unread = fromByteText("x".repeat(8 * 1024))
  for (let at = 0; at < 256; at++) said.addUnread(unread, 0, unread.length)
  const { text, share } = said.whole()
  expect(said.length).toBe(2 * 1024 * 1024)
  expect(text.length).toBeLessThan(64 * 1024)
  expect(text.length / share).toBe(2 * 1024 * 1024)
})
