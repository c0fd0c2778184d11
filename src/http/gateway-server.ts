// The gateway server: routes each request, applies the route's guards, and tracks running requests.
import type { Caller } from "../access/caller.ts"
import { RateLimiter } from "../access/limits/rate-limiter.ts"
import { allowsProtocol } from "../access/scope.ts"
import { asGatewayError, excerpt, GatewayError } from "../canonical/gateway-error.ts"
import { ClientGoneError } from "../exchange/client-gone-error.ts"
import { ClientResponse } from "../exchange/client-response.ts"
import { ExchangeProgress } from "../exchange/record/exchange-progress.ts"
import {
  CLIENT_GONE,
  type ExchangeEnd,
  type ExchangeRecord,
  failedEnd,
  toExchangeRecord,
} from "../exchange/record/exchange-record.ts"
import type { Protocol, RequestEnvelope } from "../protocols/contract.ts"
import type { DeadlineTimer } from "../transport/deadline-timer.ts"
import { BodyBudget, type BodyShare } from "./body-budget.ts"
import { TrustedProxies } from "./client-address.ts"
import { CorsPolicy } from "./cors-policy.ts"
import { errorResponse, setLimitHeaders } from "./json-response.ts"
import { LoadShedder, overloadedError, type ShedReason } from "./load-shedder.ts"
import { presentedKey } from "./presented-key.ts"
import { bodySource, hasLargeBody, readBody, SlowBodyError } from "./read-body.ts"
import { type GatewayRoute, type Listener, RequestContext } from "./request-context.ts"
import { RouteHelp } from "./route-help.ts"
import type { RouteMatch, RouteTable } from "./route-table.ts"
import type { ClientRequest } from "./wire/client-request.ts"
import type { RequestHeaders } from "./wire/request-head.ts"
import { SocketListener } from "./wire/socket-listener.ts"

export interface GatewayServerOptions {
  readonly host: string
  readonly port: number
  readonly routes: RouteTable
  readonly authenticate: (key: string) => Caller
  readonly limits?: RateLimiter
  /** Throws if the caller cannot pay for any request. */
  readonly checkFunds?: (caller: Caller) => void
  readonly maxInFlight: number
  /** How long a connection is kept between two requests, in seconds. */
  readonly idleTimeout: number
  readonly maxConnections: number
  readonly deadlines: DeadlineTimer
  /** Origins whose pages may call from a browser. */
  readonly cors: readonly string[]
  /** Proxies whose `X-Forwarded-For` is trusted. */
  readonly trustedProxies: readonly string[]
  /** The error shape of a path without a neighbour among the routes. */
  readonly usualProtocol: Protocol
  /** True if exchanges record the caller's trace context. */
  readonly traced: boolean
  /** Reports an internal error that no response shows. */
  readonly onFault: (cause: unknown) => void
  /** Called once per exchange, when it ends. */
  readonly onRecord: (record: ExchangeRecord) => void
  /** Called for every request that is shed because of overload. */
  readonly onShed: (reason: ShedReason | "body_bytes") => void
}

const DRAIN_POLL_MS = 10
/** Whose the administration's bodies are: no key has this id. */
const ADMINISTRATION = "administration"
const MAX_BODY_BYTES_AT_ONCE = 256 * 1024 * 1024

/** A request whose address has been looked up. */
interface IncomingRequest {
  readonly requestId: string
  readonly query: string
  readonly path: string
  readonly match: RouteMatch
}

export class GatewayServer implements Listener {
  readonly bodies: BodyBudget
  private readonly listener: SocketListener
  private readonly cors: CorsPolicy
  private readonly proxies: TrustedProxies
  private readonly limits: RateLimiter
  private readonly loadShedder: LoadShedder
  private readonly help: RouteHelp
  private isLeaving = false
  private stopping = false

  constructor(private readonly options: GatewayServerOptions) {
    this.cors = new CorsPolicy(options.cors)
    this.proxies = new TrustedProxies(options.trustedProxies)
    this.limits = options.limits ?? new RateLimiter()
    this.loadShedder = new LoadShedder(options.maxInFlight)
    this.help = new RouteHelp(options.routes.routes.map(({ path }) => path))
    this.bodies = new BodyBudget(MAX_BODY_BYTES_AT_ONCE, { onFull: () => options.onShed("body_bytes") })
    this.listener = new SocketListener({ ...options, handle: (request) => this.receive(request) })
  }

  get url(): string {
    const { host } = this.options
    return `http://${host.includes(":") ? `[${host}]` : host}:${this.listener.port}`
  }

  get inFlight(): number {
    return this.loadShedder.inFlight
  }

  /** Receives each event loop delay sample. */
  onLoopDelay(delayMs: number): void {
    this.loadShedder.onLoopDelay(delayMs)
  }

