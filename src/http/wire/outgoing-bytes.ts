// Bytes on their way to a client: what the kernel does not take waits here, in order.

interface Sink {
  /** How many bytes it has taken; less than 0 where it takes none any more. */
  write(bytes: string | Uint8Array): number
}

export class OutgoingBytes {
  private unsent: Uint8Array[] = []

  constructor(private readonly sink: Sink) {}

  get isFlushed(): boolean {
    return this.unsent.length === 0
  }

  /** `length` is that of a text's bytes, where it is not all ASCII. Whether the kernel has taken all of it. */
  write(bytes: string | Uint8Array, length = bytes.length): boolean {
    const sent = this.isFlushed ? this.sink.write(bytes) : 0
    if (sent === length) return true
    if (sent >= 0) this.unsent.push((typeof bytes === "string" ? Buffer.from(bytes) : bytes).subarray(sent))
    return false
  }

  /** The kernel takes bytes again: whether it took any. */
  flush(): boolean {
    let progressed = false
    for (let next = this.unsent[0]; next; next = this.unsent[0]) {
      const sent = this.sink.write(next)
      if (sent > 0) progressed = true
      if (sent < next.byteLength) {
        if (sent > 0) this.unsent[0] = next.subarray(sent)
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
