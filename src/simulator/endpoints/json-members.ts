// Reads members of a body of unknown shape: a member of another type counts as absent.
import { isObject, type Json, type JsonObject } from "../../canonical/json.ts"

export type OptionalJson = Json | undefined

export function text(value: OptionalJson): string {
  return typeof value === "string" ? value : ""
}

export function number(value: OptionalJson): number | undefined {
  return typeof value === "number" && Number.isFinite(value) ? value : undefined
}

export function object(value: OptionalJson): JsonObject {
  return isObject(value) ? value : {}
}

export function list(value: OptionalJson): readonly Json[] {
  return Array.isArray(value) ? value : []
}

export function objects(value: OptionalJson): readonly JsonObject[] {
  return list(value).filter(isObject)
}

export function texts(value: OptionalJson): readonly string[] {
  return list(value).filter((entry) => typeof entry === "string")
}

/** Google accepts members in camel case and in snake case. */
export function either(value: JsonObject, camel: string): OptionalJson {
  return value[camel] ?? value[camel.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)]
}
