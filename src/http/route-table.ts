// The route table: every path with its guards. Construction fails if a declaration is incomplete.
import type { GatewayRoute } from "./request-context.ts"
import type { RequestHeaders } from "./wire/request-head.ts"

export type RouteMatch =
  | { readonly found: "route"; readonly route: GatewayRoute; readonly rest: string }
  | { readonly found: "other-method"; readonly methods: readonly string[] }
  | { readonly found: "nothing" }

/** A request as far as its route depends on it. */
interface RoutedRequest {
  readonly method: string
  readonly headers: Pick<RequestHeaders, "get">
}

/** Routes with an open part, and what a path has there, decoded; undefined where that cannot be. */
interface OpenMatch {
  readonly routes: readonly GatewayRoute[]
  readonly rest: string | undefined
}

interface OpenRoute {
  readonly prefix: string
  /** What follows the open part. */
  readonly suffix: string
  readonly route: GatewayRoute
}

interface RouteTableOptions {
  /** Paths that are rejected although they match an open route. */
  readonly isForeign?: (path: string) => boolean
}

const MAX_FOUND = 1000
const MAX_FOUND_LENGTH = 256

const REST = /\{\w+\}/

export class RouteTable {
  readonly routes: readonly GatewayRoute[]
  private readonly exact = new Map<string, GatewayRoute[]>()
  private readonly open: OpenRoute[] = []
  /** What the last paths with an open part were found to be: callers name few models. */
  private readonly found = new Map<string, OpenMatch>()
  private readonly isForeign: (path: string) => boolean

  constructor(routes: readonly GatewayRoute[], { isForeign = () => false }: RouteTableOptions = {}) {
    this.routes = routes
    this.isForeign = isForeign
    for (const route of routes) this.add(route)
  }

  match(request: RoutedRequest, path: string): RouteMatch {
    const candidates = this.exact.get(path)
    if (candidates) return chooseRoute(candidates, request, "")
    const { routes, rest } = this.found.get(path) ?? this.findOpen(path)
    return routes.length === 0 ? { found: "nothing" } : chooseRoute(routes, request, rest)
  }

  /** The route whose error shape suits a path without a route: the one that has most of its first segments in common. */
  nearest(path: string): GatewayRoute | undefined {
    let nearest: GatewayRoute | undefined
    let most = -1
    for (const route of this.routes) {
      const common = commonSegments(route.path, path)
      if (common <= most) continue
      nearest = route
      most = common
    }
    return nearest
  }

  private findOpen(path: string): OpenMatch {
    const found = this.isForeign(path) ? NO_ROUTES : this.lookUp(path)
    if (this.found.size >= MAX_FOUND) this.found.clear()
    if (path.length <= MAX_FOUND_LENGTH) this.found.set(path, found)
    return found
  }

  private lookUp(path: string): OpenMatch {
    const fitting = this.open.filter(
      ({ prefix, suffix }) =>
        path.startsWith(prefix) && path.endsWith(suffix) && path.length > prefix.length + suffix.length,
    )
    const [best] = fitting.toSorted(
      (one, other) => other.prefix.length - one.prefix.length || other.suffix.length - one.suffix.length,
    )
    if (!best) return NO_ROUTES
    const { prefix, suffix } = best
    const routes = fitting.filter((each) => each.prefix === prefix && each.suffix === suffix).map(({ route }) => route)
    return { routes, rest: decodeOnce(path.slice(prefix.length, path.length - suffix.length)) }
  }

  private add(route: GatewayRoute): void {
    const named = route.name
    if (!route.who) throw new Error(`route ${named} declares no access rule`)
    if (!(route.bodyLimit >= 0)) throw new Error(`route ${named} has no body limit`)
    const [prefix = "", suffix] = route.path.split(REST)
    const siblings = suffix === undefined ? (this.exact.get(route.path) ?? []) : this.siblingsOf(prefix, suffix)
    const isTwin = (other: GatewayRoute) => other.method === route.method && other.whenHeader === route.whenHeader
    if (siblings.some(isTwin)) throw new Error(`route ${named} is declared twice`)
    if (suffix === undefined) this.exact.set(route.path, [...siblings, route])
    else this.open.push({ prefix, suffix, route })
  }

  private siblingsOf(prefix: string, suffix: string): GatewayRoute[] {
    return this.open.filter((each) => each.prefix === prefix && each.suffix === suffix).map(({ route }) => route)
  }
}

const NO_ROUTES: OpenMatch = { routes: [], rest: "" }

/** `rest` is undefined where it cannot be read. */
function chooseRoute(
  routes: readonly GatewayRoute[],
  { method, headers }: RoutedRequest,
  rest: string | undefined,
): RouteMatch {
  let chosen: GatewayRoute | undefined
  for (const route of routes) {
    if (route.method !== method) continue
    if (route.whenHeader === undefined) chosen ??= route
    else if (headers.get(route.whenHeader) !== null) chosen = route
  }
  if (!chosen) return { found: "other-method", methods: [...new Set(routes.map((each) => each.method))] }
  return rest === undefined ? { found: "nothing" } : { found: "route", route: chosen, rest }
}

function commonSegments(one: string, other: string): number {
  const [ones, others] = [one.split("/"), other.split("/")]
  const differs = ones.findIndex((segment, index) => segment !== others[index])
  return differs < 0 ? ones.length : differs
}

function decodeOnce(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}
