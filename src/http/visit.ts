// A route, and a visit to it: one request, its guards passed. What a handler may ask of it, and the exchange of its client.
import type { Caller } from "../accounts/caller.ts"
import type { Allowance } from "../accounts/limits.ts"
import type { Call } from "../exchange/call.ts"
import type { ClientAnswer } from "../exchange/client-answer.ts"
import type { ExchangeRecord } from "../exchange/record.ts"
import type { Envelope, Protocol } from "../protocols/contract.ts"
import type { Deadlines } from "../transport/deadlines.ts"
import { readBody } from "./body.ts"
import type { BodyBudget, BodyShare } from "./body-budget.ts"
import type { KeyPlaces } from "./credential.ts"
import type { ClientRequest } from "./wire/client-request.ts"

/** Who may enter: anyone, or the holder of a valid key. */
type Who = "anyone" | "key"

export interface Route {
  /** For the log: method and path. */
  readonly name: string
  readonly method: "GET" | "HEAD" | "POST" | "DELETE"
  /** Exact, or with one `{rest}`, which stands for one or more segments; what follows it is exact again. */
  readonly path: string
  /** The path that this one is another spelling of, on routes of the gateway's own. */
  readonly spellingOf?: string
  /** Serves only requests that carry this header, before a route of the same path that does not say so. */
  readonly whenHeader?: string | undefined
  /** Whether the path is a vendor's own, so that errors look as the vendor's client libraries expect. */
  readonly isVendorPath?: boolean
  /** The path that lists the models a caller of this route can name. */
  readonly modelsPath?: string
  readonly who: Who
  /** The most bytes a body may have; 0 for routes that take none. */
  readonly bodyLimit: number
  /** Whose error shape this route speaks. */
  readonly protocol: Protocol
  /** Where a key may stand; absent where it is as the protocol has it. */
  readonly keyPlaces?: KeyPlaces
  /** What it does, in the protocol's words; absent on routes of the gateway's own. */
  readonly does?: Envelope["does"]
  /** Whether it occupies one of the places for exchanges under way. */
  readonly generates: boolean
  handle(visit: Visit): ClientAnswer | Promise<ClientAnswer>
}

/** What a visit needs of the listener. */
export interface Door {
  /** What all bodies share. */
  readonly bodies: BodyBudget
  readonly deadlines: Deadlines
  /** A visit that held a place is over. */
  leave(visit: Visit): void
}

export class Visit implements Call {
  /** Whether it counts among those under way. */
  holdsPlace = false
  /** Whether its body was asked for. */
  hasReadBody = false
  private entered: { readonly caller: Caller; readonly allowance: Allowance } | undefined
  private share: BodyShare | undefined

  constructor(
    private readonly door: Door,
    readonly request: ClientRequest,
    readonly route: Route,
    readonly envelope: Envelope,
    readonly record: ExchangeRecord,
  ) {}

  get protocol(): Protocol {
    return this.route.protocol
  }

  get modelsPath(): string {
    return this.route.modelsPath ?? "/v1/models"
  }

  /** The holder of the key; a route that anyone may enter has none. */
  get caller(): Caller {
    return this.entry.caller
  }

  /** What the caller may still use. */
  get allowance(): Allowance {
    return this.entry.allowance
  }

  get idempotencyKey(): string | undefined {
    return this.request.headers.get("idempotency-key") ?? undefined
  }

  get isAuthenticated(): boolean {
    return this.entered !== undefined
  }

  authenticated(caller: Caller, allowance: Allowance): void {
    this.entered = { caller, allowance }
    this.record.keyId = caller.id
    this.record.tenant = caller.tenant
  }

  takePlace(): void {
    this.holdsPlace = true
  }

  readBody(): Uint8Array<ArrayBuffer> | Promise<Uint8Array<ArrayBuffer>> {
    this.hasReadBody = true
    const { deadlines } = this.door
    return readBody(this.request, { limit: this.route.bodyLimit, deadlines, openShare: () => this.openShare() })
  }

  isGone(): boolean {
    return this.request.isGone
  }

  cutOff(): void {
    this.request.cutOff()
  }

  bodyRead(): void {
    this.share?.shrink()
  }

  forgetBody(): void {
    this.share?.giveBack()
  }

  finish(): void {
    this.forgetBody()
    if (!this.holdsPlace) return
    this.holdsPlace = false
    this.door.leave(this)
  }

  private openShare(): BodyShare {
    this.share = this.door.bodies.open(this.caller.id)
    return this.share
  }

  private get entry(): { readonly caller: Caller; readonly allowance: Allowance } {
    if (!this.entered) throw new Error(`route ${this.route.path} has no caller`)
    return this.entered
  }
}
