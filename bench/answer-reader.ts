// Reads the answers on one client connection, just enough HTTP/1.1 to count them: status, Content-Length or chunked.

type AnswerEvents = {
  onHead(status: number): void
  onBody(piece: Buffer): void
  /** A chunk of a chunked body has begun: as a rule one write of the server. */
  onChunk(): void
  onEnd(): void
}

type ReaderPhase = "head" | "fixed" | "chunk-size" | "chunk-data" | "chunk-end" | "last-line"

const headEnd = Buffer.from("\r\n\r\n")
const LINE_FEED = 10

export class AnswerReader {
  readonly #events: AnswerEvents
  #phase: ReaderPhase = "head"
  #line = ""
  #head: Buffer = Buffer.alloc(0)
  #left = 0

  constructor(events: AnswerEvents) {
    this.#events = events
  }

  push(bytes: Buffer): void {
    for (let at = 0; at < bytes.length; ) at = this.#step(bytes, at)
  }

  /** Takes bytes from `at` on and returns where the next step begins. */
  #step(bytes: Buffer, at: number): number {
    switch (this.#phase) {
      case "head":
        return this.#readHead(bytes, at)
      case "fixed":
        return this.#readBody(bytes, at)
      case "chunk-data":
        return this.#readBody(bytes, at)
      default:
        return this.#readLine(bytes, at)
    }
  }

  #readHead(bytes: Buffer, at: number): number {
    const earlier = this.#head.length
    const rest = at === 0 ? bytes : bytes.subarray(at)
    const whole = earlier === 0 ? rest : Buffer.concat([this.#head, rest])
    const end = whole.indexOf(headEnd)
    if (end < 0) {
      this.#head = whole
      return bytes.length
    }
    this.#head = Buffer.alloc(0)
    const head = whole.toString("latin1", 0, end)
    this.#events.onHead(Number(head.slice(9, 12)))
    this.#beginBody(head)
    return at + end + headEnd.length - earlier
  }

  #beginBody(head: string): void {
    if (/\r\ntransfer-encoding: *chunked/i.test(head)) {
      this.#phase = "chunk-size"
      return
    }
    const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1]
    if (length === undefined) throw new Error("an answer without a length")
    this.#left = Number(length)
    this.#phase = "fixed"
    if (this.#left === 0) this.#finish()
  }

  #readBody(bytes: Buffer, at: number): number {
    const end = Math.min(bytes.length, at + this.#left)
    this.#events.onBody(bytes.subarray(at, end))
    this.#left -= end - at
    if (this.#left > 0) return end
    if (this.#phase === "fixed") this.#finish()
    else this.#phase = "chunk-end"
    return end
  }

  #readLine(bytes: Buffer, at: number): number {
    const end = bytes.indexOf(LINE_FEED, at)
    if (end < 0) {
      this.#line += bytes.toString("latin1", at)
      return bytes.length
    }
    const line = this.#line + bytes.toString("latin1", at, end)
    this.#line = ""
    this.#endLine(line)
    return end + 1
  }

  #endLine(line: string): void {
    if (this.#phase === "last-line") this.#finish()
    else if (this.#phase === "chunk-end") this.#phase = "chunk-size"
    else this.#beginChunk(line)
  }

  #beginChunk(line: string): void {
    this.#left = Number.parseInt(line, 16)
    if (Number.isNaN(this.#left)) throw new Error("a chunk without a size")
    this.#phase = this.#left === 0 ? "last-line" : "chunk-data"
    if (this.#left > 0) this.#events.onChunk()
  }

  #finish(): void {
    this.#phase = "head"
    this.#events.onEnd()
  }
}
