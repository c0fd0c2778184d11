// Counts bytes of a stream without content: comments, blank lines, empty events. A heart-beat every few
// seconds never comes near the bound; a host that sends nothing else is cut off.
import { isMeaningful, type StreamEvent } from "../../canonical/chat/stream-event.ts"
import type { SseFrame } from "../../transport/streams/sse.ts"

export const MAX_MEANINGLESS_BYTES = 4 * 1024 * 1024
/** Limit per event: a large unknown event, such as an image preview, counts as content. */
const MAX_COUNTED_LENGTH = 16 * 1024

export class MeaninglessBytes {
  private count = 0

  /** Counts a frame before it is known what it says; whether that is too much. */
  exceededBy({ raw, data }: SseFrame): boolean {
    this.count += data === undefined ? raw.length : Math.min(raw.length, MAX_COUNTED_LENGTH)
    return this.count > MAX_MEANINGLESS_BYTES
  }

  /** An event of the frame: content begins the count anew. */
  hear(event: StreamEvent): void {
    if (isContent(event)) this.count = 0
  }

  forget(): void {
    this.count = 0
  }
}

function isContent(event: StreamEvent): boolean {
  if (isMeaningful(event)) return true
  if (event.type === "part-end") return event.sealed !== undefined
  return event.type === "foreign" || event.type === "part-cite" || event.type === "logprobs"
}
