// Declaration of an administration route: access rule, body limit, request schema and response schema.
import type { ValueSchema } from "../canonical/schema/value-schema.ts"

interface AdminRequest<Body, Query> {
  /** Decoded path parameters. */
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
  readonly access: "anyone" | "administrator"
  /** Maximum body size in bytes; 0 if the route takes no body. */
  readonly bodyLimit: number
  /** Absent if and only if `bodyLimit` is 0. */
  readonly bodySchema?: ValueSchema<Body>
  /** Schema of the query parameters; absent if the route reads none. */
  readonly querySchema?: ValueSchema<Query>
  readonly handle: (call: AdminRequest<Body, Query>) => AdminResult | Promise<AdminResult>
}

/** An object is sent as JSON. */
type AdminResult = object | Response

/** Schema of the JSON response. */
interface JsonRoute<Body, Query> extends RouteDeclaration<Body, Query> {
  readonly responseSchema: ValueSchema<unknown>
  readonly status?: 201
}

/** Media type of a response that is not JSON. */
interface TextRoute<Body, Query> extends RouteDeclaration<Body, Query> {
  readonly responseType: string
}

type AdminRoute<Body, Query> = JsonRoute<Body, Query> | TextRoute<Body, Query>

/** A route of any input type: the interface validates the input before it calls the handler. */
export type AnyAdminRoute = AdminRoute<never, never>

export const BODY_LIMIT = 256 * 1024

export function adminRoute<Body, Query>(declared: AdminRoute<Body, Query>): AnyAdminRoute {
  return declared as unknown as AnyAdminRoute
}

/** The first problem of a declaration, because types are not checked at run time. */
export function findRouteProblem(declared: AnyAdminRoute): string | undefined {
  const { access, bodyLimit, bodySchema } = declared
  if (access !== "anyone" && access !== "administrator") return "declares no access rule"
  if (!(Number.isInteger(bodyLimit) && bodyLimit >= 0 && bodyLimit <= BODY_LIMIT)) return "has no body limit"
  if (bodyLimit > 0 && !bodySchema) return "takes a body without a schema"
  if (bodyLimit === 0 && bodySchema) return "has a schema for a body it does not take"
  if (!("responseSchema" in declared) && !("responseType" in declared)) return "declares no response"
  return undefined
}
