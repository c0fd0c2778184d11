// Sends a stream as it comes, and asks for no more than the client takes. The head leaves with the first piece.

interface Receiver {
  /** Whether all of it is with the kernel. */
  write(bytes: string | Uint8Array): boolean
  answered(): void
  terminate(): void
}

interface StreamOptions {
  readonly body: ReadableStream<Uint8Array>
  readonly head: string
  /** Else its end is the connection's. */
  readonly isChunked: boolean
}

type Read = Awaited<ReturnType<ReadableStreamDefaultReader<Uint8Array>["read"]>>

const LAST_CHUNK = "0\r\n\r\n"

export class StreamSender {
  private readonly reader: ReadableStreamDefaultReader<Uint8Array>
  private readonly isChunked: boolean
  private head: string
  private isOver = false

  constructor(
    private readonly receiver: Receiver,
    { body, head, isChunked }: StreamOptions,
  ) {
    this.reader = body.getReader() as ReadableStreamDefaultReader<Uint8Array>
    this.head = head
    this.isChunked = isChunked
  }

  /** At first, and when all that was read is with the kernel. */
  goOn(): void {
    this.reader.read().then(this.onRead, this.onFailure)
  }

  /** Nobody reads any more. */
  cancel(): void {
    if (this.isOver) return
    this.isOver = true
    void this.reader.cancel().catch(() => {})
  }

  private readonly onRead = ({ done, value }: Read): void => {
    if (this.isOver) return
    if (done) {
      this.isOver = true
      const end = this.isChunked ? LAST_CHUNK : ""
      if (this.head + end !== "") this.receiver.write(this.head + end)
      this.receiver.answered()
    } else if (value.byteLength === 0) this.goOn()
    else if (this.receiver.write(this.framed(value))) this.goOn()
  }

  /** Without its end, so that the client notices. */
  private readonly onFailure = (): void => {
    if (this.isOver) return
    this.isOver = true
    this.receiver.terminate()
  }

  private framed(bytes: Uint8Array): Uint8Array {
    const before = this.isChunked ? `${this.head}${bytes.byteLength.toString(16)}\r\n` : this.head
    this.head = ""
    if (before === "") return bytes
    const end = before.length + bytes.byteLength
    const framed = Buffer.allocUnsafe(this.isChunked ? end + 2 : end)
    framed.write(before, 0, "latin1")
    framed.set(bytes, before.length)
    if (this.isChunked) framed.write("\r\n", end, "latin1")
    return framed
  }
}
