// Members of request bodies that are the gateway's own, as the validator's schemas describe them.

import type { JsonObject } from "../../canonical/json.ts"
import { fallbackListSchemas, routingSchema } from "../../protocols/routing-schema.ts"
import { objectOf } from "./schema-builders.ts"

export const routing: JsonObject = routingSchema.jsonSchema

/** Members of other gateways that mean `provider.fallback`. */
export const fallbackLists = {
  models: fallbackListSchemas.models.jsonSchema,
  fallbacks: fallbackListSchemas.fallbacks.jsonSchema,
}

/** A body that names its model, or a list of models. */
export function withModelName(body: JsonObject): JsonObject {
  const { required, ...rest } = body
  const others = Array.isArray(required) ? required.filter((name) => name !== "model") : []
  const listed = objectOf({ required: { models: { type: "array", minItems: 1 } } })
  return { ...rest, required: others, anyOf: [{ required: ["model"] }, listed] }
}
