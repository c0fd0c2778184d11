// JSON Schema of configuration values. A value may be written as a variable, and a member that is null counts as absent.
import type { JsonObject } from "../canonical/json.ts"

/** Text with a `${NAME}` in it. */
const FROM_VARIABLE: JsonObject = { type: "string", pattern: "\\$\\{" }

export function orVariable(jsonSchema: JsonObject): JsonObject {
  return { anyOf: [...alternatives(jsonSchema), FROM_VARIABLE] }
}

export function orNull(jsonSchema: JsonObject): JsonObject {
  const { default: usual, ...rest } = jsonSchema
  const whole = { anyOf: [...alternatives(rest), { type: "null" }] }
  return usual === undefined ? whole : { ...whole, default: usual }
}

function alternatives(jsonSchema: JsonObject): readonly JsonObject[] {
  return Array.isArray(jsonSchema.anyOf) ? (jsonSchema.anyOf as JsonObject[]) : [jsonSchema]
}
