// A connection's bytes, both ways. There are two ways to dial: Bun's own sockets cost least but, once dialled, cannot be
// let go before the host has answered; Node's can. So a host is dialled by the latter until it is known to answer.
import { connect, isIP, type Socket } from "node:net"
import { connect as connectSecurely } from "node:tls"

/** Where connections go. */
export interface WireOrigin {
  readonly hostname: string
  readonly port: number
  readonly tls: boolean
  /** The name it has to prove over TLS, where that is not what it is connected by. */
  readonly name?: string
}

export interface WireConnection {
  /** Text is ASCII. */
  write(bytes: string | Uint8Array): void
  /** Whether all that was written is on its way. */
  isFlushed(): boolean
  pause(): void
  resume(): void
  /** Whether it is a reason for the process to live on. */
  hold(isReason: boolean): void
  destroy(): void
}

export interface WireListener {
  /** The host has accepted, and over TLS proved its name. Until then only `failed` may come. */
  opened(): void
  received(bytes: Uint8Array): void
  /** The host has ended, or all has. */
  ended(): void
  failed(cause: unknown): void
}

export type DialWire = (origin: WireOrigin, listener: WireListener) => WireConnection

export function dialPatiently(
  { hostname: host, port, tls, name = host }: WireOrigin,
  listener: WireListener,
): WireConnection {
  const secure = () => connectSecurely({ host, port, ...(isIP(name) === 0 && { servername: name }) })
  const socket: Socket = tls ? secure() : connect({ host, port })
  socket.setNoDelay(true)
  socket.once(tls ? "secureConnect" : "connect", () => listener.opened())
  socket.on("data", (bytes: Buffer) => listener.received(bytes))
  socket.on("end", () => listener.ended())
  socket.on("close", () => listener.ended())
  socket.on("error", (cause) => listener.failed(cause))
  return {
    write: (bytes) => void (typeof bytes === "string" ? socket.write(bytes, "latin1") : socket.write(bytes)),
    isFlushed: () => socket.writableLength === 0,
    pause: () => void socket.pause(),
    resume: () => void socket.resume(),
    hold: (isReason) => void (isReason ? socket.ref() : socket.unref()),
    destroy: () => void socket.destroy(),
  }
}