  /** Keeps serving, and closes each connection after its next response: closing an idle one could race with its next request. */
  closeAfterNextResponse(): void {
    this.isLeaving = true
  }

  /** Refuses new connections; running requests continue. */
  stopAccepting(): void {
    this.stopping = true
    this.listener.stopAccepting()
  }

  /** Resolves when every response is sent, or after `ms`. */
  async waitUntilDrained(ms: number): Promise<void> {
    const end = performance.now() + ms
    while ((this.inFlight > 0 || this.listener.pendingRequests > 0) && performance.now() < end)
      await Bun.sleep(DRAIN_POLL_MS)
  }

  close(): void {
    this.listener.close()
  }

  private receive(request: ClientRequest): ClientResponse | Promise<ClientResponse> {
    const requestId = Bun.randomUUIDv7()
    const { target } = request
    const mark = target.indexOf("?")
    const path = mark < 0 ? target : target.slice(0, mark)
    const query = mark < 0 ? "" : target.slice(mark + 1)
    const match = this.options.routes.match(request, path)
    const origin = this.cors.originOf(request.headers)
    if (origin !== undefined) return this.receivePage(request, { requestId, query, path, match, origin })
    return this.receiveAt(request, { requestId, query, path, match })
  }

  /** Handles CORS: preflight requests and the headers that let a page read the response. */
  private async receivePage(
    request: ClientRequest,
    arrival: IncomingRequest & { readonly origin: string },
  ): Promise<ClientResponse> {
    const { match, origin } = arrival
    const isQuestion = request.method === "OPTIONS" && match.found === "other-method"
    const answer = isQuestion
      ? CorsPolicy.preflight(request.headers, match.methods)
      : await this.receiveAt(request, arrival)
    return CorsPolicy.open(answer, origin)
  }

  private receiveAt(
    request: ClientRequest,
    { requestId, query, path, match }: IncomingRequest,
  ): ClientResponse | Promise<ClientResponse> {
    if (match.found === "route") {
      const route = routeFor(match)
      const { name, protocol, does } = route
      const traceparent = this.options.traced ? (request.headers.get("traceparent") ?? undefined) : undefined
      const progress = new ExchangeProgress({ requestId, route: name, protocol, does, traceparent })
      const envelope = envelopeOf(request.headers, query, { route, rest: match.rest })
      return this.enter(new RequestContext(this, request, route, envelope, progress))
    }
    return this.refuseAt(request, { requestId, path, match })
  }

  /** The 404 or 405 response for a request without a route, with a suggestion. */
  private refuseAt(
    request: ClientRequest,
    { requestId, path, match }: { requestId: string; path: string; match: Exclude<RouteMatch, { found: "route" }> },
  ): ClientResponse {
    const { routes, usualProtocol } = this.options
    const voice = routes.nearest(path) ?? { protocol: usualProtocol }
    const progress = new ExchangeProgress({ requestId, route: path, protocol: voice.protocol })
    if (match.found === "nothing") {
      const message = `There is no route ${excerpt(path)}. ${this.help.advise(path)}`
      return errorResponse(new GatewayError("route_not_found", message), progress, voice)
    }
    const allow = match.methods.join(", ")
    const error = new GatewayError("method_not_allowed", `${path} takes ${allow}, not ${request.method}.`)
    const answer = errorResponse(error, progress, voice)
    answer.headers.set("allow", allow)
    return answer
  }

  private enter(context: RequestContext): ClientResponse | Promise<ClientResponse> {
    const fail = (thrown: unknown) => this.fail(thrown, context)
    try {
      this.guard(context)
      const answer = context.route.handle(context)
      if (!(answer instanceof Promise)) return this.completeResponse(answer, context)
      return answer.then((answered) => this.completeResponse(answered, context), fail)
    } catch (thrown) {
      return fail(thrown)
    }
  }

  private guard(context: RequestContext): void {
    const { headers } = context.request
    if (headers.get("host")?.includes(",")) {
      throw new GatewayError("invalid_parameter", "The header `Host` was sent more than once.")
    }
    if (context.route.who === "key") this.admit(context)
    if (!context.route.generates) return
    if (hasLargeBody(headers)) this.checkFunds(context)
    this.acquireSlot(context)
  }

  /** A repeated request may be answered without a new charge, which only its body shows. */
  private checkFunds({ route, caller, idempotencyKey }: RequestContext): void {
    if (route.does === "generate" && idempotencyKey === undefined) this.options.checkFunds?.(caller)
  }

  /** A request from a disallowed address does not consume the key's limits. */
  private admit(context: RequestContext): void {
    const { route, envelope, request } = context
    const key = presentedKey(request.headers, envelope.query, route.keyPlaces ?? route.protocol)
    const caller = this.options.authenticate(key)
    context.setCaller(caller, this.limits.allowanceOf(caller))
    checkProtocol(caller, route)
    if (caller.mayComeFrom) this.checkAddress(caller, request)
    context.allowance.take()
    route.protocol.checkEnvelope(envelope)
  }

