// Connections to one origin, kept for the next request as long as they are likely to be open at the other end. HTTP/1.1
// does not state which request a response belongs to: a second response of a faulty host would reach the connection's next
// user. So a connection stays with its owner, and another owner gets it only after a silence, if at all.
import type { Abort } from "./abort.ts"
import { dialQuickly } from "./bun-wire.ts"
import { waitFullTurn } from "./event-loop/wait-full-turn.ts"
import { type ConnectionOptions, HttpConnection } from "./http-connection.ts"
import { IdleConnections } from "./idle-connections.ts"
import { type DialWire, dialPatiently, type WireOrigin } from "./wire.ts"

/** Most hosts close an idle connection after a minute or more; those that do sooner we meet at their border. */
const IDLE_MS = 30_000
const SWEEP_MS = 5000
/** Of one origin; each takes a descriptor and a port. */
const MAX_IDLE = 4096
/** For so long after it accepted a connection a host is expected to accept the next. */
const TRUSTED_MS = 60_000
/** So often a connection that was dialled patiently is used. */
const PATIENT_USES = 16

/** Whether a connection may carry calls of several owners, one long after the other. */
type ConnectionIsolation = "shared" | "strict"

export interface PoolOptions {
  /** Takes the place of both ways to dial. */
  readonly dial?: DialWire | undefined
  readonly isolation?: ConnectionIsolation | undefined
  /** The time by which silence is measured, if not `performance.now()`. */
  readonly now?: (() => number) | undefined
}

/** Who a connection is for, and until when it is waited for. */
export interface ConnectionRequest {
  readonly owner: string
  readonly connectMs: number
  readonly abort: Abort
}

export class HttpPool {
  private readonly idle = new IdleConnections<HttpConnection>()
  private sweeping: ReturnType<typeof setInterval> | undefined
  private acceptedAt = Number.NEGATIVE_INFINITY
  private readonly now: () => number

  constructor(
    private readonly origin: WireOrigin,
    private readonly options: PoolOptions = {},
  ) {
    this.now = options.now ?? (() => performance.now())
  }

  /** An idle connection of the owner's own, if there is one. */
  takeOwn(owner: string): HttpConnection | undefined {
    return this.idle.takeOwn(owner)
  }

  /** One of another owner that has been silent for long enough; undefined where there is none. */
  takeOver(wish: ConnectionRequest): Promise<HttpConnection | undefined> | undefined {
    const silent = this.options.isolation === "strict" ? undefined : this.nextSilent()
    return silent && this.handOver(silent, wish)
  }

  private async handOver(
    silent: HttpConnection,
    { owner, abort }: ConnectionRequest,
  ): Promise<HttpConnection | undefined> {
    for (let kept: HttpConnection | undefined = silent; kept; kept = this.nextSilent()) {
      // What came while this process was busy with something else has not been seen yet. It closes the connection.
      await waitFullTurn()
      if (!kept.isOpen) continue
      if (abort.aborted) {
        this.keep(kept)
        throw abort.reason
      }
      kept.owner = owner
      return kept
    }
    return undefined
  }

  /** A new connection, unless the call ends first: then the next one to ask gets it. */
  open({ owner, connectMs, abort }: ConnectionRequest): Promise<HttpConnection> {
    if (abort.aborted) return Promise.reject(abort.reason)
    const trusted = this.options.dial !== undefined || performance.now() - this.acceptedAt < TRUSTED_MS
    return new Promise((resolve, reject) => {
      abort.onAbort = () => reject(abort.reason)
      const opened = (connection: HttpConnection) => {
        this.acceptedAt = performance.now()
        connection.owner = owner
        if (abort.aborted) this.keep(connection)
        else resolve(connection)
      }
      const failed = (thrown: unknown) => {
        this.acceptedAt = Number.NEGATIVE_INFINITY
        reject(thrown)
      }
      HttpConnection.open(trusted ? this.quick(connectMs) : this.patient(connectMs)).then(opened, failed)
    })
  }

  private nextSilent(): HttpConnection | undefined {
    return this.idle.takeSilent(this.now())
  }

  private quick(connectMs: number): ConnectionOptions {
    return {
      dial: (listener) => (this.options.dial ?? dialQuickly)(this.origin, listener),
      connectMs,
      onIdle: (connection) => this.keep(connection),
      onClosed: (connection) => this.idle.remove(connection),
    }
  }

  /** What was dialled patiently costs more to use: good for a conversation, but not for a busy day. */
  private patient(connectMs: number): ConnectionOptions {
    return {
      dial: (listener) => dialPatiently(this.origin, listener),
      connectMs,
      onIdle: (connection) =>
        connection.served < PATIENT_USES ? this.keep(connection) : connection.destroy(undefined),
      onClosed: (connection) => this.idle.remove(connection),
    }
  }

  private keep(connection: HttpConnection): void {
    // A connection that was never used, as its call had ended, may have closed by now.
    if (!connection.isOpen) return
    connection.rest(this.now())
    this.idle.add(connection)
    if (this.idle.size > MAX_IDLE) this.idle.takeOldest()?.destroy(undefined)
    this.sweeping ??= setInterval(() => this.sweep(), SWEEP_MS).unref()
  }

  private sweep(): void {
    const before = this.now() - IDLE_MS
    for (let old = this.idle.takeIdleSince(before); old; old = this.idle.takeIdleSince(before)) old.destroy(undefined)
    this.idle.forgetOwners()
    if (this.idle.size > 0) return
    clearInterval(this.sweeping)
    this.sweeping = undefined
  }
}
