// A route, and the context of one request to it after its guards have passed.
import type { Caller } from "../access/caller.ts"
import type { Allowance } from "../access/limits/rate-limiter.ts"
import type { ClientResponse } from "../exchange/client-response.ts"
import type { ClientCall } from "../exchange/exchange-deps.ts"
import type { ExchangeProgress } from "../exchange/record/exchange-progress.ts"
import type { ExchangeEnd } from "../exchange/record/exchange-record.ts"
import type { Protocol, RequestEnvelope } from "../protocols/contract.ts"
import type { DeadlineTimer } from "../transport/deadline-timer.ts"
import type { BodyBudget, BodyShare } from "./body-budget.ts"
import type { KeyLocations } from "./presented-key.ts"
import { readBody } from "./read-body.ts"
import type { ClientRequest } from "./wire/client-request.ts"

/** Access rule: anyone, or the holder of a valid key. */
type RouteAccess = "anyone" | "key"

export interface GatewayRoute {
  /** For the log: method and path. */
  readonly name: string
  readonly method: "GET" | "HEAD" | "POST" | "DELETE"
  /** Exact, or with one `{rest}` for one or more segments; the part behind it is exact. */
  readonly path: string
  /** The path that this one is another spelling of, on routes of the gateway's own. */
  readonly spellingOf?: string
  /** Serves only requests that carry this header, before a route of the same path that does not say so. */
  readonly whenHeader?: string | undefined
  /** Whether the path is a vendor's own, so that errors look as the vendor's client libraries expect. */
  readonly isVendorPath?: boolean
  /** The path that lists the models a caller of this route can name. */
  readonly modelsPath?: string
  readonly who: RouteAccess
  /** The most bytes a body may have; 0 for routes that take none. */
  readonly bodyLimit: number
  /** The protocol whose error shape this route uses. */
  readonly protocol: Protocol
  /** Where a key may stand; absent where it is as the protocol has it. */
  readonly keyPlaces?: KeyLocations
  /** What it does, in the protocol's words; absent on routes of the gateway's own. */
  readonly does?: RequestEnvelope["does"]
  /** Whether it occupies one of the places for exchanges under way. */
  readonly generates: boolean
  handle(context: RequestContext): ClientResponse | Promise<ClientResponse>
}

/** The part of the server that a request context uses. */
export interface Listener {
  /** What all bodies share. */
  readonly bodies: BodyBudget
  readonly deadlines: DeadlineTimer
  /** A request that held a slot is over. */
  leave(context: RequestContext, end: ExchangeEnd): void
}

export class RequestContext implements ClientCall {
  /** Whether it counts among those under way. */
  holdsSlot = false
  /** True once its body was read. */
  hasReadBody = false
  private authentication: { readonly caller: Caller; readonly allowance: Allowance } | undefined
  private share: BodyShare | undefined

  constructor(
    private readonly listener: Listener,
    readonly request: ClientRequest,
    readonly route: GatewayRoute,
    readonly envelope: RequestEnvelope,
    readonly progress: ExchangeProgress,
  ) {}

  get protocol(): Protocol {
    return this.route.protocol
  }

  get modelsPath(): string {
    return this.route.modelsPath ?? "/v1/models"
  }

  /** The authenticated caller; routes without authentication have none. */
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
    return this.authentication !== undefined
  }

  setCaller(caller: Caller, allowance: Allowance): void {
    this.authentication = { caller, allowance }
    this.progress.caller = caller
  }

  markSlotHeld(): void {
    this.holdsSlot = true
  }

  readBody(): Uint8Array<ArrayBuffer> | Promise<Uint8Array<ArrayBuffer>> {
    this.hasReadBody = true
    const { deadlines } = this.listener
    return readBody(this.request, { limit: this.route.bodyLimit, deadlines, openShare: () => this.openShare() })
  }

  isGone(): boolean {
    return this.request.isGone
  }

  closeConnection(): void {
    this.request.cutOff()
  }

  shrinkBody(): void {
    this.share?.shrink()
  }

  releaseBody(): void {
    this.share?.giveBack()
  }

  finish(end: ExchangeEnd): void {
    this.releaseBody()
    if (!this.holdsSlot) return
    this.holdsSlot = false
    this.listener.leave(this, end)
  }

  private openShare(): BodyShare {
    this.share = this.listener.bodies.open(this.caller.id)
    return this.share
  }

  private get entry(): { readonly caller: Caller; readonly allowance: Allowance } {
    if (!this.authentication) throw new Error(`route ${this.route.path} has no caller`)
    return this.authentication
  }
}
