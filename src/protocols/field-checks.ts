// Checks for the protocols' validators: members of a body by name, and the schema language's values as plain functions. A
// null member counts as absent.

import type { Json } from "../canonical/json.ts"
import {
  checkAt,
  checkItems,
  type FieldCheck,
  fieldMismatch,
  missingField,
} from "../canonical/schema/field-mismatch.ts"
import * as schemas from "../canonical/schema/value-schema.ts"

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

export const string = schemas.string.read
export const nonEmptyString = schemas.nonEmptyString.read
export const boolean = schemas.boolean.read
export const object = schemas.anyObject.read

export function integer(bounds: { min: number }): FieldCheck<number> {
  return schemas.integer(bounds).read
}

export function oneOf<const T extends string>(words: readonly T[]): FieldCheck<T> {
  return schemas.oneOf(words).read
}

export function arrayOf<T>(check: FieldCheck<T>): FieldCheck<T[]> {
  return (value) => {
    if (!Array.isArray(value)) throw fieldMismatch("an array")
    return checkItems(value, check)
  }
}
