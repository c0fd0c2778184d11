// The listener: takes a request in, passes it through its route's guards, and counts what is under way.
import type { Key } from "../accounts/keys.ts"
import { asGatewayError, GatewayError } from "../canonical/error.ts"
import { ClientGoneError, type ExchangeRecord, newRecord, noteFailure } from "../exchange/record.ts"
import type { Protocol } from "../protocols/contract.ts"
import { errorAnswer } from "./answer.ts"
import { readBody } from "./body.ts"
import { presentedKey } from "./credential.ts"
import type { Route, RouteTable, Visit } from "./route.ts"

export interface ServerOptions {
  readonly host: string
  readonly port: number
  readonly routes: RouteTable
  readonly authenticate: (key: string) => Key
  readonly maxInFlight: number
  /** Speaks where no route does. */
  readonly defaultProtocol: Protocol
  /** Told once of every exchange, when it is over. */
  readonly onRecord: (record: ExchangeRecord) => void
}

/** Silence after which an idle connection, or one that stalls while sending, is closed. */
const IDLE_SECONDS = 10

type BunServer = ReturnType<typeof Bun.serve>

export class Server {
  private readonly bun: BunServer
  private readonly idle = new Set<() => void>()
  private underWay = 0
  private stopping = false

  constructor(private readonly options: ServerOptions) {
    this.bun = Bun.serve({
      hostname: options.host,
      port: options.port,
      development: false,
      idleTimeout: IDLE_SECONDS,
      // Each route has its own limit, enforced with an error of the protocol's shape.
      maxRequestBodySize: Number.MAX_SAFE_INTEGER,
      fetch: (request) => this.receive(request),
    })
  }

  get url(): string {
    const { host } = this.options
    return `http://${host.includes(":") ? `[${host}]` : host}:${this.bun.port}`
  }

  get inFlight(): number {
    return this.underWay
  }

  /** Refuses new connections; what is under way goes on. */
  stopAccepting(): void {
    this.stopping = true
    void this.bun.stop()
  }

  /** Resolves when nothing is under way, or after `ms`. */
  async drained(ms: number): Promise<void> {
    if (this.underWay === 0) return
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms)
      this.idle.add(() => {
        clearTimeout(timer)
        resolve()
      })
    })
  }

  async close(): Promise<void> {
    await this.bun.stop(true)
  }

  private receive(request: Request): Response | Promise<Response> {
    const requestId = Bun.randomUUIDv7()
    const path = pathOf(request.url)
    const match = this.options.routes.match(request.method, path)
    if (match.found === "route") return this.enter(match.route, { request, requestId, rest: match.rest })
    const protocol = this.options.defaultProtocol
    if (match.found === "nothing") {
      return errorAnswer(new GatewayError("route_not_found", `There is no route ${path}.`), { protocol, requestId })
    }
    const allow = match.methods.join(", ")
    const error = new GatewayError("method_not_allowed", `${path} takes ${allow}, not ${request.method}.`)
    return errorAnswer(error, { protocol, requestId, headers: { allow } })
  }

  private async enter(
    route: Route,
    { request, requestId, rest }: { request: Request; requestId: string; rest: string },
  ): Promise<Response> {
    const record = newRecord(requestId, `${route.method} ${route.path}`)
    let counted = false
    const finish = () => {
      if (!counted) return
      counted = false
      this.leave(request)
      this.options.onRecord(record)
    }
    try {
      const caller = this.guard(route, request, record)
      if (route.generates) {
        this.claimPlace()
        counted = true
      }
      return await route.handle(this.visit({ route, request, record, rest, caller, finish }))
    } catch (thrown) {
      return this.fail(thrown, { route, record, counted, finish })
    }
  }

  private guard(route: Route, request: Request, record: ExchangeRecord): Key | undefined {
    if (request.headers.get("host")?.includes(",")) {
      throw new GatewayError("invalid_parameter", "The header `Host` was sent more than once.")
    }
    if (route.who === "anyone") return undefined
    const caller = this.options.authenticate(presentedKey(request.headers))
    record.keyId = caller.id
    record.tenant = caller.tenant
    return caller
  }

  private visit({
    route,
    request,
    record,
    rest,
    caller,
    finish,
  }: {
    route: Route
    request: Request
    record: ExchangeRecord
    rest: string
    caller: Key | undefined
    finish: () => void
  }): Visit {
    return {
      request,
      record,
      rest,
      caller() {
        if (!caller) throw new Error(`route ${route.path} has no caller`)
        return caller
      },
      readBody: async () => {
        const bytes = await readBody(request, route.bodyLimit)
        // From here on silence is the upstream's, and has limits of its own.
        this.bun.timeout(request, 0)
        return bytes
      },
      finish,
    }
  }

  private fail(
    thrown: unknown,
    { route, record, counted, finish }: { route: Route; record: ExchangeRecord; counted: boolean; finish: () => void },
  ): Response {
    const { protocol } = route
    if (thrown instanceof ClientGoneError) {
      record.outcome = "client-gone"
      finish()
      return new Response(null, { status: 499 })
    }
    const error = asGatewayError(thrown)
    noteFailure(record, error)
    record.status = error.status
    if (counted) finish()
    else if (route.generates || error.status >= 500) this.options.onRecord(record)
    return errorAnswer(error, { protocol, requestId: record.requestId })
  }

  private claimPlace(): void {
    if (this.stopping) throw new GatewayError("shutting_down", "The gateway is stopping. Try again.")
    if (this.underWay >= this.options.maxInFlight) {
      const message = "The gateway runs as many requests as it can. Try again."
      throw new GatewayError("overloaded", message, { retryAfterMs: 1000 })
    }
    this.underWay++
  }

  private leave(request: Request): void {
    // The lifted limit would stick to the kept-alive connection.
    this.bun.timeout(request, IDLE_SECONDS)
    this.underWay--
    if (this.underWay > 0) return
    for (const wake of this.idle) wake()
    this.idle.clear()
  }
}

/** Bun gives absolute, normalised addresses; what stands before the path's slash is at least `http://`. */
function pathOf(url: string): string {
  const start = url.indexOf("/", 8)
  const end = url.indexOf("?", start)
  return end < 0 ? url.slice(start) : url.slice(start, end)
}
