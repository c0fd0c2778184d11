// One declaration per administration route: who may, how large a body, what it takes and what it gives.
import type { AdminSchema } from "./admin-schema.ts"

interface AdminRequest<Body, Query> {
  /** What stands in the path's `{name}` places, decoded. */
  readonly parameters: Readonly<Record<string, string>>
  readonly body: Body
  readonly query: Query
}

interface RouteDeclaration<Body, Query> {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE"
  /** Such as `/admin/v1/keys/{id}`. */
  readonly path: string
  /** One sentence for the description. */
  readonly summary: string
  readonly who: "anyone" | "administrator"
  /** The most bytes a body may have; 0 where none is taken. */
  readonly bodyLimit: number
  /** Absent exactly where `bodyLimit` is 0. */
  readonly bodySchema?: AdminSchema<Body>
  /** What may be asked behind the path; absent where nothing is read there. */
  readonly querySchema?: AdminSchema<Query>
  readonly handle: (call: AdminRequest<Body, Query>) => AdminResult | Promise<AdminResult>
}

/** An object is told as JSON. */
type AdminResult = object | Response

/** Answers with JSON of this schema. */
interface JsonRoute<Body, Query> extends RouteDeclaration<Body, Query> {
  readonly gives: AdminSchema<unknown>
  readonly status?: 201
}

/** Answers with something else than JSON, of this media type. */
interface TextRoute<Body, Query> extends RouteDeclaration<Body, Query> {
  readonly givesText: string
}

type AdminRoute<Body, Query> = JsonRoute<Body, Query> | TextRoute<Body, Query>

/** Whatever it takes: the table checks what was sent before it is handed over. */
export type AnyAdminRoute = AdminRoute<never, never>

export const BODY_LIMIT = 256 * 1024

export function adminRoute<Body, Query>(declared: AdminRoute<Body, Query>): AnyAdminRoute {
  return declared as unknown as AnyAdminRoute
}

/** What is missing in a declaration; types alone do not hold at run time. */
export function findRouteProblem(declared: AnyAdminRoute): string | undefined {
  const { who, bodyLimit, bodySchema } = declared
  if (who !== "anyone" && who !== "administrator") return "declares no access rule"
  if (!(Number.isInteger(bodyLimit) && bodyLimit >= 0 && bodyLimit <= BODY_LIMIT)) return "has no body limit"
  if (bodyLimit > 0 && !bodySchema) return "takes a body without a schema"
  if (bodyLimit === 0 && bodySchema) return "has a schema for a body it does not take"
  if (!("gives" in declared) && !("givesText" in declared)) return "declares no response"
  return undefined
}
