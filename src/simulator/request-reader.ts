// Splits the bytes of a connection into requests: as much HTTP/1.1 as the clients and gateways under test need.

export interface HttpRequest {
  readonly method: string
  readonly target: string
  /** Header values by name in lower case; of repeated headers the last. */
  readonly headers: ReadonlyMap<string, string>
  readonly body: Buffer
  readonly keepsAlive: boolean
}

interface SimulatorRequestHead extends Omit<HttpRequest, "body"> {
  readonly bodyAt: number
}

const HEAD_END = "\r\n\r\n"
const MAX_BYTES = 64 * 1024 * 1024

export class RequestReader {
  #pieces: Buffer[] = []
  #length = 0
  /** Bytes that must be there before another attempt to parse. */
  #needed = 0
  #head: SimulatorRequestHead | undefined
  #isContinueReported = false

  push(bytes: Buffer): void {
    this.#pieces.push(bytes)
    this.#length += bytes.length
    if (this.#length > MAX_BYTES) throw new Error("the request is larger than the simulator takes")
  }

  /** True once per request that waits for `100 Continue`. */
  waitsForContinue(): boolean {
    const waits = !this.#isContinueReported && this.#head?.headers.get("expect")?.toLowerCase() === "100-continue"
    this.#isContinueReported ||= waits
    return waits
  }

  /**
   * Removes and returns the next whole request; undefined while it is incomplete. Throws if the bytes are not HTTP.
   */
  next(): HttpRequest | undefined {
    if (this.#length === 0 || this.#length < this.#needed) return undefined
    const bytes = this.#joined()
    this.#head ??= readHead(bytes)
    const head = this.#head
    if (!head) return undefined
    const isChunked = /\bchunked\b/i.test(head.headers.get("transfer-encoding") ?? "")
    const read = isChunked ? readChunks(bytes, head.bodyAt) : readLength(bytes, head)
    this.#needed = read.end
    if (!read.body) return undefined
    this.#pieces = read.end < bytes.length ? [bytes.subarray(read.end)] : []
    this.#length -= read.end
    this.#needed = 0
    this.#head = undefined
    this.#isContinueReported = false
    const { bodyAt: _, ...rest } = head
    return { ...rest, body: read.body }
  }

  /** Joins pieces only when there may be enough of them, so that a large body is not copied for each. */
  #joined(): Buffer {
    const [only] = this.#pieces
    const bytes = this.#pieces.length === 1 && only ? only : Buffer.concat(this.#pieces)
    this.#pieces = [bytes]
    return bytes
  }
}

function readHead(bytes: Buffer): SimulatorRequestHead | undefined {
  const end = bytes.indexOf(HEAD_END)
  if (end < 0) return undefined
  const [first = "", ...lines] = bytes.toString("latin1", 0, end).split("\r\n")
  const [, method, target, version] = /^([A-Z]+) (\S+) HTTP\/1\.([01])$/.exec(first) ?? []
  if (method === undefined || target === undefined) throw new Error("the request is not HTTP/1.1")
  const headers = new Map<string, string>()
  for (const line of lines) {
    const colon = line.indexOf(":")
    headers.set(line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim())
  }
  const connection = headers.get("connection")?.toLowerCase()
  const keepsAlive = version === "1" ? connection !== "close" : connection === "keep-alive"
  return { method, target, headers, keepsAlive, bodyAt: end + HEAD_END.length }
}

/** The body and its end; without a body, the minimum number of bytes. */
interface ReadBody {
  readonly body?: Buffer
  readonly end: number
}

function readLength(bytes: Buffer, { bodyAt, headers }: SimulatorRequestHead): ReadBody {
  const length = Number(headers.get("content-length") ?? 0)
  if (!Number.isSafeInteger(length) || length < 0) throw new Error("the content-length is no number")
  const end = bodyAt + length
  return bytes.length < end ? { end } : { body: bytes.subarray(bodyAt, end), end }
}

function readChunks(bytes: Buffer, from: number): ReadBody {
  const chunks: Buffer[] = []
  for (let at = from; ; ) {
    const lineEnd = bytes.indexOf("\r\n", at)
    if (lineEnd < 0) return { end: 0 }
    const size = Number.parseInt(bytes.toString("latin1", at, lineEnd), 16)
    if (Number.isNaN(size)) throw new Error("a chunk has no size")
    const end = lineEnd + 2 + size + 2
    if (bytes.length < end) return { end }
    if (size === 0) return { body: Buffer.concat(chunks), end }
    chunks.push(bytes.subarray(lineEnd + 2, lineEnd + 2 + size))
    at = end
  }
}
