// Decides if the vendor enforces a schema: only closed schemas qualify, and it refuses all others.
import { isObject, type Json, type JsonObject } from "../../canonical/json.ts"

const REFUSED = [
  "allOf",
  "oneOf",
  "not",
  "if",
  "then",
  "else",
  "dependentRequired",
  "dependentSchemas",
  "patternProperties",
  "minProperties",
  "maxProperties",
  "propertyNames",
  "unevaluatedProperties",
] as const

/** For a whole schema: an object at the top level, without alternatives. */
export function isStrict(schema: Json | undefined): boolean {
  return isObject(schema) && schema.type === "object" && schema.anyOf === undefined && isClosed(schema)
}

function isClosed(schema: Json): boolean {
  if (!isObject(schema)) return false
  if (REFUSED.some((keyword) => schema[keyword] !== undefined)) return false
  if (isOfObjects(schema) && !leavesNothingOpen(schema)) return false
  const { properties, $defs, definitions, anyOf, items } = schema
  const inner = [properties, $defs, definitions].flatMap((named) => (isObject(named) ? Object.values(named) : []))
  const choices: readonly Json[] = Array.isArray(anyOf) ? anyOf : []
  return [...inner, ...choices, ...(items === undefined ? [] : [items])].every(isClosed)
}

function isOfObjects({ type, properties }: JsonObject): boolean {
  return type === "object" || (Array.isArray(type) && type.includes("object")) || properties !== undefined
}

function leavesNothingOpen({ properties, required, additionalProperties }: JsonObject): boolean {
  const names = isObject(properties) ? Object.keys(properties) : []
  const demanded: readonly Json[] = Array.isArray(required) ? required : []
  return additionalProperties === false && names.every((name) => demanded.includes(name))
}
