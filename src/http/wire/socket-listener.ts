// The callers' listener, on Bun's plain sockets: HTTP/1.1 with one request after the other on each connection. It bounds
// how many connections there are, and how long each may be idle, send a head, or not take its answer.
import type { ClientResponse } from "../../exchange/client-response.ts"
import { CompactSet } from "../../transport/event-loop/compact-set.ts"
import { ClientConnection, type ConnectionOwner } from "./client-connection.ts"
import type { ClientRequest } from "./client-request.ts"
import { DeadlineList } from "./deadline-list.ts"
import { connectionsWithin } from "./descriptor-limit.ts"

export interface SocketListenerOptions {
  readonly host: string
  readonly port: number
  /** How long a connection is kept between two requests, in seconds. */
  readonly idleTimeout: number
  /** Above this number, a new connection closes the one that has been idle longest. */
  readonly maxConnections: number
  /** The defaults apply unless set. */
  readonly timeouts?: Partial<SocketTimeouts>
  /** A fault of the listener's own, by which one client is cut off. */
  readonly onFault: (cause: unknown) => void
  /** Must not reject. */
  readonly handle: (request: ClientRequest) => ClientResponse | Promise<ClientResponse>
}

interface SocketTimeouts {
  /** Time limit for a head, or for the rest of an unread body. */
  readonly sendingMs: number
  /** A client that takes nothing of an answer that is made is cut off after this time. */
  readonly stalledMs: number
  /** How long a client may take to notice that its connection is being closed. */
  readonly closingMs: number
  /** How often they are looked at. */
  readonly sweepMs: number
}

const TIMEOUTS: SocketTimeouts = { sendingMs: 10_000, stalledMs: 30_000, closingMs: 2000, sweepMs: 1000 }

export class SocketListener implements ConnectionOwner {
  isStopping = false
  readonly keepAliveLines: string
  readonly waiting: ConnectionOwner["waiting"]
  private readonly connections = new CompactSet<ClientConnection>()
  private readonly bun: Bun.TCPSocketListener<ClientConnection>
  private readonly sweeping: ReturnType<typeof setInterval>
  private readonly maxConnections: number
  private busy = 0

  constructor(private readonly options: SocketListenerOptions) {
    const { host, port, idleTimeout } = options
    const { sendingMs, stalledMs, closingMs, sweepMs } = { ...TIMEOUTS, ...options.timeouts }
    this.maxConnections = connectionsWithin(options.maxConnections)
    this.keepAliveLines = `connection: keep-alive\r\nkeep-alive: timeout=${idleTimeout}\r\n`
    this.waiting = {
      // A second more than promised: a request may be on its way.
      idle: new DeadlineList((idleTimeout + 1) * 1000),
      sending: new DeadlineList(sendingMs),
      stalled: new DeadlineList(stalledMs),
      closing: new DeadlineList(closingMs),
    }
    this.bun = this.listen({ host, port })
    this.sweeping = setInterval(() => this.sweep(), sweepMs)
    this.sweeping.unref()
  }

  get port(): number {
    return this.bun.port
  }

  /** How many connections there are. */
  get size(): number {
    return this.connections.size
  }

  /** How many requests are not answered, or whose answers are not with the kernel. */
  get pendingRequests(): number {
    return this.busy
  }

  handle(request: ClientRequest): ClientResponse | Promise<ClientResponse> {
    return this.options.handle(request)
  }

  onFault(cause: unknown): void {
    this.options.onFault(cause)
  }

  began(): void {
    this.busy++
  }

  ended(): void {
    this.busy--
  }

  /** Takes no new connections, and closes each when it is not busy. */
  stopAccepting(): void {
    this.isStopping = true
    this.bun.stop()
    this.connections.each((connection) => connection.closeSoon())
  }

  /** Ends everything at once. */
  close(): void {
    this.isStopping = true
    clearInterval(this.sweeping)
    this.bun.stop(true)
  }

  private listen({ host, port }: { readonly host: string; readonly port: number }) {
    try {
      return Bun.listen<ClientConnection>({
        hostname: host,
        port,
        // Two gateways on one port would share its requests between them.
        exclusive: true,
        // Else nothing could be read any more from a client that is sent the last answer.
        allowHalfOpen: true,
        socket: {
          open: (socket) => this.accept(socket),
          data: (socket, bytes) => socket.data.received(bytes),
          drain: (socket) => socket.data.drained(),
          // That is how most clients leave, before and behind an answer.
          end: (socket) => {
            this.closed(socket.data)
            socket.end()
          },
          close: (socket) => this.closed(socket.data),
          error: (socket, cause) => this.failed(socket, cause),
        },
      })
    } catch (cause) {
      throw cannotListen({ host, port, cause })
    }
  }

  private accept(socket: Bun.Socket<ClientConnection>): void {
    const { closing, idle, sending } = this.waiting
    const isFull = this.connections.size >= this.maxConnections
    const replaced = isFull ? (closing.oldest ?? idle.oldest ?? sending.oldest) : undefined
    socket.setNoDelay(true)
    const connection = new ClientConnection(socket, this)
    socket.data = connection
    this.connections.enter(connection)
    replaced?.terminate()
    // If all are busy, none is closed.
    if (isFull && !replaced) connection.terminate()
  }

  /** One of the handlers above has thrown, which none may. */
  private failed(socket: Bun.Socket<ClientConnection>, cause: unknown): void {
    this.onFault(cause)
    socket.terminate()
  }

  private closed(connection: ClientConnection): void {
    connection.closed()
    this.connections.leave(connection)
  }

  private sweep(): void {
    const now = performance.now()
    const { idle, sending, stalled, closing } = this.waiting
    idle.expire(now, (connection) => connection.closeSoon())
    for (const list of [sending, stalled, closing]) list.expire(now, (connection) => connection.terminate())
  }
}

function cannotListen({ host, port, cause }: { host: string; port: number; cause: unknown }): Error {
  const code = (cause as NodeJS.ErrnoException).code ?? "unknown error"
  const why = code === "EADDRINUSE" ? `port ${port} in use by another process` : `port ${port} cannot be used (${code})`
  return new Error(`Cannot listen on ${host}: ${why}. Choose another with --port, or 0 for any free one.`, { cause })
}
