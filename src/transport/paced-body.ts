// The body of a `Response`, handed out in slices as the event loop has turns for it. What comes over a connection of ours
// is paced there; what another client has read, or what was unpacked, comes in pieces of any size and number.

import { SLICE_BYTES, turnBudget } from "./event-loop/turn-budget.ts"
import type { BodyChunk, UpstreamBody, UpstreamBodyReader } from "./http-response.ts"

export class PacedBody implements UpstreamBody, UpstreamBodyReader {
  private readonly reader: UpstreamBodyReader
  private rest: Uint8Array | undefined

  constructor(body: ReadableStream<Uint8Array>) {
    this.reader = body.getReader() as UpstreamBodyReader
  }

  getReader(): UpstreamBodyReader {
    return this
  }

  async read(): Promise<BodyChunk> {
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
