// One request inside a route, its guards passed: what a handler may ask of it, and the exchange's view of its client.
import type { Key } from "../accounts/keys.ts"
import type { Call } from "../exchange/call.ts"
import { ClientGoneError, type ExchangeRecord } from "../exchange/record.ts"
import type { Protocol } from "../protocols/contract.ts"
import { readBody } from "./body.ts"
import type { Route } from "./route.ts"

/** What a visit needs of the listener. */
export interface Door {
  /** Sets after how many seconds of silence the visitor's connection is closed; 0 is never. */
  setSilence(request: Request, seconds: number): void
  /** A visit that held a place is over. */
  leave(visit: Visit): void
}

export class Visit implements Call {
  /** Whether it counts among those under way. */
  holdsPlace = false
  private key: Key | undefined

  constructor(
    private readonly door: Door,
    readonly request: Request,
    readonly route: Route,
    /** What the path's `{rest}` stands for, percent-decoded once; "" on exact paths. */
    readonly rest: string,
    readonly record: ExchangeRecord,
  ) {}

  get protocol(): Protocol {
    return this.route.protocol
  }

  /** The holder of the key; a route that anyone may enter has none. */
  get caller(): Key {
    if (!this.key) throw new Error(`route ${this.route.path} has no caller`)
    return this.key
  }

  authenticated(key: Key): void {
    this.key = key
    this.record.keyId = key.id
    this.record.tenant = key.tenant
  }

  takePlace(): void {
    this.holdsPlace = true
  }

  async readBody(): Promise<Uint8Array<ArrayBuffer>> {
    try {
      const bytes = await readBody(this.request, this.route.bodyLimit)
      // From here on silence is the upstream's, and has limits of its own.
      this.door.setSilence(this.request, 0)
      return bytes
    } catch (thrown) {
      throw this.isGone() ? new ClientGoneError() : thrown
    }
  }

  isGone(): boolean {
    return this.request.signal.aborted
  }

  cutOff(): void {
    this.door.setSilence(this.request, 1)
  }

  finish(): void {
    if (!this.holdsPlace) return
    this.holdsPlace = false
    this.door.leave(this)
  }
}
