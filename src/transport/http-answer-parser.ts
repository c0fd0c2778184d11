// Reads an HTTP/1.1 answer out of bytes that come in pieces of any size. Strict: what is doubtful is an error, for a
// connection on which two sides disagree about where an answer ends must not be used again.
import { toByteText } from "./byte-text.ts"

export interface AnswerHead {
  readonly status: number
  /** By name in lower case; those that came more than once joined with a comma. */
  readonly headers: ReadonlyMap<string, string>
}

/** What is told of an answer, in this order; any number of pieces. */
export interface AnswerListener {
  head(head: AnswerHead): void
  piece(bytes: Uint8Array): void
  end(): void
}

export class HttpSyntaxError extends Error {
  override readonly name = "HttpSyntaxError"
}

const MAX_HEAD_BYTES = 64 * 1024
const MAX_LINE_BYTES = 4096

type State = "head" | "counted" | "size" | "chunk" | "chunk-end" | "trailer" | "open" | "done"

export class HttpAnswerParser {
  /** Whether the connection can carry another request once this answer has ended. */
  keepsAlive = false
  private state: State = "head"
  /** Bytes of the head, or of a line within the body, that are not complete yet. */
  private rest: Uint8Array = NOTHING
  /** Of the body, or of the chunk. */
  private left = 0
  private trailerBytes = 0

  constructor(private readonly listener: AnswerListener) {}

  get isDone(): boolean {
    return this.state === "done"
  }

  /** Throws HttpSyntaxError for what is no answer, and for bytes behind one. */
  push(bytes: Uint8Array): void {
    let source = bytes
    let at = 0
    if (this.state === "head") {
      source = this.withRest(bytes)
      at = this.takeHeads(source)
      if (this.stillInHead()) {
        if (source.byteLength - at > MAX_HEAD_BYTES) throw new HttpSyntaxError("the head is too long")
        this.rest = source.subarray(at)
        return
      }
    }
    while (at < source.byteLength) at = this.takeBody(source, at)
  }

  /** The connection has closed: well for answers that end with it. */
  close(): void {
    if (this.state === "open") this.finish()
    else if (this.state !== "done") throw new HttpSyntaxError("the connection closed within an answer")
  }

  /** Reads the head, and those of interim answers before it; gives the place behind what it read. */
  private takeHeads(bytes: Uint8Array): number {
    let at = 0
    for (let end = headEnd(bytes, at); end >= 0; end = headEnd(bytes, at)) {
      const head = parseHead(toByteText(bytes.subarray(at, end - 4)))
      at = end
      if (head.status === 101) throw new HttpSyntaxError("the protocol was changed although nobody asked")
      if (head.status >= 200) {
        this.begin(head)
        break
      }
    }
    return at
  }

  private stillInHead(): boolean {
    return this.state === "head"
  }

  /** These bytes behind those of the head or line that is not complete yet. */
  private withRest(bytes: Uint8Array): Uint8Array {
    const all = this.rest === NOTHING ? bytes : joined(this.rest, bytes)
    this.rest = NOTHING
    return all
  }

  private begin(head: AnswerHead): void {
    const { status, headers } = head
    const encoding = headers.get("transfer-encoding")
    const length = headers.get("content-length")
    const connection = headers.get("connection")?.toLowerCase() ?? ""
    this.keepsAlive = !connection.includes("close") && !(encoding !== undefined && length !== undefined)
    if (status === 204 || status === 304) this.state = "done"
    else if (encoding !== undefined) {
      if (encoding.toLowerCase() !== "chunked") throw new HttpSyntaxError("an unknown transfer encoding")
      this.state = "size"
    } else if (length !== undefined) {
      this.left = lengthOf(length)
      this.state = this.left === 0 ? "done" : "counted"
    } else {
      this.keepsAlive = false
      this.state = "open"
    }
    this.listener.head(head)
    if (this.state === "done") this.listener.end()
  }

