// One connection to an upstream, which carries one request after the other.
import { ListLink } from "./event-loop/linked-list.ts"
import { SLICE_BYTES, turnBudget } from "./event-loop/turn-budget.ts"
import { HttpResponse } from "./http-response.ts"
import { HttpResponseParser } from "./http-response-parser.ts"
import type { IdleConnection } from "./idle-connections.ts"
import { TransportError } from "./transport-error.ts"
import type { WireConnection, WireListener } from "./wire.ts"

export interface ConnectionOptions {
  readonly dial: (listener: WireListener) => WireConnection
  readonly connectMs: number
  /** It can carry another request. */
  readonly onIdle: (connection: HttpConnection) => void
  /** It cannot any more. */
  readonly onClosed: (connection: HttpConnection) => void
}

const MIN_ROUND_TRIP_MS = 100

export class HttpConnection implements WireListener, IdleConnection {
  /** Requests it has carried to their end. */
  served = 0
  /** Who it carries requests for. */
  owner = ""
  readonly byOwner = new ListLink<this>(this)
  readonly byAge = new ListLink<this>(this)
  idleSince = 0
  private readonly wire: WireConnection
  private opening: { resolve(): void; reject(error: TransportError): void } | undefined
  private answer: HttpResponse | undefined
  private parser: HttpResponseParser | undefined
  private closed = false
  private readonly dialledAt = performance.now()
  connectedInMs = 0
  private requestedAt = 0
  /** Whether anything of the answer has come. */
  private touched = false
  private lost = false
  /** What has come and waits for its turn; the host is made to wait meanwhile. */
  private backlog: Uint8Array[] = []
  private isWaiting = false
  /** The last bytes handed out were not read yet, so no more are. */
  private held = false
  /** The host has closed; this is reported once the backlog is read. */
  private wireEnd: { readonly cause?: unknown } | undefined

  private constructor(private readonly options: ConnectionOptions) {
    this.wire = options.dial(this)
  }

  /** Rejects with a TransportError. */
  static async open(options: ConnectionOptions): Promise<HttpConnection> {
    const connection = new HttpConnection(options)
    await connection.waitUntilOpen()
    return connection
  }

  get isOpen(): boolean {
    return !this.closed
  }

  /**
   * Whether it closed so soon after the request, and without a byte, that the host had closed it before it saw the request.
   * A host that takes longer may have worked on it.
   */
  get lostRequest(): boolean {
    return this.lost
  }

  /** Idle from now on: no reason for the process to live on. */
  rest(now: number): void {
    this.idleSince = now
    this.wire.hold(false)
  }

  /** Sends a request; one at a time. Text is ASCII. */
  request(pieces: readonly (string | Uint8Array)[]): HttpResponse {
    const answer = new HttpResponse(this)
    this.answer = answer
    this.parser = new HttpResponseParser(answer)
    this.touched = false
    this.requestedAt = performance.now()
    this.lost = this.closed
    if (this.closed) answer.fail(new TransportError("reset"))
    else {
      this.wire.hold(true)
      for (const piece of pieces) this.wire.write(piece)
    }
    return answer
  }

  /** Closes it, idle or not. */
  destroy(reason: unknown): void {
    this.close(reason)
    this.wire.destroy()
  }

  // What an answer asks for.

  abandon(answer: HttpResponse, reason: unknown): void {
    if (this.answer === answer) this.destroy(reason)
    else answer.fail(reason)
  }

  pause(): void {
    this.held = true
    this.wire.pause()
  }

  resume(): void {
    this.held = false
    this.readOn()
  }

  // Called by the wire.

  opened(): void {
    this.connectedInMs = performance.now() - this.dialledAt
    this.opening?.resolve()
    this.opening = undefined
  }

