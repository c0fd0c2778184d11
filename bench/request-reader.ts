// Cuts the bytes of one upstream connection into requests and hands over each head and body. Just enough HTTP/1.1 for a proxy
// in front: a Content-Length or a chunked body, no trailers.

const headEnd = Buffer.from("\r\n\r\n")

export class RequestReader {
  readonly #onRequest: (body: Buffer, head: string) => void
  #parts: Buffer[] = []
  #length = 0
  /** Bytes without which another look is useless. */
  #needed = 0

  constructor(onRequest: (body: Buffer, head: string) => void) {
    this.#onRequest = onRequest
  }

  push(bytes: Buffer): void {
    this.#parts.push(bytes)
    this.#length += bytes.length
    while (this.#length > 0 && this.#length >= this.#needed) {
      const [only] = this.#parts
      const whole = this.#parts.length === 1 && only ? only : Buffer.concat(this.#parts)
      this.#parts = [whole]
      const used = this.#readOne(whole)
      if (used === 0) return
      this.#parts = used < whole.length ? [whole.subarray(used)] : []
      this.#length -= used
      this.#needed = 0
    }
  }

  /** The bytes the request took, or 0 while some are missing. */
  #readOne(whole: Buffer): number {
    const end = whole.indexOf(headEnd)
    if (end < 0) return 0
    const head = whole.toString("latin1", 0, end)
    const start = end + headEnd.length
    if (/\r\ntransfer-encoding: *chunked/i.test(head)) return this.#readChunked(whole, { start, head })
    const length = Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? 0)
    this.#needed = start + length
    if (whole.length < this.#needed) return 0
    this.#onRequest(whole.subarray(start, start + length), head)
    return start + length
  }

  #readChunked(whole: Buffer, { start, head }: { start: number; head: string }): number {
    const chunks: Buffer[] = []
    for (let at = start; ; ) {
      const lineEnd = whole.indexOf("\r\n", at, "latin1")
      if (lineEnd < 0) return 0
      const size = Number.parseInt(whole.toString("latin1", at, lineEnd), 16)
      const next = lineEnd + 2 + size + 2
      if (whole.length < next) return 0
      if (size === 0) {
        this.#onRequest(Buffer.concat(chunks), head)
        return next
      }
      chunks.push(whole.subarray(lineEnd + 2, lineEnd + 2 + size))
      at = next
    }
  }
}
