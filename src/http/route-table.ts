// The route table: every path with its guards. A table with a hole in it does not start.
import type { Route } from "./visit.ts"

export type Match =
  | { readonly found: "route"; readonly route: Route; readonly rest: string }
  | { readonly found: "other-method"; readonly methods: readonly string[] }
  | { readonly found: "nothing" }

const REST = /\{\w+\}$/

export class RouteTable {
  private readonly exact = new Map<string, Route[]>()
  private readonly open: { readonly prefix: string; readonly route: Route }[] = []

  constructor(routes: readonly Route[]) {
    for (const route of routes) this.add(route)
  }

  match(method: string, path: string): Match {
    const candidates = this.exact.get(path)
    if (candidates) return choose(candidates, method, "")
    const behind = this.open.filter(({ prefix }) => path.startsWith(prefix) && path.length > prefix.length)
    const longest = behind.reduce((most, { prefix }) => Math.max(most, prefix.length), 0)
    const open = behind.filter(({ prefix }) => prefix.length === longest).map(({ route }) => route)
    return open.length === 0 ? { found: "nothing" } : choose(open, method, path.slice(longest))
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

function choose(routes: readonly Route[], method: string, rest: string): Match {
  const route = routes.find((candidate) => candidate.method === method)
  if (!route) return { found: "other-method", methods: routes.map((each) => each.method) }
  const decoded = rest === "" ? "" : decodeOnce(rest)
  return decoded === undefined ? { found: "nothing" } : { found: "route", route, rest: decoded }
}

function decodeOnce(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}
