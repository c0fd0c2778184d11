// A scripted upstream on a real socket: sees the raw bytes of every request, answers with whatever bytes a test writes.
import { createServer, type Server, type Socket } from "node:net"

export interface ReceivedRequest {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  /** Header names and values as they came. */
  readonly head: string
  readonly body: Buffer
  /** The number of the connection it came over, counted from 1; absent where it came over none. */
  readonly connection?: number
}

export interface UpstreamReply {
  /** A whole answer with a length. */
  json(body: unknown, status?: number, headers?: Record<string, string>): void
  raw(body: string | Uint8Array, headers?: Record<string, string>, status?: number): void
  /** Begins an event stream; what follows goes through `write` and `end`. */
  stream(headers?: Record<string, string>): void
  /** Sends a piece of a begun stream as a chunk of its own, and resolves when the kernel has taken it. */
  write(text: string | Uint8Array): Promise<void>
  end(): void
  /** Closes without a proper end: with FIN, or with RST. */
  cut(how: "fin" | "reset"): void
  /** Resolves when the gateway has closed the connection, with the time it was seen. */
  readonly closed: Promise<number>
}

export type UpstreamScript = (request: ReceivedRequest, reply: UpstreamReply) => void | Promise<void>

export class ScriptedUpstream {
  readonly requests: ReceivedRequest[] = []
  script: UpstreamScript
  private readonly server: Server
  private readonly sockets = new Set<Socket>()
  private accepted = 0

  private constructor(script: UpstreamScript) {
    this.script = script
    this.server = createServer((socket) => this.accept(socket))
  }

  static async start(
    script: UpstreamScript = (_, reply) => reply.json(completion("Hello.")),
    port = 0,
  ): Promise<ScriptedUpstream> {
    const upstream = new ScriptedUpstream(script)
    await new Promise<void>((resolve) => upstream.server.listen(port, "127.0.0.1", 4096, resolve))
    return upstream
  }

  get port(): number {
    const address = this.server.address()
    if (address === null || typeof address === "string") throw new Error("the upstream does not listen")
    return address.port
  }

  /** The base address for clients of Anthropic and Google. */
  get origin(): string {
    return `http://127.0.0.1:${this.port}`
  }

  /** The base address for OpenAI clients. */
  get baseUrl(): string {
    return `${this.origin}/v1`
  }

  get openSockets(): number {
    return this.sockets.size
  }

  lastRequest(): ReceivedRequest {
    const last = this.requests.at(-1)
    if (!last) throw new Error("the upstream has seen no request")
    return last
  }

  async stop(): Promise<void> {
    for (const socket of this.sockets) socket.destroy()
    await new Promise((resolve) => this.server.close(resolve))
  }

  private accept(socket: Socket): void {
    this.sockets.add(socket)
    const connection = ++this.accepted
    socket.setNoDelay(true)
    socket.on("error", () => {})
    const closed = new Promise<number>((resolve) => {
      const seen = () => resolve(performance.now())
      socket.once("close", seen)
      socket.once("end", seen)
    })
    socket.once("close", () => this.sockets.delete(socket))
    // Pieces are joined only once a request is complete, so that a large one is not copied for each of them.
    let pieces: Buffer[] = []
    let length = 0
    let needed = 0
    socket.on("data", (bytes: Buffer) => {
      pieces.push(bytes)
      length += bytes.length
      if (length < needed) return
      let buffered = Buffer.concat(pieces)
      let read = parse(buffered)
      for (; read.request; read = parse(buffered)) {
        buffered = buffered.subarray(read.length)
        const request = { ...read.request, connection }
        this.requests.push(request)
        void this.script(request, replyOn(socket, closed))
      }
      needed = read.length
      pieces = [buffered]
      length = buffered.length
    })
  }
}

