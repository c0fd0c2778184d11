// A body in chunks, as it comes in pieces: its data without the framing. Trailers are read, checked and dropped.

const CR = 0x0d
const LF = 0x0a
/** A size and its extensions. */
const MAX_LINE = 256
const MAX_TRAILERS = 8 * 1024
const SIZE_LINE = /^([0-9a-fA-F]{1,8})(?:[ \t]*;[\t\x20-\x7e]*)?$/
const TRAILER_LINE = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+:[\t\x20-\x7e\x80-\xff]*$/

type ChunkState = "size" | "data" | "data-end" | "trailers" | "complete"

/** The framing is broken, so the end of the body is unknown. */
export class ChunkFault extends Error {
  override readonly name = "ChunkFault"
}

export class ChunkedBody {
  private state: ChunkState = "size"
  private line = ""
  private left = 0
  private trailerBytes = 0

  get isComplete(): boolean {
    return this.state === "complete"
  }

  /** Reads on in `bytes`; how many of them belong to the body. Throws a ChunkFault. */
  read(bytes: Buffer, onData: (data: Buffer) => void): number {
    let at = 0
    while (at < bytes.length && this.state !== "complete") {
      if (this.state === "data") {
        const data = bytes.subarray(at, at + this.left)
        this.left -= data.length
        at += data.length
        if (this.left === 0) this.state = "data-end"
        onData(data)
      } else at = this.readLine(bytes, at)
    }
    return at
  }

  private readLine(bytes: Buffer, from: number): number {
    const end = bytes.indexOf(LF, from)
    const to = end < 0 ? bytes.length : end
    const most = this.state === "trailers" ? MAX_TRAILERS : MAX_LINE
    if (this.line.length + to - from > most) throw new ChunkFault("a line is too long")
    this.line += bytes.toString("latin1", from, to)
    if (end < 0) return to
    const line = this.line
    this.line = ""
    if (line.charCodeAt(line.length - 1) !== CR) throw new ChunkFault("a line ends without a carriage return")
    this.endLine(line.slice(0, -1))
    return end + 1
  }

  private endLine(line: string): void {
    if (this.state === "size") {
      const size = SIZE_LINE.exec(line)?.[1]
      if (size === undefined) throw new ChunkFault("a chunk size is invalid")
      this.left = Number.parseInt(size, 16)
      this.state = this.left > 0 ? "data" : "trailers"
    } else if (this.state === "data-end") {
      if (line !== "") throw new ChunkFault("a chunk is longer than its size")
      this.state = "size"
    } else if (line === "") this.state = "complete"
    else this.skipTrailer(line)
  }

  private skipTrailer(line: string): void {
    this.trailerBytes += line.length
    if (this.trailerBytes > MAX_TRAILERS || !TRAILER_LINE.test(line)) throw new ChunkFault("a trailer is invalid")
  }
}
