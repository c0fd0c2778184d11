// Listeners that the gateway must not connect to; every connection is counted before a byte is read.
import { createServer, type Server } from "node:net"

const HOSTS = ["127.0.0.1", "::1", "127.127.127.127"]

export class TrapHost {
  connections = 0
  bytes = 0
  private readonly servers: Server[] = []

  private constructor() {}

  /** On one port of every address that is this machine's. */
  static async start(): Promise<TrapHost> {
    const trap = new TrapHost()
    for (const host of HOSTS) await trap.listen(host)
    return trap
  }

  get port(): number {
    const address = this.servers[0]?.address()
    return typeof address === "object" && address !== null ? address.port : 0
  }

  async stop(): Promise<void> {
    await Promise.all(this.servers.map((server) => new Promise((resolve) => server.close(resolve))))
  }

  private async listen(host: string): Promise<void> {
    const server = createServer((socket) => {
      this.connections++
      socket.on("error", () => {})
      socket.on("data", (bytes) => {
        this.bytes += bytes.length
        socket.end("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}")
      })
    })
    await new Promise<void>((resolve, reject) => server.once("error", reject).listen(this.port, host, resolve))
    this.servers.push(server)
  }
}
