// Access control, generated: every route of both listeners, for every kind of caller.
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { protocols } from "../../src/protocols.ts"
import { allAdminRoutes } from "../administration/routes.ts"
import { RunningGateway } from "../stage/gateway.ts"
import { KeyFolder } from "../stage/keys.ts"
import type { ProofFigure, ProofRow } from "./row.ts"

interface GuardedRoute {
  readonly method: string
  readonly path: string
}

type RouteRoles = ReadonlyMap<string, string | undefined>

const administration: GuardedRoute[] = allAdminRoutes().map(({ method, path }) => ({
  method,
  path: path.replace("{id}", "x"),
}))
const openToAnyone = allAdminRoutes().filter(({ access: who }) => who === "anyone")
const inference: GuardedRoute[] = protocols.flatMap(({ endpoints }) =>
  endpoints.flatMap(({ method, paths }) => {
    const model = method === "POST" ? "a/b:generateContent" : "openai/gpt-4o"
    return paths.map((path) => ({ method, path: path.replace(/\{\w+\}/, model) }))
  }),
)

export const privileges: ProofRow = {
  number: 18,
  title: "privilege matrix",
  async run() {
    const folder = new KeyFolder()
    const keys = folder.eachKind()
    const gateway = await RunningGateway.start({ dataDir: folder.path, key: keys.whole })
    try {
      const administrator = readFileSync(join(folder.path, "admin-key"), "utf8").trim()
      const roles = new Map<string, string | undefined>([
        ["nobody", undefined],
        ["a guesser", `trv_${"0".repeat(49)}`],
        ...Object.entries(keys),
        ["administrator", administrator],
      ])
      return await figures(gateway, roles)
    } finally {
      await gateway.stop()
      folder.remove()
    }
  },
}

async function figures(gateway: RunningGateway, roles: RouteRoles): Promise<ProofFigure[]> {
  const entered = await whoEnters(gateway.adminUrl, administration, roles)
  const called = await whoEnters(gateway.url, inference, roles)
  // Each port describes its own interface, to anyone.
  const others = administration.filter(({ path }) => path !== "/openapi.json")
  const strayed = await whoEnters(gateway.url, others, roles)
  const mayAdminister = new Set(administration.map((door) => entry("administrator", door)))
  for (const door of openToAnyone) for (const role of roles.keys()) mayAdminister.add(entry(role, door))
  const mayCall = new Set(inference.flatMap((door) => [entry("whole", door), entry("narrow", door)]))
  const unexpected = [...entered].filter((each) => !mayAdminister.has(each)).length
  return [
    { what: "callers unexpectedly admitted to the administration", seen: unexpected, atMost: 0 },
    { what: "callers unexpectedly admitted to the inference routes", seen: outside(called, mayCall), atMost: 0 },
    { what: "callers admitted to the administration's paths on the inference port", seen: strayed.size, atMost: 0 },
    { what: "callers wrongly rejected", seen: outside(mayAdminister, entered) + outside(mayCall, called), atMost: 0 },
    { what: "combinations tried", seen: (2 * administration.length + inference.length) * roles.size, atLeast: 300 },
  ]
}

function outside(found: ReadonlySet<string>, allowed: ReadonlySet<string>): number {
  return [...found].filter((each) => !allowed.has(each)).length
}

function entry(role: string, { method, path }: GuardedRoute): string {
  return `${role} ${method} ${path}`
}

/** Every way to present a key. */
function presented(key: string | undefined): Record<string, string>[] {
  if (key === undefined) return [{}]
  return [{ authorization: `Bearer ${key}` }, { "x-api-key": key }, { "x-goog-api-key": key }, { authorization: key }]
}

async function whoEnters(base: string, doors: readonly GuardedRoute[], roles: RouteRoles): Promise<Set<string>> {
  const found = new Set<string>()
  for (const door of doors) {
    for (const [role, key] of roles) {
      for (const credential of presented(key)) if (await enters(base, door, credential)) found.add(entry(role, door))
    }
  }
  return found
}

/** A rejection for the body, or for an unknown name, comes after authentication. */
async function enters(
  base: string,
  { method, path }: GuardedRoute,
  credential: Record<string, string>,
): Promise<boolean> {
  const headers = { ...credential, "content-type": "application/json", "anthropic-version": "2023-06-01" }
  const body = method === "GET" || method === "HEAD" ? {} : { body: "{}" }
  const response = await fetch(base + path, { method, headers, ...body })
  const refusal = (await response.json().catch(() => ({}))) as { error?: { code?: string } }
  const { code } = refusal.error ?? {}
  return response.status !== 401 && response.status !== 403 && code !== "route_not_found"
}
