// The administration interface, described as OpenAPI from the declarations that guard it.
import { isObject, type Json, type JsonObject } from "../canonical/json.ts"
import type { AnyAdminRoute } from "./route.ts"
import { object, optional, required, type Schema, text } from "./schema.ts"

const errorSchema: Schema<unknown> = object({
  error: required(
    object({
      code: required(text()),
      message: required(text({ max: 10_000 })),
      type: required(text()),
      param: optional(text()),
    }),
  ),
})

export function describe(routes: readonly AnyAdminRoute[], version: string): JsonObject {
  const paths: Record<string, Record<string, Json>> = {}
  for (const route of routes) {
    paths[route.path] = { ...paths[route.path], [route.method.toLowerCase()]: operation(route) }
  }
  return {
    openapi: "3.1.0",
    info: { title: "Trivium administration", version },
    paths,
    components: { securitySchemes: { administrationKey: { type: "http", scheme: "bearer" } } },
  }
}

function operation(route: AnyAdminRoute): JsonObject {
  const { summary, who, takes } = route
  const parameters = parametersOf(route)
  const status = "status" in route && route.status ? String(route.status) : "200"
  return {
    summary,
    security: who === "anyone" ? [] : [{ administrationKey: [] }],
    ...(parameters.length > 0 && { parameters }),
    ...(takes && { requestBody: { required: true, content: json(takes) } }),
    responses: {
      [status]: { description: "Done.", content: "gives" in route ? json(route.gives) : { [route.givesText]: {} } },
      default: { description: "An error.", content: json(errorSchema) },
    },
  }
}

function parametersOf({ path, asks }: AnyAdminRoute): JsonObject[] {
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => ({
    name,
    in: "path",
    required: true,
    schema: { type: "string" },
  }))
  const { properties, required } = asks?.described ?? {}
  const inQuery = Object.entries(isObject(properties) ? properties : {}).map(([name, schema]) => ({
    name,
    in: "query",
    required: Array.isArray(required) && required.includes(name),
    schema,
  }))
  return [...inPath, ...inQuery]
}

function json({ described }: Schema<unknown>): JsonObject {
  return { "application/json": { schema: described } }
}
