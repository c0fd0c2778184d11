// Where the body of a request ends, among the bytes that come behind its head.
import { ChunkedBody } from "./chunked-body.ts"
import type { IncomingBody } from "./incoming-body.ts"
import type { ClientRequestHead } from "./request-head.ts"

export class BodyFraming {
  private readonly chunks: ChunkedBody | undefined
  private left: number

  constructor(
    length: ClientRequestHead["bodyLength"],
    private readonly body: IncomingBody,
  ) {
    this.chunks = length === "chunked" ? new ChunkedBody() : undefined
    this.left = length === "chunked" ? Number.POSITIVE_INFINITY : length
  }

  /** Number of bytes still to come; infinite if unknown. */
  get missing(): number {
    return this.body.isComplete ? 0 : this.left
  }

  /** Hands the body what is its own; how many bytes that were. Throws a ChunkFault. */
  read(input: Buffer): number {
    const used = this.chunks ? this.chunks.read(input, this.addChunk) : this.readKnown(input)
    if (this.chunks ? this.chunks.isComplete : this.left === 0) this.body.end()
    return used
  }

  private readonly addChunk = (data: Buffer): void => this.body.add(data)

  private readKnown(input: Buffer): number {
    const used = Math.min(this.left, input.length)
    this.left -= used
    if (used > 0) this.body.add(used === input.length ? input : input.subarray(0, used))
    return used
  }
}
