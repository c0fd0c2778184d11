// The body of a `Response`, handed out in slices as the event loop has turns for it. What comes over a connection of ours
// is paced there; what another client has read, or what was unpacked, comes in pieces of any size and number.
import type { AnswerBody, AnswerReader, Piece } from "./http-answer.ts"
import { SLICE_BYTES, turnBudget } from "./turn-budget.ts"

export class PacedBody implements AnswerBody, AnswerReader {
  private readonly reader: AnswerReader
  private rest: Uint8Array | undefined

  constructor(body: ReadableStream<Uint8Array>) {
    this.reader = body.getReader() as AnswerReader
  }

  getReader(): AnswerReader {
    return this
  }

  async read(): Promise<Piece> {
    const next = this.rest ? { done: false as const, value: this.rest } : await this.reader.read()
    if (next.done) return next
    const slice = next.value.subarray(0, SLICE_BYTES)
    this.rest = next.value.byteLength > SLICE_BYTES ? next.value.subarray(SLICE_BYTES) : undefined
    if (!turnBudget.take(slice.byteLength)) await turnBudget.turn(slice.byteLength)
    return { done: false, value: slice }
  }

  cancel(reason?: unknown): Promise<void> {
    return this.reader.cancel(reason)
  }
}