  /** Takes what it can of the body, and gives the place behind that. */
  private takeBody(bytes: Uint8Array, at: number): number {
    switch (this.state) {
      case "counted":
      case "chunk":
        return this.takeCounted(bytes, at)
      case "open":
        this.listener.piece(at === 0 ? bytes : bytes.subarray(at))
        return bytes.byteLength
      case "size":
      case "chunk-end":
      case "trailer":
        return this.takeLine(bytes, at)
      default:
        throw new HttpSyntaxError("bytes behind the end of an answer")
    }
  }

  private takeCounted(bytes: Uint8Array, at: number): number {
    const end = Math.min(bytes.byteLength, at + this.left)
    this.left -= end - at
    this.listener.piece(at === 0 && end === bytes.byteLength ? bytes : bytes.subarray(at, end))
    if (this.left > 0) return end
    if (this.state === "chunk") this.state = "chunk-end"
    else this.finish()
    return end
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
      if (line !== "") throw new HttpSyntaxError("a chunk is longer than it said")
      this.state = "size"
    } else if (this.state === "size") {
      this.left = chunkSize(line)
      this.state = this.left === 0 ? "trailer" : "chunk"
    } else if (line === "") this.finish()
    else {
      this.trailerBytes += line.length
      if (this.trailerBytes > MAX_HEAD_BYTES) throw new HttpSyntaxError("the trailer is too long")
    }
  }

  private finish(): void {
    this.state = "done"
    this.listener.end()
  }
}

const NOTHING = new Uint8Array(0)
const CR = 0x0d
const LF = 0x0a

/** The place behind the blank line; -1 where there is none yet. */
function headEnd(bytes: Uint8Array, from: number): number {
  for (let at = bytes.indexOf(LF, from + 3); at >= 0; at = bytes.indexOf(LF, at + 1)) {
    if (bytes[at - 1] === CR && bytes[at - 2] === LF && bytes[at - 3] === CR) return at + 1
  }
  return -1
}

const STATUS_LINE = /^HTTP\/1\.[01] ([1-5]\d\d)(?: |$)/
const NAME = /^[\w!#$%&'*+.^`|~-]+$/
/** A line may end in nothing else, and hold neither. */
const STRAY = /\0|\r(?!\n)|(?<!\r)\n/

function parseHead(text: string): AnswerHead {
  const [first = "", ...lines] = text.split("\r\n")
  const status = STATUS_LINE.exec(first)?.[1]
  if (status === undefined) throw new HttpSyntaxError("the first line is no status line")
  if (STRAY.test(text)) throw new HttpSyntaxError("a control character in the head")
  const headers = new Map<string, string>()
  for (const line of lines) {
    const colon = line.indexOf(":")
    const name = headerName(line.slice(0, Math.max(colon, 0)))
    const value = line.slice(colon + 1).trim()
    const before = headers.get(name)
    if (before !== undefined && name === "content-length" && before !== value) {
      throw new HttpSyntaxError("two different lengths")
    }
    headers.set(name, before === undefined || name === "content-length" ? value : `${before}, ${value}`)
  }
  // A host that speaks HTTP/1.0 closes unless it says otherwise.
  if (first.startsWith("HTTP/1.0") && !/keep-alive/i.test(headers.get("connection") ?? "")) {
    headers.set("connection", "close")
  }
  return { status: Number(status), headers }
}

/** Hosts use few names, so each is looked at once. */
const names = new Map<string, string>()
const MAX_NAMES = 1000

function headerName(written: string): string {
  const known = names.get(written)
  if (known !== undefined) return known
  if (!NAME.test(written)) throw new HttpSyntaxError("a header line is malformed")
  const name = written.toLowerCase()
  if (names.size < MAX_NAMES) names.set(written, name)
  return name
}

function lengthOf(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new HttpSyntaxError("the length is no number")
  return Number(text)
}

/** What stands behind a semicolon nobody needs. */
function chunkSize(line: string): number {
  const [, size] = /^([0-9a-f]{1,12})[ \t]*(?:;.*)?$/i.exec(line) ?? []
  if (size === undefined) throw new HttpSyntaxError("a chunk's size is no number")
  return Number.parseInt(size, 16)
}

function joined(one: Uint8Array, other: Uint8Array): Uint8Array {
  const all = new Uint8Array(one.byteLength + other.byteLength)
  all.set(one)
  all.set(other, one.byteLength)
  return all
}
