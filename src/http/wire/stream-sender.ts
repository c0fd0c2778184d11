// Sends a stream as it comes, and asks for no more than the client takes. The head leaves with the first piece.
import type { ResponseSink, ResponseStream } from "../../exchange/client-response.ts"

interface StreamReceiver {
  /** Whether all of it is with the kernel. */
  write(bytes: Uint8Array): boolean
  answered(): void
  terminate(): void
}

interface StreamSenderOptions {
  readonly stream: ResponseStream
  readonly head: string
  /** Else its end is the connection's. */
  readonly isChunked: boolean
}

const LAST_CHUNK = Buffer.from("0\r\n\r\n")

export class StreamSender implements ResponseSink {
  private readonly stream: ResponseStream
  private readonly isChunked: boolean
  /** The bytes before the next piece. */
  private head: string
  /** Bytes enqueued in one turn are written at once. */
  private readonly gathered: Uint8Array[] = []
  private isTaken = true
  private isPulling = false
  private isOver = false

  constructor(
    private readonly receiver: StreamReceiver,
    { stream, head, isChunked }: StreamSenderOptions,
  ) {
    this.stream = stream
    this.head = head
    this.isChunked = isChunked
  }

  start(): void {
    this.stream.start(this)
    this.pull()
  }

  enqueue(bytes: Uint8Array): void {
    if (this.isOver || bytes.byteLength === 0) return
    if (this.gathered.length === 0) queueMicrotask(this.onGathered)
    this.gathered.push(this.framed(bytes))
  }

  close(): void {
    if (this.isOver) return
    if (this.head !== "") this.gathered.push(Buffer.from(this.head, "latin1"))
    if (this.isChunked) this.gathered.push(LAST_CHUNK)
    this.flush()
    this.isOver = true
    this.receiver.answered()
  }

  /** Without its end, so that the client notices. */
  error(): void {
    if (this.isOver) return
    this.isOver = true
    this.receiver.terminate()
  }

  /** The client has stopped reading. */
  cancel(): void {
    if (this.isOver) return
    this.isOver = true
    this.stream.cancel()
  }

  /** All that was written is with the kernel. */
  goOn(): void {
    this.isTaken = true
    this.pull()
  }

  private pull(): void {
    while (!this.isOver && this.isTaken && !this.isPulling) {
      this.isPulling = true
      const pulling = this.stream.pull()
      if (pulling) {
        pulling.then(this.onPulled, this.onFailure)
        return
      }
      this.isPulling = false
      // A stream that has nothing to say just now says something by itself later.
      if (this.gathered.length === 0) return
      this.flush()
    }
  }

  private readonly onGathered = (): void => {
    this.flush()
    this.pull()
  }

  private readonly onPulled = (): void => {
    this.isPulling = false
    this.flush()
    this.pull()
  }

  private readonly onFailure = (): void => this.error()

  private flush(): void {
    const { gathered } = this
    const [first] = gathered
    if (first === undefined || this.isOver) return
    const bytes = gathered.length === 1 ? first : Buffer.concat(gathered)
    gathered.length = 0
    if (!this.receiver.write(bytes)) this.isTaken = false
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
