// OpenAPI description of the administration interface, generated from its route declarations.

import { isObject, type Json, type JsonObject } from "../canonical/json.ts"
import { object, optional, required } from "../canonical/schema/object-schema.ts"
import { text, type ValueSchema } from "../canonical/schema/value-schema.ts"
import type { AnyAdminRoute } from "./admin-route.ts"

const errorSchema: ValueSchema<unknown> = object({
  error: required(
    object({
      code: required(text()),
      message: required(text({ max: 10_000 })),
      type: required(text()),
      param: optional(text()),
    }),
  ),
})

export function describeAdministration(routes: readonly AnyAdminRoute[], version: string): JsonObject {
  const paths: Record<string, Record<string, Json>> = {}
  for (const route of routes) {
    paths[route.path] = { ...paths[route.path], [route.method.toLowerCase()]: describeOperation(route) }
  }
  return {
    openapi: "3.1.0",
    info: { title: "Trivium administration", version },
    paths,
    components: { securitySchemes: { administrationKey: { type: "http", scheme: "bearer" } } },
  }
}

function describeOperation(route: AnyAdminRoute): JsonObject {
  const { summary, access, bodySchema } = route
  const parameters = parametersOf(route)
  const status = "status" in route && route.status ? String(route.status) : "200"
  return {
    summary,
    security: access === "anyone" ? [] : [{ administrationKey: [] }],
    ...(parameters.length > 0 && { parameters }),
    ...(bodySchema && { requestBody: { required: true, content: jsonContent(bodySchema) } }),
    responses: {
      [status]: {
        description: "Done.",
        content: "responseSchema" in route ? jsonContent(route.responseSchema) : { [route.responseType]: {} },
      },
      default: { description: "An error.", content: jsonContent(errorSchema) },
    },
  }
}

function parametersOf({ path, querySchema }: AnyAdminRoute): JsonObject[] {
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => ({
    name,
    in: "path",
    required: true,
    schema: { type: "string" },
  }))
  const { properties, required } = querySchema?.jsonSchema ?? {}
  const inQuery = Object.entries(isObject(properties) ? properties : {}).map(([name, schema]) => ({
    name,
    in: "query",
    required: Array.isArray(required) && required.includes(name),
    schema,
  }))
  return [...inPath, ...inQuery]
}

function jsonContent({ jsonSchema }: ValueSchema<unknown>): JsonObject {
  return { "application/json": { schema: jsonSchema } }
}
