// The transcript of a response, kept for counting if the upstream reports no usage.
import { decodeByteText, toByteText } from "../../transport/json/byte-text.ts"

/** More than this is not kept; of the rest only the length is known. */
const MAX_KEPT = 32 * 1024
const FIRST_CAPACITY = 512

export class AnswerTranscript {
  /** Of everything; of what passed unread in bytes. */
  length = 0
  /** Of each candidate. */
  private readonly texts: string[] = []
  private kept = 0
  private lastCandidate = 0
  /** JSON-escaped text of events that passed unread, until another candidate continues. */
  private unread = new Uint8Array(0)
  private unreadLength = 0

  addText(candidate: number, text: string): void {
    this.length += text.length
    if (this.kept >= MAX_KEPT) return
    this.decodeUnread()
    this.lastCandidate = candidate
    this.kept += text.length
    this.texts[candidate] = (this.texts[candidate] ?? "") + text
  }

  /** Separates the following text from the text before. */
  addBreak(candidate: number): void {
    if (this.kept > 0) this.addText(candidate, "\n")
  }

  /** The one who spoke last goes on. */
  addUnread(bytes: Uint8Array, from: number, to: number): void {
    this.length += to - from
    if (this.kept >= MAX_KEPT) return
    this.kept += to - from
    const length = this.unreadLength + to - from
    if (length > this.unread.length) this.makeRoom(length)
    for (let at = from; at < to; at++) this.unread[this.unreadLength++] = bytes[at] as number
  }

  /** As much as was kept, and what share of all that is. */
  whole(): { readonly text: string; readonly share: number } {
    this.decodeUnread()
    const text = this.texts.filter((each) => each !== undefined).join("\n")
    return { text, share: this.kept === 0 ? 1 : this.kept / this.length }
  }

  private decodeUnread(): void {
    if (this.unreadLength === 0) return
    const inner = decodeByteText(toByteText(this.unread.subarray(0, this.unreadLength)))
    this.unreadLength = 0
    this.texts[this.lastCandidate] = (this.texts[this.lastCandidate] ?? "") + JSON.parse(`"${inner}"`)
  }

  private makeRoom(length: number): void {
    const grown = new Uint8Array(Math.max(FIRST_CAPACITY, length, Math.min(2 * length, MAX_KEPT)))
    grown.set(this.unread.subarray(0, this.unreadLength))
    this.unread = grown
  }
}
