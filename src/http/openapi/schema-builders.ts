// Builders for the JSON Schemas of request bodies. Objects are open by default: members that the gateway does not
// validate are passed on.
import type { JsonObject } from "../../canonical/json.ts"
import type { ValueSchema } from "../../canonical/schema/value-schema.ts"

export const text: JsonObject = { type: "string" }
export const filledText: JsonObject = { type: "string", minLength: 1 }
export const flag: JsonObject = { type: "boolean" }
export const anyObject: JsonObject = { type: "object" }
export const texts: JsonObject = listOf(text)
export const textOrTexts: JsonObject = { anyOf: [text, texts] }

export function integerFrom(minimum: number): JsonObject {
  return { type: "integer", minimum }
}

export function listOf(items: JsonObject, bounds: { minItems?: number; maxItems?: number } = {}): JsonObject {
  return { type: "array", items, ...bounds }
}

/** The JSON Schemas of members that the validators declare. */
export function schemasOf<Name extends string>(
  members: Readonly<Record<Name, ValueSchema<unknown>>>,
): Record<Name, JsonObject> {
  const entries = Object.entries<ValueSchema<unknown>>(members)
  return Object.fromEntries(entries.map(([name, { jsonSchema }]) => [name, jsonSchema])) as Record<Name, JsonObject>
}

export function oneOf(words: readonly string[]): JsonObject {
  return { type: "string", enum: words }
}

interface ObjectMembers {
  readonly required?: Readonly<Record<string, JsonObject>>
  readonly optional?: Readonly<Record<string, JsonObject>>
}

export function objectOf({ required = {}, optional = {} }: ObjectMembers): JsonObject {
  const names = Object.keys(required)
  return { type: "object", properties: { ...required, ...optional }, ...(names.length > 0 && { required: names }) }
}

/** The same, with these words about it. */
export function about(description: string, schema: JsonObject): JsonObject {
  return { ...schema, description }
}

/** Whatever the provider makes of it. */
export const anything: JsonObject = {}

export function reference(name: string): JsonObject {
  return { $ref: `#/components/schemas/${name}` }
}

/** Tokens in the place of text, as numbers. */
const tokens = listOf(integerFrom(0), { minItems: 1 })

/** One text or several, each as it is or as tokens. */
export function textsOrTokens(one: JsonObject): JsonObject {
  return { anyOf: [one, listOf(one, { minItems: 1 }), tokens, listOf(tokens, { minItems: 1 })] }
}
