// A host on a real socket for tests of the client: answers each request with whatever bytes it is told.
import { createServer, type Server, type Socket } from "node:net"
import { Abort } from "./abort.ts"
import type { Answer } from "./http-answer.ts"
import type { Outgoing } from "./http-client.ts"
import { readAll } from "./read-all.ts"

export interface Heard {
  readonly head: string
  readonly body: string
}

/** A host that answers each request as it is told, and remembers what it heard. */
export class Host {
  readonly heard: Heard[] = []
  readonly sockets: Socket[] = []
  private constructor(
    private readonly server: Server,
    readonly url: string,
  ) {}

  static start(answer: (socket: Socket, index: number, heard: Heard) => void): Promise<Host> {
    return new Promise((resolve) => {
      const server = createServer((socket) => {
        host.sockets.push(socket)
        socket.on("error", () => {})
        let text = ""
        socket.on("data", (bytes) => {
          text += bytes.toString("latin1")
          for (let request = cut(text); request; request = cut(text)) {
            text = text.slice(request.length)
            host.heard.push(request)
            answer(socket, host.heard.length - 1, request)
          }
        })
      })
      let host: Host
      server.listen(0, "127.0.0.1", () => {
        const { port } = server.address() as { port: number }
        host = new Host(server, `http://127.0.0.1:${port}/v1/x`)
        resolve(host)
      })
    })
  }

  stop(): void {
    for (const socket of this.sockets) socket.destroy()
    this.server.close()
  }
}

function cut(text: string): (Heard & { length: number }) | undefined {
  const border = text.indexOf("\r\n\r\n")
  if (border < 0) return undefined
  const length = border + 4 + Number(/content-length: (\d+)/.exec(text)?.[1] ?? 0)
  return text.length < length
    ? undefined
    : { head: text.slice(0, border), body: text.slice(border + 4, length), length }
}

/** A whole answer. */
export function said(body: string, more = ""): string {
  return `HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n${more}\r\n${body}`
}

export function outgoing(url: string, wishes: Partial<Outgoing> = {}): Outgoing {
  return { url, headers: new Headers({ "x-a": "b" }), body: "{}", abort: new Abort(), ...wishes }
}

export async function text(answer: Answer): Promise<string> {
  return Buffer.from(await readAll(answer, 1_000_000)).toString("latin1")
}
