// Reads an HTTP/1.1 answer out of bytes that come in pieces of any size. Strict: what is doubtful is an error, for a
// connection on which two sides disagree about where an answer ends must not be used again.

import { HttpSyntaxError, type ParsedHead, parseHead, parseLength } from "./http-head.ts"
import { toByteText } from "./json/byte-text.ts"

export interface ResponseHead {
  readonly status: number
  /** By name in lower case; those that came more than once joined with a comma. */
  readonly headers: ReadonlyMap<string, string>
  /** The body's length if its framing states it; undefined if the connection's end does. */
  readonly length: number | undefined
}

/** The events of a response, in this order; any number of pieces. */
export interface ResponseListener {
  head(head: ResponseHead): void
  piece(bytes: Uint8Array): void
  end(): void
}

/** Of all heads of an answer together, those of interim answers included; the same for its trailer. */
const MAX_HEAD_BYTES = 64 * 1024
/** A host may show every few seconds that it still works, for as long as a unary call may take. */
const MAX_INTERIM_RESPONSES = 256
const MAX_LINE_BYTES = 4096
const MAX_EXTENSION_BYTES = 1024 * 1024
/** Smaller pieces of one read are put together: to hand out each costs more than to copy it. */
const LARGE_PIECE_BYTES = 4096

type ResponseParserState = "head" | "counted" | "size" | "chunk" | "chunk-end" | "trailer" | "open" | "done"

export class HttpResponseParser {
  /** Whether the connection can carry another request once this answer has ended. */
  keepsAlive = false
  private state: ResponseParserState = "head"
  /** Bytes of the head, or of a line within the body, that are not complete yet. */
  private rest: Uint8Array = NOTHING
  /** Of the body, or of the chunk. */
  private left = 0
  private headBytes = 0
  private interimResponses = 0
  private trailerBytes = 0
  private extensionBytes = 0
  /** The bytes being read, and the position of the body's bytes that were not reported yet. */
  private source: Uint8Array = NOTHING
  private gatheredFrom = 0
  private gatheredTo = 0

  constructor(private readonly listener: ResponseListener) {}

  get isDone(): boolean {
    return this.state === "done"
  }

  /**
   * Takes over `bytes`, which it may change. Throws HttpSyntaxError for an invalid response and for bytes behind one,
   * after it has reported the body's bytes before them.
   */
  push(bytes: Uint8Array): void {
    this.source = bytes
    let at = 0
    if (this.state === "head") {
      at = this.takeHeads(bytes)
      if (this.stillInHead()) return
    }
    try {
      while (at < this.source.byteLength) at = this.takeBody(this.source, at)
    } finally {
      this.emitGathered()
      this.source = NOTHING
    }
  }

  /** The connection has closed: well for answers that end with it. */
  close(): void {
    if (this.state === "open") this.finish()
    else if (this.state !== "done") throw new HttpSyntaxError("the connection closed within a response")
  }

  /** Reads the head, and those of interim answers before it; gives the place in `source` behind what it read. */
  private takeHeads(bytes: Uint8Array): number {
    // The end of a head cannot stand in what was looked through before.
    const looked = this.rest.byteLength
    const source = this.withRest(bytes)
    this.source = source
    let at = 0
    for (let end = headEnd(source, at, looked); end >= 0; end = headEnd(source, at, looked)) {
      this.countHead(end - at)
      const head = parseHead(toByteText(source.subarray(at, end - 4)))
      at = end
      if (head.status === 101) throw new HttpSyntaxError("the server switched protocols without a request to do so")
      if (head.status >= 200) {
        this.begin(head)
        return at
      }
      if (++this.interimResponses > MAX_INTERIM_RESPONSES) throw new HttpSyntaxError("too many interim responses")
    }
    if (this.headBytes + source.byteLength - at > MAX_HEAD_BYTES) throw new HttpSyntaxError("the head is too long")
    this.rest = source.subarray(at)
    return at
  }

  private countHead(length: number): void {
    this.headBytes += length
    if (this.headBytes > MAX_HEAD_BYTES) throw new HttpSyntaxError("the head is too long")
  }

  private stillInHead(): boolean {
    return this.state === "head"
  }

  /** These bytes behind those of the head or line that is not complete yet. */
  private withRest(bytes: Uint8Array): Uint8Array {
    const all = this.rest === NOTHING ? bytes : concatBytes(this.rest, bytes)
    this.rest = NOTHING
    return all
  }

  private begin({ status, headers, isHttp10 }: ParsedHead): void {
    const encoding = headers.get("transfer-encoding")
    const length = headers.get("content-length")
    const connection = headers.get("connection")?.toLowerCase() ?? ""
    // A host that speaks HTTP/1.0 closes unless it says otherwise, and knows no chunks.
    const stays = isHttp10 ? connection.includes("keep-alive") && encoding === undefined : !connection.includes("close")
    if (encoding !== undefined) headers.delete("content-length")
    if (status === 204 || status === 304) this.state = "done"
    else if (encoding !== undefined) {
      if (encoding.toLowerCase() !== "chunked") throw new HttpSyntaxError("an unknown transfer encoding")
      this.state = "size"
    } else if (length !== undefined) {
      this.left = parseLength(length)
      this.state = this.left === 0 ? "done" : "counted"
    } else this.state = "open"
    // Where there is no body, hosts have been seen to send one all the same.
    const isDoubtful =
      this.state === "done" || this.state === "open" || (encoding !== undefined && length !== undefined)
    this.keepsAlive = stays && !isDoubtful
    const isFixed = this.state === "counted" || this.state === "done"
    this.listener.head({ status, headers, length: isFixed ? this.left : undefined })
    if (this.state === "done") this.listener.end()
  }