  received(bytes: Uint8Array): void {
    if (this.closed) return
    // Unsolicited bytes: the connection is not used again.
    if (!this.parser) this.destroy(new TransportError("reset"))
    else if (this.backlog.length === 0 && bytes.byteLength <= SLICE_BYTES && turnBudget.take(bytes.byteLength)) {
      this.read(bytes)
    } else {
      this.backlog.push(bytes)
      this.wire.pause()
      if (!this.held) this.waitForTurn()
    }
  }

  ended(): void {
    if (this.backlog.length > 0) this.wireEnd ??= {}
    else if (this.closed || this.opening) this.failed(undefined)
    else if (this.parser) this.endAnswer(this.parser)
    else this.destroy(undefined)
  }

  failed(cause: unknown): void {
    if (this.backlog.length > 0) {
      this.wireEnd ??= { cause }
      return
    }
    this.opening?.reject(new TransportError("connect", cause))
    this.opening = undefined
    this.destroy(new TransportError("reset", cause))
  }

  /** Long enough for a request to go there and for word of a closed connection to come back. */
  private get roundTripMs(): number {
    return Math.max(MIN_ROUND_TRIP_MS, 2 * this.connectedInMs)
  }

  private waitUntilOpen(): Promise<void> {
    return new Promise((resolve, reject) => {
      const limit = setTimeout(() => {
        this.opening?.reject(new TransportError("connect-timeout"))
        this.opening = undefined
        this.destroy(undefined)
      }, this.options.connectMs)
      this.opening = {
        resolve: () => {
          clearTimeout(limit)
          resolve()
        },
        reject: (error) => {
          clearTimeout(limit)
          reject(error)
        },
      }
    })
  }

  private waitForTurn(): void {
    if (this.isWaiting) return
    this.isWaiting = true
    turnBudget.wait(this.readSlice)
  }

  private readonly readSlice = (): void => {
    this.isWaiting = false
    const [next] = this.backlog
    if (!next || this.held || this.closed) return
    const slice = next.byteLength <= SLICE_BYTES ? next : next.subarray(0, SLICE_BYTES)
    if (slice === next) this.backlog.shift()
    else this.backlog[0] = next.subarray(SLICE_BYTES)
    turnBudget.spend(slice.byteLength)
    this.read(slice)
    if (this.parser && !this.held) this.readOn()
  }

  private readOn(): void {
    if (this.backlog.length > 0) this.waitForTurn()
    else if (this.wireEnd) this.deliverEnd(this.wireEnd)
    else this.wire.resume()
  }

  /** The host has ended before the answer, or with it. */
  private deliverEnd(over: { readonly cause?: unknown }): void {
    if ("cause" in over) this.failed(over.cause)
    else this.ended()
  }

  private read(bytes: Uint8Array): void {
    const { parser } = this
    if (parser && this.feedParser(parser, bytes) && parser.isDone) this.complete(parser.keepsAlive)
  }

  /** Whether these bytes can be of an answer; where not, there is no telling what follows. */
  private feedParser(parser: HttpResponseParser, bytes: Uint8Array): boolean {
    this.touched = true
    try {
      parser.push(bytes)
      return true
    } catch (cause) {
      this.destroy(new TransportError("reset", cause))
      return false
    }
  }

  private endAnswer(parser: HttpResponseParser): void {
    try {
      parser.close()
      this.complete(false)
    } catch (cause) {
      this.destroy(new TransportError("reset", cause))
    }
  }

  /** The answer is all there; what of it is not read yet is in memory. */
  private complete(keepsAlive: boolean): void {
    this.answer = undefined
    this.parser = undefined
    this.served++
    this.held = false
    const isClean = this.backlog.length === 0 && !this.wireEnd
    if (keepsAlive && isClean && this.wire.isFlushed() && !this.closed) {
      this.wire.resume()
      this.options.onIdle(this)
    } else this.destroy(undefined)
  }

  private close(reason: unknown): void {
    if (this.closed) return
    this.closed = true
    this.backlog = []
    this.lost = !this.touched && performance.now() - this.requestedAt <= this.roundTripMs
    this.answer?.fail(reason)
    this.answer = undefined
    this.options.onClosed(this)
  }
}
