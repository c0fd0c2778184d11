// A host on a real socket for tests of the client: answers each request with the given bytes.
import { createServer, type Server, type Socket } from "node:net"
import { Abort } from "./abort.ts"
import type { UpstreamRequest } from "./http-client.ts"
import type { UpstreamResponse } from "./http-response.ts"
import { readAll } from "./read-all.ts"

export interface ReceivedRequest {
  readonly head: string
  readonly body: string
}

/** A host that answers each request as scripted, and records what it received. */
export class TestHost {
  readonly received: ReceivedRequest[] = []
  readonly sockets: Socket[] = []
  private constructor(
    private readonly server: Server,
    readonly url: string,
  ) {}

  static start(answer: (socket: Socket, index: number, heard: ReceivedRequest) => void): Promise<TestHost> {
    return new Promise((resolve) => {
      const server = createServer((socket) => {
        host.sockets.push(socket)
        socket.on("error", () => {})
        let text = ""
        socket.on("data", (bytes) => {
          text += bytes.toString("latin1")
          for (let request = cutRequest(text); request; request = cutRequest(text)) {
            text = text.slice(request.length)
            host.received.push(request)
            answer(socket, host.received.length - 1, request)
          }
        })
      })
      let host: TestHost
      server.listen(0, "127.0.0.1", () => {
        const { port } = server.address() as { port: number }
        host = new TestHost(server, `http://127.0.0.1:${port}/v1/x`)
        resolve(host)
      })
    })
  }

  stop(): void {
    for (const socket of this.sockets) socket.destroy()
    this.server.close()
  }
}

function cutRequest(text: string): (ReceivedRequest & { length: number }) | undefined {
  const border = text.indexOf("\r\n\r\n")
  if (border < 0) return undefined
  const length = border + 4 + Number(/content-length: (\d+)/.exec(text)?.[1] ?? 0)
  return text.length < length
    ? undefined
    : { head: text.slice(0, border), body: text.slice(border + 4, length), length }
}

/** A whole answer. */
export function okResponseText(body: string, more = ""): string {
  return `HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n${more}\r\n${body}`
}

export function upstreamRequest(url: string, wishes: Partial<UpstreamRequest> = {}): UpstreamRequest {
  return { url, headers: new Headers({ "x-a": "b" }), body: "{}", abort: new Abort(), ...wishes }
}

export async function readText(answer: UpstreamResponse): Promise<string> {
  return Buffer.from(await readAll(answer, 1_000_000)).toString("latin1")
}