  /** Takes what it can of the body, and gives the place behind that. */
  private takeBody(bytes: Uint8Array, at: number): number {
    switch (this.state) {
      case "counted":
      case "chunk":
        return this.takeCounted(bytes, at)
      case "open":
        this.gather(at, bytes.byteLength)
        return bytes.byteLength
      case "size":
        return this.takePlainSize(bytes, at) ?? this.takeLine(bytes, at)
      case "chunk-end":
        return this.takePlainEnd(bytes, at) ?? this.takeLine(bytes, at)
      case "trailer":
        return this.takeLine(bytes, at)
      default:
        throw new HttpSyntaxError("bytes after the end of a response")
    }
  }

  private takeCounted(bytes: Uint8Array, at: number): number {
    const end = Math.min(bytes.byteLength, at + this.left)
    this.left -= end - at
    this.gather(at, end)
    if (this.left > 0) return end
    if (this.state === "chunk") this.state = "chunk-end"
    else this.finish()
    return end
  }

  /** These bytes of the source are the body's. Small ones are moved up to those before them. */
  private gather(from: number, to: number): void {
    if (this.gatheredTo === 0) {
      this.gatheredFrom = from
      this.gatheredTo = to
    } else if (to - from < LARGE_PIECE_BYTES) {
      this.source.copyWithin(this.gatheredTo, from, to)
      this.gatheredTo += to - from
    } else {
      this.emitGathered()
      this.gather(from, to)
    }
  }

  private emitGathered(): void {
    const { source, gatheredFrom: from, gatheredTo: to } = this
    if (to === 0) return
    this.gatheredTo = 0
    this.listener.piece(from === 0 && to === source.byteLength ? source : source.subarray(from, to))
  }

  /** A chunk size alone on its line and whole in these bytes, as nearly all are. */
  private takePlainSize(bytes: Uint8Array, from: number): number | undefined {
    if (this.rest !== NOTHING) return undefined
    let size = 0
    let at = from
    for (let digit = hexDigit(bytes[at]); digit >= 0; digit = hexDigit(bytes[++at])) size = size * 16 + digit
    if (at === from || at > from + MAX_SIZE_DIGITS || bytes[at] !== CR || bytes[at + 1] !== LF) return undefined
    this.left = size
    this.state = size === 0 ? "trailer" : "chunk"
    return at + 2
  }

  private takePlainEnd(bytes: Uint8Array, at: number): number | undefined {
    if (this.rest !== NOTHING || bytes[at] !== CR || bytes[at + 1] !== LF) return undefined
    this.state = "size"
    return at + 2
  }

  private takeLine(bytes: Uint8Array, at: number): number {
    const newline = bytes.indexOf(LF, at)
    const end = newline < 0 ? bytes.byteLength : newline + 1
    const line = this.withRest(bytes.subarray(at, end))
    if (line.byteLength > MAX_LINE_BYTES) throw new HttpSyntaxError("a line of the body's framing is too long")
    if (newline < 0) {
      this.rest = line
      return end
    }
    if (line[line.byteLength - 2] !== CR) throw new HttpSyntaxError("a line of the body's framing ends in LF alone")
    this.readLine(toByteText(line.subarray(0, line.byteLength - 2)))
    return end
  }

  private readLine(line: string): void {
    if (this.state === "chunk-end") {
      if (line !== "") throw new HttpSyntaxError("a chunk is longer than its declared size")
      this.state = "size"
    } else if (this.state === "size") {
      this.left = chunkSize(line)
      this.extensionBytes += line.length
      if (this.extensionBytes > MAX_EXTENSION_BYTES) throw new HttpSyntaxError("the chunks' extensions are too long")
      this.state = this.left === 0 ? "trailer" : "chunk"
    } else if (line === "") this.finish()
    else {
      this.trailerBytes += line.length
      if (this.trailerBytes > MAX_HEAD_BYTES) throw new HttpSyntaxError("the trailer is too long")
    }
  }

  private finish(): void {
    this.state = "done"
    this.emitGathered()
    this.listener.end()
  }
}

const NOTHING = new Uint8Array(0)
const CR = 0x0d
const LF = 0x0a

/** The place behind the blank line; -1 where there is none yet. It does not end before `looked`. */
function headEnd(bytes: Uint8Array, from: number, looked: number): number {
  for (let at = bytes.indexOf(LF, Math.max(from + 3, looked)); at >= 0; at = bytes.indexOf(LF, at + 1)) {
    if (bytes[at - 1] === CR && bytes[at - 2] === LF && bytes[at - 3] === CR) return at + 1
  }
  return -1
}

const MAX_SIZE_DIGITS = 12

/** -1 for what is none. */
function hexDigit(code = 0): number {
  if (code >= 0x30 && code <= 0x39) return code - 0x30
  const letter = code | 0x20
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1
}

/** Chunk extensions after a semicolon are ignored. */
function chunkSize(line: string): number {
  const [, size] = /^([0-9a-f]{1,12})[ \t]*(?:;.*)?$/i.exec(line) ?? []
  if (size === undefined) throw new HttpSyntaxError("a chunk size is not a number")
  return Number.parseInt(size, 16)
}

function concatBytes(one: Uint8Array, other: Uint8Array): Uint8Array {
  const all = new Uint8Array(one.byteLength + other.byteLength)
  all.set(one)
  all.set(other, one.byteLength)
  return all
}
