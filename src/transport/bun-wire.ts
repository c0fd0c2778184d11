// A wire on Bun's own sockets.
import type { Socket } from "bun"
import type { Origin, Wire, WireListener } from "./wire.ts"

export function dialQuickly(origin: Origin, listener: WireListener): Wire {
  return new BunWire(origin, listener)
}

class BunWire implements Wire {
  private socket: Socket | undefined
  private unsent: Uint8Array | undefined
  private destroyed = false

  constructor(
    { hostname, port, tls }: Origin,
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
    const sent = this.socket?.write(bytes) ?? -1
    const length = typeof bytes === "string" ? bytes.length : bytes.byteLength
    if (sent < 0) this.listener.failed(undefined)
    else if (sent < length) {
      this.unsent = typeof bytes === "string" ? Buffer.from(bytes.slice(sent)) : bytes.subarray(sent)
    }
  }

  isFlushed(): boolean {
    return this.unsent === undefined
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

  private flush(): void {
    const { unsent } = this
    if (!unsent) return
    this.unsent = undefined
    this.write(unsent)
  }
}
