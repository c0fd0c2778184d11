import { expect, test } from "bun:test"
import fc from "fast-check"
import { fromByteText } from "../../transport/json/byte-text.ts"
import { AnswerTranscript } from "./answer-transcript.ts"

/** Adds a text as an unparsed event holds it: between quotes, in UTF-8. */
function hearUnread(transcript: AnswerTranscript, text: string): void {
  const frame = Buffer.from(`{"text":${JSON.stringify(text)}}`)
  transcript.addUnread(frame, '{"text":"'.length, frame.length - '"}'.length)
}

test("the transcript is the same for parsed and unparsed pieces of any size", () => {
  const piece = fc.record({ text: fc.string({ unit: "grapheme", maxLength: 40 }), isRead: fc.boolean() })
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 60 }), (pieces) => {
      const transcript = new AnswerTranscript()
      for (const { text, isRead } of pieces) isRead ? transcript.addText(0, text) : hearUnread(transcript, text)
      expect(transcript.whole()).toEqual({ text: pieces.map(({ text }) => text).join(""), share: 1 })
    }),
  )
})

test("interleaved candidates are kept separate in the transcript", () => {
  const transcript = new AnswerTranscript()
  for (const [candidate, text] of [
    [1, "uno "],
    [0, "one "],
    [1, "dos"],
    [0, "two"],
  ] as const)
    transcript.addText(candidate, text)
  expect(transcript.whole().text).toBe("one two\nuno dos")
})

test("a transcript beyond its size limit knows the share it kept", () => {
  const transcript = new AnswerTranscript()
  const unread = fromByteText("x".repeat(8 * 1024))
  for (let at = 0; at < 256; at++) transcript.addUnread(unread, 0, unread.length)
  const { text, share } = transcript.whole()
  expect(transcript.length).toBe(2 * 1024 * 1024)
  expect(text.length).toBeLessThan(64 * 1024)
  expect(text.length / share).toBe(2 * 1024 * 1024)
})
