// A request as the listener hands it on: its head is there, its body may still arrive.
import type { IncomingBody } from "./incoming-body.ts"
import type { ClientRequestHead, RequestHeaders } from "./request-head.ts"

interface ClientPeer {
  readonly address: string
  terminate(): void
}

export class ClientRequest {
  /** Whether the client has left. */
  isGone = false
  private isAwaited = false

  constructor(
    private readonly peer: ClientPeer,
    private readonly head: ClientRequestHead,
    readonly body: IncomingBody,
  ) {}

  get method(): string {
    return this.head.method
  }

  /** The path as it was sent, and the query. */
  get target(): string {
    return this.head.target
  }

  get headers(): RequestHeaders {
    return this.head.headers
  }

  get version(): ClientRequestHead["version"] {
    return this.head.version
  }

  /** The address at the other end of the connection. */
  get address(): string {
    return this.peer.address
  }

  /** True if the client waits for `100 Continue` before it sends the body. */
  asksToContinue(): boolean {
    if (this.isAwaited) return false
    this.isAwaited = true
    return this.version === "1.1" && this.headers.get("expect")?.toLowerCase() === "100-continue"
  }

  /** The client is not there any more, or not as one that can be understood. */
  leave(cause: Error): void {
    this.isGone = true
    this.body.fail(cause)
  }

  /** Closes the connection at once. */
  cutOff(): void {
    this.peer.terminate()
  }
}
