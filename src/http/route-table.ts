// The route table: every path with its guards. A table with a hole in it does not start.
import type { Route } from "./visit.ts"

export type Match =
  | { readonly found: "route"; readonly route: Route; readonly rest: string }
  | { readonly found: "other-method"; readonly methods: readonly string[] }
  | { readonly found: "nothing" }

/** Routes with an open end, and what a path has there, decoded; undefined where that cannot be. */
interface Found {
  readonly routes: readonly Route[]
  readonly rest: string | undefined
}

const MAX_FOUND = 1000
const MAX_FOUND_LENGTH = 256

const REST = /\{\w+\}$/

export class RouteTable {
  private readonly exact = new Map<string, Route[]>()
  private readonly open: { readonly prefix: string; readonly route: Route }[] = []
  /** What the last paths with an open end were found to be: callers name few models. */
  private readonly found = new Map<string, Found>()

  constructor(routes: readonly Route[]) {
    for (const route of routes) this.add(route)
  }

  match(method: string, path: string): Match {
    const candidates = this.exact.get(path)
    if (candidates) return choose(candidates, method, "")
    const { routes, rest } = this.found.get(path) ?? this.findOpen(path)
    return routes.length === 0 ? { found: "nothing" } : choose(routes, method, rest)
  }

  private findOpen(path: string): Found {
    const behind = this.open.filter(({ prefix }) => path.startsWith(prefix) && path.length > prefix.length)
    const longest = behind.reduce((most, { prefix }) => Math.max(most, prefix.length), 0)
    const routes = behind.filter(({ prefix }) => prefix.length === longest).map(({ route }) => route)
    const found = { routes, rest: decodeOnce(path.slice(longest)) }
    if (this.found.size >= MAX_FOUND) this.found.clear()
    if (path.length <= MAX_FOUND_LENGTH) this.found.set(path, found)
    return found
  }

  private add(route: Route): void {
    const named = route.name
    if (!route.who) throw new Error(`route ${named} does not say who may enter`)
    if (!(route.bodyLimit >= 0)) throw new Error(`route ${named} has no body limit`)
    const prefix = route.path.replace(REST, "")
    const siblings = prefix === route.path ? (this.exact.get(route.path) ?? []) : this.behind(prefix)
    if (siblings.some(({ method }) => method === route.method)) throw new Error(`route ${named} stands twice`)
    if (prefix === route.path) this.exact.set(route.path, [...siblings, route])
    else this.open.push({ prefix, route })
  }

  private behind(prefix: string): Route[] {
    return this.open.filter((entry) => entry.prefix === prefix).map(({ route }) => route)
  }
}

/** `rest` is undefined where it cannot be read. */
function choose(routes: readonly Route[], method: string, rest: string | undefined): Match {
  const route = routes.find((candidate) => candidate.method === method)
  if (!route) return { found: "other-method", methods: routes.map((each) => each.method) }
  return rest === undefined ? { found: "nothing" } : { found: "route", route, rest }
}

function decodeOnce(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}
