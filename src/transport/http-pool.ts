// Connections to one origin, kept for the next request as long as they are likely to be open at the other end.
import type { Abort } from "./abort.ts"
import { dialQuickly } from "./bun-wire.ts"
import { type ConnectionOptions, HttpConnection } from "./http-connection.ts"
import { type Dial, dialPatiently, type Origin } from "./wire.ts"

/** Most hosts close an idle connection after a minute or more; those that do sooner we meet at their border. */
const IDLE_MS = 30_000
const SWEEP_MS = 5000
/** For so long after it accepted a connection a host is expected to accept the next. */
const TRUSTED_MS = 60_000
/** So often a connection that was dialled patiently is used. */
const PATIENT_USES = 16

export class HttpPool {
  /** The one used last stands last, and is used first. */
  private readonly idle: HttpConnection[] = []
  private sweeping: ReturnType<typeof setInterval> | undefined
  private acceptedAt = Number.NEGATIVE_INFINITY

  /** `dial` stands in the place of both ways. */
  constructor(
    private readonly origin: Origin,
    private readonly dial?: Dial,
  ) {}

  /** An idle connection, if there is one. */
  take(): HttpConnection | undefined {
    for (let kept = this.idle.pop(); kept; kept = this.idle.pop()) if (kept.isOpen) return kept
    return undefined
  }

  /** A new connection, unless the call ends first: then the next one to ask gets it. */
  open(connectMs: number, abort: Abort): Promise<HttpConnection> {
    const trusted = this.dial !== undefined || performance.now() - this.acceptedAt < TRUSTED_MS
    return new Promise((resolve, reject) => {
      abort.onAbort = () => reject(abort.reason)
      const opened = (connection: HttpConnection) => {
        this.acceptedAt = performance.now()
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

  private quick(connectMs: number): ConnectionOptions {
    return {
      dial: (listener) => (this.dial ?? dialQuickly)(this.origin, listener),
      connectMs,
      onIdle: (connection) => this.keep(connection),
      onClosed: (connection) => this.drop(connection),
    }
  }

  /** What was dialled patiently costs more to use: good for a conversation, but not for a busy day. */
  private patient(connectMs: number): ConnectionOptions {
    return {
      dial: (listener) => dialPatiently(this.origin, listener),
      connectMs,
      onIdle: (connection) =>
        connection.served < PATIENT_USES ? this.keep(connection) : connection.destroy(undefined),
      onClosed: (connection) => this.drop(connection),
    }
  }

  private keep(connection: HttpConnection): void {
    connection.rest()
    this.idle.push(connection)
    this.sweeping ??= setInterval(() => this.sweep(), SWEEP_MS).unref()
  }

  private drop(connection: HttpConnection): void {
    const at = this.idle.indexOf(connection)
    if (at >= 0) this.idle.splice(at, 1)
  }

  private sweep(): void {
    const before = performance.now() - IDLE_MS
    while (this.idle[0] && this.idle[0].idleSince < before) this.idle.shift()?.destroy(undefined)
    if (this.idle.length > 0) return
    clearInterval(this.sweeping)
    this.sweeping = undefined
  }
}
