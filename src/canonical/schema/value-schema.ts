// The schema language of requests: a schema reads a value, has the type of what it returns, and is JSON Schema. This file
// has the schemas of single values and lists; object-schema.ts those of objects.
import { isObject, type JsonObject } from "../json.ts"
import { checkItems, type FieldCheck, fieldMismatch } from "./field-mismatch.ts"

export interface ValueSchema<T> {
  /** Returns the value, or throws a FieldMismatch. */
  readonly read: FieldCheck<T>
  readonly jsonSchema: JsonObject
}

/** The type of the values that a schema returns. */
export type SchemaValue<S> = S extends ValueSchema<infer T> ? T : never

/** The same schema with a description. */
export function about<T>(description: string, { read, jsonSchema }: ValueSchema<T>): ValueSchema<T> {
  return { jsonSchema: { ...jsonSchema, description }, read }
}

export const string: ValueSchema<string> = {
  jsonSchema: { type: "string" },
  read(value) {
    if (typeof value !== "string") throw fieldMismatch("a string")
    return value
  },
}

export const nonEmptyString: ValueSchema<string> = {
  jsonSchema: { type: "string", minLength: 1 },
  read(value) {
    if (typeof value !== "string" || value === "") throw fieldMismatch("a string that is not empty")
    return value
  },
}

/** A string of at most `max` characters that is not empty. */
export function text({ max = 200, about: words }: { max?: number; about?: string } = {}): ValueSchema<string> {
  return {
    jsonSchema: { type: "string", minLength: 1, maxLength: max, ...(words && { description: words }) },
    read(value) {
      if (typeof value === "string" && value.length > 0 && value.length <= max) return value
      throw fieldMismatch(`a string of 1 to ${max} characters`)
    },
  }
}

/** A time in RFC 3339 format. */
export const time: ValueSchema<string> = {
  jsonSchema: { type: "string", format: "date-time" },
  read(value) {
    if (typeof value === "string" && /^\d{4}-\d\d-\d\dT/.test(value) && !Number.isNaN(Date.parse(value))) return value
    throw fieldMismatch("a time such as 2027-01-31T00:00:00Z")
  },
}

/** A day in UTC; the handler checks that the date exists. */
export const date: ValueSchema<string> = { ...text(), jsonSchema: { type: "string", format: "date" } }

export function oneOf<const T extends string>(words: readonly T[]): ValueSchema<T> {
  return {
    jsonSchema: { type: "string", enum: words },
    read(value) {
      for (const word of words) if (word === value) return word
      throw fieldMismatch(`one of ${words.map((word) => `\`${word}\``).join(", ")}`)
    },
  }
}

export const boolean: ValueSchema<boolean> = {
  jsonSchema: { type: "boolean" },
  read(value) {
    if (typeof value !== "boolean") throw fieldMismatch("true or false")
    return value
  },
}

export function number({ min, max }: { min: number; max: number }): ValueSchema<number> {
  return {
    jsonSchema: { type: "number", minimum: min, maximum: max },
    read(value) {
      if (typeof value !== "number" || value < min || value > max) throw fieldMismatch(`a number from ${min} to ${max}`)
      return value
    },
  }
}

export function integer({ min, max }: { min: number; max?: number }): ValueSchema<number> {
  const most = max ?? Number.POSITIVE_INFINITY
  return {
    jsonSchema: { type: "integer", minimum: min, ...(max !== undefined && { maximum: max }) },
    read(value) {
      if (typeof value === "number" && Number.isInteger(value) && value >= min && value <= most) return value
      throw fieldMismatch(`a whole number ${max === undefined ? `of at least ${min}` : `from ${min} to ${max}`}`)
    },
  }
}

/** A whole number in a query string. */
export function numeral(bounds: { min: number; max: number }): ValueSchema<number> {
  const { jsonSchema, read } = integer(bounds)
  return {
    jsonSchema,
    read: (value) => read(typeof value === "string" && /^\d{1,15}$/.test(value) ? Number(value) : null),
  }
}

/** An object with any members. */
export const anyObject: ValueSchema<JsonObject> = {
  jsonSchema: { type: "object" },
  read(value) {
    if (!isObject(value)) throw fieldMismatch("an object")
    return value
  },
}

export function nullable<T>(schema: ValueSchema<T>): ValueSchema<T | null> {
  return {
    jsonSchema: { anyOf: [schema.jsonSchema, { type: "null" }] },
    read: (value) => (value === null ? null : schema.read(value)),
  }
}

interface ListBounds {
  readonly max?: number
  /** The items in words, for the message about a list that is too long. */
  readonly items?: string
}

export function list<T>(item: ValueSchema<T>, { max = 1000, items }: ListBounds = {}): ValueSchema<readonly T[]> {
  const expected = items === undefined ? `an array of at most ${max}` : "an array"
  return {
    jsonSchema: { type: "array", items: item.jsonSchema, maxItems: max },
    read(value) {
      if (!Array.isArray(value)) throw fieldMismatch(expected)
      if (value.length > max) throw fieldMismatch(items === undefined ? expected : `at most ${max} ${items}`)
      return checkItems(value, item.read)
    },
  }
}
