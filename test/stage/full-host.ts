// A host that listens but is stopped, with a full queue of connections: connecting to it never completes.
import { type ChildProcess, spawn } from "node:child_process"
import { connect, type Socket } from "node:net"
import { eventually } from "./eventually.ts"
import { kernelSockets } from "./kernel-sockets.ts"

export class FullHost {
  private constructor(
    readonly port: number,
    private readonly child: ChildProcess,
    private readonly waiting: readonly Socket[],
  ) {}

  static async start(): Promise<FullHost> {
    // Node, because Bun's listeners take no backlog.
    const listen = `const server = require("node:net").createServer()
      server.listen({ port: 0, host: "127.0.0.1", backlog: 1 }, () => console.log(server.address().port))`
    const child = spawn("node", ["-e", listen], { stdio: ["ignore", "pipe", "inherit"] })
    const port = await new Promise<number>((resolve) => child.stdout.once("data", (text) => resolve(Number(text))))
    child.kill("SIGSTOP")
    const waiting = Array.from({ length: 16 }, () => connect({ port, host: "127.0.0.1" }).on("error", () => {}))
    await eventually(async () => !(await connects(port)), { what: "a full queue" })
    for (const socket of waiting) if (socket.connecting) socket.destroy()
    return new FullHost(port, child, waiting)
  }

  get origin(): string {
    return `http://127.0.0.1:${this.port}`
  }

  /** The number of connection attempts now. */
  get callers(): number {
    return kernelSockets().filter(({ remotePort, isConnecting }) => remotePort === this.port && isConnecting).length
  }

  stop(): void {
    for (const socket of this.waiting) socket.destroy()
    this.child.kill("SIGKILL")
  }
}

function connects(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: "127.0.0.1" })
    const end = (connected: boolean) => {
      clearTimeout(timer)
      socket.destroy()
      resolve(connected)
    }
    const timer = setTimeout(() => end(false), 300)
    socket.once("connect", () => end(true)).once("error", () => end(false))
  })
}
