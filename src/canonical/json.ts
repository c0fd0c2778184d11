// JSON as a type.

export type Json = null | boolean | number | string | readonly Json[] | JsonObject

export interface JsonObject {
  readonly [member: string]: Json
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}
