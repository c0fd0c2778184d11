// Checks shared by the protocols' validators. Each throws a GatewayError naming the member and what it should be.
// An optional member that is null counts as absent.
import { GatewayError } from "../canonical/error.ts"
import { isObject, type Json, type JsonObject } from "../canonical/json.ts"

export function fault(param: string, expected: string): GatewayError {
  return new GatewayError("invalid_parameter", `\`${param}\` must be ${expected}.`, { param })
}

export function missing(param: string): GatewayError {
  return new GatewayError("missing_parameter", `\`${param}\` is required.`, { param })
}

type At = { readonly at: string }

/** A member that may be absent; `check` sees only what is there. */
export function optional<T>(
  object: JsonObject,
  name: string,
  { check, at = "" }: { check: (value: Json, where: At) => T; at?: string },
): T | undefined {
  const value = member(object, name)
  return value === undefined ? undefined : check(value, { at: at + name })
}

export function required<T>(
  object: JsonObject,
  name: string,
  { check, at = "" }: { check: (value: Json, where: At) => T; at?: string },
): T {
  const value = member(object, name)
  if (value === undefined) throw missing(at + name)
  return check(value, { at: at + name })
}

function member(object: JsonObject, name: string): Json | undefined {
  return Object.hasOwn(object, name) ? (object[name] ?? undefined) : undefined
}

export function string(value: Json, { at }: At): string {
  if (typeof value !== "string") throw fault(at, "a string")
  return value
}

export function nonEmptyString(value: Json, { at }: At): string {
  if (typeof value !== "string" || value === "") throw fault(at, "a string that is not empty")
  return value
}

export function boolean(value: Json, { at }: At): boolean {
  if (typeof value !== "boolean") throw fault(at, "true or false")
  return value
}

export function object(value: Json, { at }: At): JsonObject {
  if (!isObject(value)) throw fault(at, "an object")
  return value
}

export function number(bounds: { min: number; max: number }): (value: Json, where: At) => number {
  return (value, { at }) => {
    if (typeof value !== "number" || value < bounds.min || value > bounds.max) {
      throw fault(at, `a number from ${bounds.min} to ${bounds.max}`)
    }
    return value
  }
}

export function integer({ min }: { min: number }): (value: Json, where: At) => number {
  return (value, { at }) => {
    if (typeof value !== "number" || !Number.isInteger(value) || value < min) {
      throw fault(at, `a whole number of at least ${min}`)
    }
    return value
  }
}

export function oneOf<const T extends string>(words: readonly T[]): (value: Json, where: At) => T {
  return (value, { at }) => {
    const word = words.find((candidate) => candidate === value)
    if (word === undefined) throw fault(at, `one of ${words.map((each) => `\`${each}\``).join(", ")}`)
    return word
  }
}

export function arrayOf<T>(check: (value: Json, where: At) => T): (value: Json, where: At) => T[] {
  return (value, { at }) => {
    if (!Array.isArray(value)) throw fault(at, "an array")
    return value.map((item: Json, index) => check(item, { at: `${at}[${index}]` }))
  }
}
