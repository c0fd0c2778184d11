// A provider that sends endless bytes without content, in every form that HTTP and event streams allow.
import { createServer, type Server, type Socket } from "node:net"
import { gzipSync } from "node:zlib"
import { chunk, DONE, streamedWords } from "../stage/upstream.ts"

export interface FloodShape {
  readonly what: string
  /** Sent once, after the head, or in its place. */
  readonly first: string
  /** Sent again and again, for as long as the gateway takes it. */
  readonly piece: Buffer
  /** Whether a complete answer comes first and is accepted. */
  readonly isWhole?: boolean
}

const STREAM = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"
const OPEN = `${STREAM}\r\n`
const CHUNKED = `${STREAM}transfer-encoding: chunked\r\n\r\n`
const PIECE_BYTES = 64 * 1024

const repeated = (text: string) => Buffer.from(text.repeat(Math.ceil(PIECE_BYTES / text.length)))
const inChunks = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`
const byByte = (text: string) => [...text].map(inChunks).join("")
const word = chunk({ role: "assistant", content: "word" })
const whole = streamedWords("one two").join("")

/** Each before the first word, and after it. */
function streams(what: string, text: string): FloodShape[] {
  return [
    { what: `${what}, from the start`, first: OPEN, piece: repeated(text) },
    { what: `${what}, after a word`, first: OPEN + word, piece: repeated(text) },
    { what: `${what}, a byte a chunk`, first: CHUNKED + inChunks(word), piece: repeated(byByte(text)) },
  ]
}

/** One compressed answer, so that little is sent. */
function packed(what: string, text: string): FloodShape {
  const piece = gzipSync(Buffer.from(text.repeat(1_000_000)))
  return { what, first: `${STREAM}content-encoding: gzip\r\ncontent-length: ${piece.length}\r\n\r\n`, piece }
}

export const FLOODS: readonly FloodShape[] = [
  ...streams("comments", ":\n\n"),
  ...streams("comments with CRLF", ":\r\n\r\n"),
  ...streams("comments with CR", ":\r\r"),
  ...streams("long comments", `: ${"x".repeat(1000)}\n\n`),
  ...streams("blank lines", "\n\n"),
  ...streams("names of events", "event: ping\n\n"),
  ...streams("empty objects", "data: {}\n\n"),
  ...streams("events without choices", 'data: {"choices":[]}\n\n'),
  ...streams("empty words", chunk({ content: "" })),
  ...streams("usage", chunk({}, null, { usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 } })),
  { what: "lines that do not end an event", first: OPEN + word, piece: repeated(":\n") },
  { what: "lines of data that do not end an event", first: OPEN + word, piece: repeated("data: x\n") },
  { what: "one line without end", first: OPEN + word, piece: repeated("x") },
  { what: "interim answers", first: "", piece: repeated("HTTP/1.1 102 Processing\r\n\r\n") },
  { what: "hints", first: "", piece: repeated("HTTP/1.1 103 Early Hints\r\nlink: </a>; rel=preload\r\n\r\n") },
  { what: "headers", first: STREAM, piece: repeated("x-a: b\r\n") },
  { what: "chunk extensions", first: CHUNKED, piece: repeated(`1;${"x".repeat(2000)}\r\n:\r\n`) },
  { what: "a chunk's size", first: CHUNKED, piece: repeated("0") },
  { what: "a trailer", first: `${CHUNKED}${inChunks(word)}0\r\n`, piece: repeated("x-a: b\r\n") },
  packed("packed comments", ": packed\n\n"),
  packed("packed empty objects", "data: {}\n\n"),
  { what: "more after the end", first: OPEN + whole, piece: repeated(": more\n\n"), isWhole: true },
  { what: "words after the end", first: OPEN + whole, piece: repeated(word), isWhole: true },
  { what: "the end again and again", first: OPEN + whole, piece: repeated(DONE), isWhole: true },
]

export class FloodHost {
  /** The most bytes that a connection took. */
  mostBytes = 0
  private readonly server: Server
  private readonly sockets = new Set<Socket>()

  private constructor() {
    this.server = createServer((socket) => {
      this.sockets.add(socket)
      socket.on("error", () => {})
      socket.once("close", () => this.sockets.delete(socket))
      socket.once("data", (bytes) => this.pour(socket, Number(/flood (\d+)/.exec(bytes.toString("latin1"))?.[1])))
    })
  }

  static async start(): Promise<FloodHost> {
    const host = new FloodHost()
    await new Promise<void>((resolve) => host.server.listen(0, "127.0.0.1", 4096, resolve))
    return host
  }

  get baseUrl(): string {
    return `http://127.0.0.1:${(this.server.address() as { port: number }).port}/v1`
  }

  /** Connections on which it could still send. */
  get open(): number {
    return this.sockets.size
  }

  async stop(): Promise<void> {
    for (const socket of this.sockets) socket.destroy()
    await new Promise((resolve) => this.server.close(resolve))
  }

  /** The request names its flood: `flood 3`. */
  private pour(socket: Socket, index: number): void {
    const flood = FLOODS[index]
    if (!flood) return void socket.destroy()
    let bytes = 0
    socket.write(flood.first)
    const more = () => {
      if (socket.destroyed) return
      bytes += flood.piece.length
      this.mostBytes = Math.max(this.mostBytes, bytes)
      // A turn of this process in between, for it has others to serve.
      socket.write(flood.piece, () => void setImmediate(more))
    }
    more()
  }
}