/** The first request in these bytes and its length; only the length where it is not complete, 0 while unknown. */
function parse(bytes: Buffer): { request?: ReceivedRequest; length: number } {
  const headEnd = bytes.indexOf("\r\n\r\n")
  if (headEnd < 0) return { length: 0 }
  const head = bytes.subarray(0, headEnd).toString("latin1")
  const [first = "", ...lines] = head.split("\r\n")
  const [method = "", path = ""] = first.split(" ")
  const headers: Record<string, string> = {}
  for (const line of lines) {
    const colon = line.indexOf(":")
    headers[line.slice(0, colon).toLowerCase()] = line.slice(colon + 1).trim()
  }
  const bodyLength = Number(headers["content-length"] ?? 0)
  const length = headEnd + 4 + bodyLength
  if (bytes.length < length) return { length }
  return { request: { method, path, headers, head, body: bytes.subarray(headEnd + 4, length) }, length }
}

function replyOn(socket: Socket, closed: Promise<number>): UpstreamReply {
  const write = (bytes: string | Uint8Array) =>
    new Promise<void>((resolve) => {
      if (socket.destroyed) resolve()
      else socket.write(bytes, () => resolve())
    })
  const raw: UpstreamReply["raw"] = (body, headers = {}, status = 200) => {
    const bytes = Buffer.from(body as string)
    const all = { "content-type": "application/json", "content-length": String(bytes.length), ...headers }
    void write(Buffer.concat([Buffer.from(headText(status, all)), bytes]))
  }
  return {
    raw,
    json: (body, status = 200, headers = {}) => raw(JSON.stringify(body), headers, status),
    stream: (headers = {}) => {
      void write(headText(200, { "content-type": "text/event-stream", "transfer-encoding": "chunked", ...headers }))
    },
    write: (text) => {
      const bytes = Buffer.from(text as string)
      return write(Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from("\r\n")]))
    },
    end: () => void write("0\r\n\r\n"),
    cut: (how) => void (how === "reset" ? socket.resetAndDestroy() : socket.end()),
    closed,
  }
}

/** An upstream that streams these events and ends well. */
export function streams(events: readonly string[]): UpstreamScript {
  return async (_, reply) => {
    reply.stream()
    for (const event of events) await reply.write(event)
    reply.end()
  }
}

/** An upstream that streams these events, so that they have arrived, and then does something else. */
export function streamsThen(
  events: readonly string[],
  act: (reply: UpstreamReply) => void | Promise<void>,
): UpstreamScript {
  return async (_, reply) => {
    reply.stream()
    for (const event of events) await reply.write(event)
    await Bun.sleep(20)
    await act(reply)
  }
}

function headText(status: number, headers: Readonly<Record<string, string>>): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  return `HTTP/1.1 ${status} Scripted\r\n${lines.join("")}\r\n`
}

/** A chat completion as OpenAI sends it. */
export function completion(content: string, extra: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    id: "chatcmpl-abc123",
    object: "chat.completion",
    created: 1_731_000_000,
    model: "upstream-model-2026-01-01",
    choices: [
      { index: 0, message: { role: "assistant", content, refusal: null }, logprobs: null, finish_reason: "stop" },
    ],
    usage: { prompt_tokens: 9, completion_tokens: 3, total_tokens: 12 },
    ...extra,
  }
}

/** One event of a streamed chat completion. */
export function chunk(delta: Record<string, unknown>, finish: string | null = null, extra = {}): string {
  const choices = [{ index: 0, delta, logprobs: null, finish_reason: finish }]
  const body = { id: "chatcmpl-abc123", object: "chat.completion.chunk", created: 1_731_000_000 }
  return `data: ${JSON.stringify({ ...body, model: "upstream-model-2026-01-01", choices, ...extra })}\n\n`
}

export const DONE = "data: [DONE]\n\n"

/** The events of a whole streamed answer, a word each. */
export function streamedWords(text: string): string[] {
  const words = text.match(/\s*\S+/g) ?? []
  return [
    chunk({ role: "assistant", content: "" }),
    ...words.map((word) => chunk({ content: word })),
    chunk({}, "stop"),
    DONE,
  ]
}
