// The administration interface: finds the route, authenticates the administrator, and validates the request.

import { asGatewayError, excerpt, GatewayError } from "../canonical/gateway-error.ts"
import type { Json, JsonObject } from "../canonical/json.ts"
import { describeJsonFault } from "../canonical/json-fault.ts"
import type { ResponseHeaderFields } from "../canonical/response-headers.ts"
import { runFieldChecks } from "../canonical/schema/field-mismatch.ts"
import { type AnyAdminRoute, findRouteProblem } from "./admin-route.ts"
import { answerWithKeepAlive } from "./slow-response.ts"

export interface AdminInterfaceOptions {
  readonly routes: readonly AnyAdminRoute[]
  readonly isAdministrator: (key: string) => boolean
  /** Reads a body of at most this many bytes. */
  readonly readBody: (request: Request, limit: number) => Promise<Uint8Array>
  /** Called with an internal error. */
  readonly onFault: (cause: unknown) => void
}

interface AdminRouteMatch {
  readonly route: AnyAdminRoute
  readonly parameters: Readonly<Record<string, string>>
}

export class AdminInterface {
  private readonly patterns: readonly { readonly pattern: RegExp; readonly route: AnyAdminRoute }[]

  /** Throws if a route declaration is incomplete. */
  constructor(private readonly options: AdminInterfaceOptions) {
    const seen = new Set<string>()
    for (const route of options.routes) {
      const named = `${route.method} ${route.path}`
      const hole = seen.has(named) ? "is declared twice" : findRouteProblem(route)
      if (hole !== undefined) throw new Error(`administration route ${named} ${hole}`)
      seen.add(named)
    }
    this.patterns = options.routes.map((route) => ({ pattern: patternOf(route.path), route }))
  }

  answer(request: Request, path: string): Promise<Response> {
    return answerWithKeepAlive(this.handleRequest(request, path))
  }

  private async handleRequest(request: Request, path: string): Promise<Response> {
    try {
      const { route, parameters } = this.find(request.method, path)
      if (route.access === "administrator") this.admit(request.headers)
      const query = readQuery(request.url, route) as never
      const body = (await this.read(request, route)) as never
      const result = await route.handle({ parameters, body, query })
      if (result instanceof Response) return result
      return toJsonResponse(result, ("status" in route && route.status) || 200)
    } catch (thrown) {
      const error = asGatewayError(thrown)
      if (error.owner === "gateway") this.options.onFault(error.cause ?? error)
      return toJsonResponse(encodeError(error), error.status)
    }
  }

  private find(method: string, path: string): AdminRouteMatch {
    const others: string[] = []
    for (const { pattern, route } of this.patterns) {
      const groups = pattern.exec(path)?.groups
      if (!groups) continue
      if (route.method === method) return { route, parameters: decodeParameters(groups) }
      others.push(route.method)
    }
    if (others.length === 0) throw new GatewayError("route_not_found", `There is no administration route ${path}.`)
    throw new GatewayError("method_not_allowed", `${path} takes ${others.join(", ")}, not ${method}.`)
  }

  private admit(headers: Headers): void {
    const key = /^bearer (\S+)$/i.exec(headers.get("authorization") ?? "")?.[1]
    if (key === undefined) {
      const message = "No administration key was sent. Send it in the header `Authorization: Bearer ADMIN_KEY`."
      throw new GatewayError("missing_api_key", message)
    }
    if (this.options.isAdministrator(key)) return
    const message = "This is not the administration key. The file `admin-key` in the data folder contains it."
    throw new GatewayError("invalid_api_key", message)
  }

  private async read(request: Request, { bodyLimit, bodySchema }: AnyAdminRoute): Promise<unknown> {
    if (!bodySchema) return undefined
    const bytes = await this.options.readBody(request, bodyLimit)
    const body = parseJsonBody(bytes)
    return runFieldChecks(() => bodySchema.read(body))
  }
}

/** `{name}` matches one segment. */
function patternOf(path: string): RegExp {
  return new RegExp(`^${path.replace(/[.]/g, "\\$&").replace(/\{(\w+)\}/g, "(?<$1>[^/]+)")}(?<end>)$`)
}

function decodeParameters(groups: Readonly<Record<string, string>>): Record<string, string> {
  try {
    return Object.fromEntries(Object.entries(groups).map(([name, value]) => [name, decodeURIComponent(value)]))
  } catch {
    throw new GatewayError("route_not_found", "The path contains an invalid percent-encoding.")
  }
}

function readQuery(url: string, { querySchema }: AnyAdminRoute): unknown {
  return querySchema && runFieldChecks(() => querySchema.read(queryOf(url)))
}

function queryOf(url: string): JsonObject {
  const parameters = new URLSearchParams(/\?([^#]*)/.exec(url)?.[1])
  const names = [...parameters.keys()]
  const twice = names.find((name, at) => names.indexOf(name) !== at)
  if (twice === undefined) return Object.fromEntries(parameters)
  throw new GatewayError(
    "invalid_parameter",
    `The query parameter \`${excerpt(twice)}\` appears twice. Send it once.`,
    { param: excerpt(twice) },
  )
}

function parseJsonBody(bytes: Uint8Array): Json {
  const text = decodeUtf8Body(bytes)
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new GatewayError("invalid_json", `The body is not JSON: ${describeJsonFault(text, cause)}.`)
  }
}

function decodeUtf8Body(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes)
  } catch {
    throw new GatewayError("invalid_json", "The body is not valid UTF-8.")
  }
}

function encodeError({ code, message, kind, param }: GatewayError): JsonObject {
  return { error: { code, message, type: kind, ...(param && { param }) } }
}

function toJsonResponse(body: object, status: number): Response {
  const headers: ResponseHeaderFields = { "content-type": "application/json", "cache-control": "no-store" }
  return new Response(JSON.stringify(body), { status, headers })
}
