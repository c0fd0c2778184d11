// Bytes on their way to a client: what the kernel does not take waits here, in order.

interface ByteSink {
  /** How many bytes it has taken; less than 0 where it takes none any more. */
  write(bytes: string | Uint8Array): number
}

export class OutgoingBytes {
  private unsent: Uint8Array[] = []

  constructor(private readonly sink: ByteSink) {}

  get isFlushed(): boolean {
    return this.unsent.length === 0
  }

  /** `length` is that of a text's bytes, where it is not all ASCII. Whether the kernel has taken all of it. */
  write(bytes: string | Uint8Array, length = bytes.length): boolean {
    const isFirst = this.isFlushed
    const sent = isFirst ? this.sink.write(bytes) : 0
    if (sent === length) return isFirst
    if (sent >= 0) this.unsent.push(unsentRest(typeof bytes === "string" ? Buffer.from(bytes) : bytes, sent))
    return false
  }

  /** The kernel takes bytes again: whether it took any. */
  flush(): boolean {
    let progressed = false
    for (let next = this.unsent[0]; next; next = this.unsent[0]) {
      const sent = this.sink.write(next)
      if (sent > 0) progressed = true
      if (sent < next.byteLength) {
        if (sent > 0) this.unsent[0] = unsentRest(next, sent)
        return progressed
      }
      this.unsent.shift()
    }
    return progressed
  }

  drop(): void {
    this.unsent = []
  }
}

/** A little that is left of much is copied: else it would keep all of it in memory. */
function unsentRest(bytes: Uint8Array, sent: number): Uint8Array {
  const left = bytes.subarray(sent)
  return left.byteLength * 2 < left.buffer.byteLength ? Buffer.from(left) : left
}
