// A client on a bare socket: sends any bytes, reads as slowly as a test wants, leaves when a test wants.
import { connect, type Socket } from "node:net"

export interface RawRequest {
  readonly key: string
  readonly body: string | Uint8Array
  readonly path?: string
  readonly headers?: Record<string, string>
}

export class RawClient {
  /** Resolves when the other side has closed, or this one has left. */
  readonly closed: Promise<void>
  private readonly chunks: Buffer[] = []
  private length = 0
  private readonly waiting = new Set<() => void>()

  private constructor(private readonly socket: Socket) {
    socket.setNoDelay(true)
    socket.on("error", () => {})
    socket.on("data", (bytes: Buffer) => {
      this.chunks.push(bytes)
      this.length += bytes.length
      for (const look of this.waiting) look()
    })
    this.closed = new Promise((resolve) => {
      socket.once("close", () => {
        resolve()
        for (const look of this.waiting) look()
      })
    })
  }

  static async connect(url: string): Promise<RawClient> {
    const { hostname, port } = new URL(url)
    const socket = connect({ host: hostname, port: Number(port) })
    await new Promise<void>((resolve, reject) => {
      socket.once("connect", resolve)
      socket.once("error", reject)
    })
    return new RawClient(socket)
  }

  /** Connects and posts a chat completion. */
  static async chat(url: string, request: RawRequest): Promise<RawClient> {
    const client = await RawClient.connect(url)
    await client.send(postText(request))
    return client
  }

  get receivedBytes(): number {
    return this.length
  }

  /** All that came so far, headers and chunk sizes included, as Latin-1. */
  get received(): string {
    return Buffer.concat(this.chunks).toString("latin1")
  }

  /** Resolves when the kernel has taken the bytes. */
  send(bytes: string | Uint8Array): Promise<void> {
    return new Promise((resolve) => {
      if (this.socket.destroyed) resolve()
      else this.socket.write(bytes, () => resolve())
    })
  }

  /** Waits until `pattern` has come; an Error when the connection ends before. */
  async until(pattern: RegExp): Promise<string> {
    await new Promise<void>((resolve, reject) => {
      const look = () => {
        const found = pattern.test(this.received)
        if (!found && !this.socket.destroyed) return
        this.waiting.delete(look)
        if (found) resolve()
        else reject(new Error(`the connection ended before ${pattern}: ${this.received.slice(-500)}`))
      }
      this.waiting.add(look)
      look()
    })
    return this.received
  }

  stopReading(): void {
    this.socket.pause()
  }

  readOn(): void {
    this.socket.resume()
  }

  /** Leaves with FIN, or with RST. */
  leave(how: "fin" | "reset" = "fin"): void {
    if (how === "reset") this.socket.resetAndDestroy()
    else this.socket.destroy()
  }
}

function postText({ key, body, path = "/v1/chat/completions", headers = {} }: RawRequest): Buffer {
  const bytes = Buffer.from(body as string)
  const all = {
    host: "gateway",
    authorization: `Bearer ${key}`,
    "content-type": "application/json",
    "content-length": String(bytes.length),
    ...headers,
  }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  return Buffer.concat([Buffer.from(`POST ${path} HTTP/1.1\r\n${lines.join("")}\r\n`), bytes])
}
