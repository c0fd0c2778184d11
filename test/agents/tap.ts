// A proxy between an agent and the gateway that passes every byte unchanged and records the reported losses.
import { connect, createServer, type Server, type Socket } from "node:net"

export class LossTap {
  /** The paths of losses in the agent's requests. */
  readonly losses = new Set<string>()
  private readonly sockets = new Set<Socket>()

  private constructor(
    private readonly server: Server,
    private readonly to: URL,
  ) {}

  static async before(gatewayUrl: string): Promise<LossTap> {
    const server = createServer((client) => tap.pass(client))
    const tap = new LossTap(server, new URL(gatewayUrl))
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    return tap
  }

  get url(): string {
    const address = this.server.address()
    if (address === null || typeof address === "string") throw new Error("the tap does not listen")
    return `http://127.0.0.1:${address.port}`
  }

  async stop(): Promise<void> {
    for (const socket of this.sockets) socket.destroy()
    await new Promise((resolve) => this.server.close(resolve))
  }

  private pass(client: Socket): void {
    const gateway = connect(Number(this.to.port), this.to.hostname)
    for (const socket of [client, gateway]) {
      this.sockets.add(socket)
      socket.setNoDelay(true)
      socket.on("error", () => {})
      socket.once("close", () => {
        this.sockets.delete(socket)
        client.destroy()
        gateway.destroy()
      })
    }
    client.on("data", (bytes) => gateway.write(bytes))
    gateway.on("data", (bytes) => {
      this.read(bytes.toString("latin1"))
      client.write(bytes)
    })
  }

  /** Headers leave in one piece: such as `x-gateway-losses: 2; metadata, tools.3`. */
  private read(piece: string): void {
    for (const [, paths = ""] of piece.matchAll(/^x-gateway-losses: \d+; (.+)\r$/gim)) {
      for (const path of paths.split(", ")) this.losses.add(path)
    }
  }
}
