// A wire on Bun's own sockets.
import type { Socket } from "bun"
import type { WireConnection, WireListener, WireOrigin } from "./wire.ts"

export function dialQuickly(origin: WireOrigin, listener: WireListener): WireConnection {
  return new BunWire(origin, listener)
}

const NOTHING = new Uint8Array(0)

class BunWire implements WireConnection {
  private socket: Socket | undefined
  /** What the kernel has not taken yet, in order. */
  private unsent: (string | Uint8Array)[] = []
  private destroyed = false

  constructor(
    { hostname, port, tls }: WireOrigin,
    private readonly listener: WireListener,
  ) {
    const dialling = Bun.connect({
      hostname,
      port,
      ...(tls && { tls: { serverName: hostname } }),
      socket: {
        open: (socket) => this.open(socket, tls),
        // Bun closes the connection of a host that cannot prove its name.
        handshake: (_, isProven, cause) => (isProven ? listener.opened() : listener.failed(cause)),
        data: (_, bytes) => listener.received(bytes),
        drain: () => this.flush(),
        end: () => listener.ended(),
        close: () => listener.ended(),
        error: (_, cause) => listener.failed(cause),
        connectError: (_, cause) => listener.failed(cause),
      },
    })
    dialling.catch((cause) => listener.failed(cause))
  }

  write(bytes: string | Uint8Array): void {
    if (this.unsent.length > 0) this.unsent.push(bytes)
    else this.send(bytes)
  }

  isFlushed(): boolean {
    return this.unsent.length === 0
  }

  pause(): void {
    this.socket?.pause()
  }

  resume(): void {
    this.socket?.resume()
  }

  hold(isReason: boolean): void {
    if (isReason) this.socket?.ref()
    else this.socket?.unref()
  }

  destroy(): void {
    this.destroyed = true
    this.socket?.terminate()
  }

  private open(socket: Socket, tls: boolean): void {
    if (this.destroyed) {
      socket.terminate()
      return
    }
    this.socket = socket
    socket.setNoDelay(true)
    if (!tls) this.listener.opened()
  }

  private send(bytes: string | Uint8Array): void {
    const sent = this.socket?.write(bytes) ?? -1
    const length = typeof bytes === "string" ? bytes.length : bytes.byteLength
    if (sent < 0) this.listener.failed(undefined)
    else if (sent < length) {
      this.unsent.unshift(typeof bytes === "string" ? bytes.slice(sent) : bytes.subarray(sent))
    }
  }

  private flush(): void {
    while (this.unsent.length > 0) {
      const [next = NOTHING] = this.unsent.splice(0, 1)
      const waiting = this.unsent.length
      this.send(next)
      if (this.unsent.length > waiting) return
    }
  }
}
