// Checks for the protocols' validators. A check states what a value must be; the member adds its path, and only when
// the check fails, so that a valid request costs no paths. A null member counts as absent.

import type { ErrorCode } from "../canonical/error-codes.ts"
import { GatewayError } from "../canonical/gateway-error.ts"
import { isObject, type Json, type JsonObject } from "../canonical/json.ts"

export type FieldCheck<T> = (value: Json) => T

/** An invalid value, thrown up to where its whole path is known. */
export class FieldMismatch extends Error {
  override readonly name = "Misfit"
  path = ""

  constructor(
    readonly code: ErrorCode,
    readonly sentence: (path: string) => string,
  ) {
    super("misfit")
  }

  under(step: string): this {
    this.path = this.path === "" || this.path.startsWith("[") ? step + this.path : `${step}.${this.path}`
    return this
  }
}

export function checkAt<T>(step: string, check: FieldCheck<T>, value: Json): T {
  try {
    return check(value)
  } catch (thrown) {
    throw thrown instanceof FieldMismatch ? thrown.under(step) : thrown
  }
}

/** Runs a whole validator; a mismatch becomes an error that names the member. */
export function runFieldChecks<T>(validate: () => T): T {
  try {
    return validate()
  } catch (thrown) {
    if (!(thrown instanceof FieldMismatch)) throw thrown
    throw new GatewayError(thrown.code, thrown.sentence(thrown.path), { param: thrown.path })
  }
}

/** Refuses any value. The message is built when the whole path is known. */
export function refuseField(code: ErrorCode, sentence: (path: string) => string): FieldMismatch {
  return new FieldMismatch(code, sentence)
}

export function fieldMismatch(expected: string): FieldMismatch {
  return new FieldMismatch("invalid_parameter", (path) => `\`${path}\` must be ${expected}.`)
}

function missingField(): FieldMismatch {
  return new FieldMismatch("missing_parameter", (path) => `\`${path}\` is required.`)
}

/** An optional member. */
export function optional<T>(name: string, check: FieldCheck<T>): (value: Json | undefined) => T | undefined {
  return (value) => (value === undefined || value === null ? undefined : checkAt(name, check, value))
}

/** A required member. */
export function required<T>(name: string, check: FieldCheck<T>): (value: Json | undefined) => T {
  return (value) => {
    if (value === undefined || value === null) throw missingField().under(name)
    return checkAt(name, check, value)
  }
}

export function string(value: Json): string {
  if (typeof value !== "string") throw fieldMismatch("a string")
  return value
}

export function nonEmptyString(value: Json): string {
  if (typeof value !== "string" || value === "") throw fieldMismatch("a string that is not empty")
  return value
}

export function boolean(value: Json): boolean {
  if (typeof value !== "boolean") throw fieldMismatch("true or false")
  return value
}

export function object(value: Json): JsonObject {
  if (!isObject(value)) throw fieldMismatch("an object")
  return value
}

export function number({ min, max }: { min: number; max: number }): FieldCheck<number> {
  return (value) => {
    if (typeof value !== "number" || value < min || value > max) throw fieldMismatch(`a number from ${min} to ${max}`)
    return value
  }
}

export function integer({ min }: { min: number }): FieldCheck<number> {
  return (value) => {
    if (typeof value === "number" && Number.isInteger(value) && value >= min) return value
    throw fieldMismatch(`a whole number of at least ${min}`)
  }
}

export function oneOf<const T extends string>(words: readonly T[]): FieldCheck<T> {
  return (value) => {
    for (const word of words) if (word === value) return word
    throw fieldMismatch(`one of ${words.map((word) => `\`${word}\``).join(", ")}`)
  }
}

export function arrayOf<T>(check: FieldCheck<T>): FieldCheck<T[]> {
  return (value) => {
    if (!Array.isArray(value)) throw fieldMismatch("an array")
    const items: T[] = []
    for (let index = 0; index < value.length; index++) {
      try {
        items.push(check(value[index]))
      } catch (thrown) {
        throw thrown instanceof FieldMismatch ? thrown.under(`[${index}]`) : thrown
      }
    }
    return items
  }
}
