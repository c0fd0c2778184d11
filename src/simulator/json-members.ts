// Reads members of a body whose shape is not known: what is not of the kind asked for counts as not given.
import { isObject, type Json, type JsonObject } from "../canonical/json.ts"

export type Given = Json | undefined

export function text(value: Given): string {
  return typeof value === "string" ? value : ""
}

export function number(value: Given): number | undefined {
  return typeof value === "number" && Number.isFinite(value) ? value : undefined
}

export function object(value: Given): JsonObject {
  return isObject(value) ? value : {}
}

export function list(value: Given): readonly Json[] {
  return Array.isArray(value) ? value : []
}

export function objects(value: Given): readonly JsonObject[] {
  return list(value).filter(isObject)
}

export function texts(value: Given): readonly string[] {
  return list(value).filter((entry) => typeof entry === "string")
}

/** Google takes a member in camel case and in snake case. */
export function either(value: JsonObject, camel: string): Given {
  return value[camel] ?? value[camel.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)]
}