  private checkAddress({ mayComeFrom }: Caller, request: ClientRequest): void {
    const address = this.clientAddress(request)
    if (mayComeFrom?.holds(address)) return
    throw new GatewayError("route_not_allowed", `This API key may not be used from the IP address ${address}.`)
  }

  private acquireSlot(context: RequestContext): void {
    if (this.stopping) throw new GatewayError("shutting_down", "The gateway is shutting down. Try again.")
    const { id } = context.caller
    const reason = this.loadShedder.refusal(id, performance.now())
    if (reason !== undefined) {
      this.options.onShed(reason)
      throw overloadedError(reason)
    }
    context.allowance.enter()
    this.loadShedder.enter(id)
    context.markSlotHeld()
  }

  private fail(thrown: unknown, context: RequestContext): ClientResponse {
    const { progress, route } = context
    // The client has left, so no other error matters.
    if (thrown instanceof ClientGoneError || context.isGone()) {
      context.finish(CLIENT_GONE)
      return new ClientResponse(null, 499)
    }
    const error = asGatewayError(thrown)
    const answer = errorResponse(error, progress, route)
    const isRejected = error.status === 401 || error.code === "route_not_allowed"
    const clientAddress = isRejected ? this.clientAddress(context.request) : undefined
    const end = { ...failedEnd(error, answer.status), clientAddress }
    if (context.holdsSlot) context.finish(end)
    else if (route.generates || error.status >= 500 || error.status === 401) this.report(progress, end)
    if (isUnread(error, context)) answer.closesConnection = true
    return this.completeResponse(answer, context)
  }

  /** Adds limit headers for authenticated callers, and `connection: close` during shutdown. */
  private completeResponse(answer: ClientResponse, context: RequestContext): ClientResponse {
    if (context.isAuthenticated && context.allowance.isLimited) setLimitHeaders(answer, context.allowance)
    if (this.isLeaving) answer.closesConnection = true
    return answer
  }

  private clientAddress({ address, headers }: ClientRequest): string {
    return this.proxies.clientOf(address, headers.get("x-forwarded-for"))
  }

  get deadlines(): DeadlineTimer {
    return this.options.deadlines
  }

  /** Reads a body of at most so many bytes that is not held any longer. */
  async readBody(request: Request, limit: number): Promise<Uint8Array<ArrayBuffer>> {
    let share: BodyShare | undefined
    const openShare = () => {
      share = this.bodies.open(ADMINISTRATION)
      return share
    }
    try {
      return await readBody(bodySource(request), { limit, deadlines: this.deadlines, openShare })
    } finally {
      share?.giveBack()
    }
  }

  leave({ progress, allowance, caller }: RequestContext, end: ExchangeEnd): void {
    this.loadShedder.leave(caller.id, performance.now())
    allowance.leave()
    this.report(progress, end)
  }

  private report(progress: ExchangeProgress, end: ExchangeEnd): void {
    this.options.onRecord(toExchangeRecord(progress, end))
  }
}

/** A listing covers several protocols and is available to keys that may use one of them. */
function checkProtocol({ protocols }: Caller, { protocol, does, generates, path }: GatewayRoute): void {
  if (protocols === null || does === undefined) return
  const over = generates ? [protocol.id] : (protocol.listing?.over ?? [protocol.id])
  if (over.some((id) => allowsProtocol(protocols, id))) return
  const message = `This API key may not use ${path}. Its allowed protocols: ${protocols.join(", ") || "none"}.`
  throw new GatewayError("route_not_allowed", message)
}

/** The path's open end may select another protocol. */
function routeFor({ route, rest }: { route: GatewayRoute; rest: string }): GatewayRoute {
  const protocol = route.generates ? route.protocol.protocolAt?.(rest) : undefined
  return protocol ? { ...route, protocol } : route
}

function envelopeOf(
  headers: RequestHeaders,
  query: string,
  { route, rest }: { route: GatewayRoute; rest: string },
): RequestEnvelope {
  const { does = "generate", protocol } = route
  return { does, rest, query, headers: readHeaders(headers, protocol.readsHeaders) }
}

/** The rest of the body is not read: on an open connection it would fill memory, or never end. */
function isUnread(error: GatewayError, { request, hasReadBody }: RequestContext): boolean {
  return (
    error instanceof SlowBodyError || (hasLargeBody(request.headers) && (!hasReadBody || error.code === "overloaded"))
  )
}

const NO_HEADERS: Readonly<Record<string, string>> = {}

function readHeaders(headers: RequestHeaders, names: readonly string[]): Readonly<Record<string, string>> {
  if (names.length === 0) return NO_HEADERS
  const read: Record<string, string> = {}
  for (const name of names) {
    const value = headers.get(name)
    if (value !== null) read[name] = value
  }
  return read
}
