// Schemas of administration routes: each validates a value and describes itself for OpenAPI.
import { excerpt, GatewayError } from "../canonical/gateway-error.ts"
import { isObject, type Json, type JsonObject } from "../canonical/json.ts"

export interface AdminSchema<T> {
  /** Returns the value, or throws a GatewayError that names the member at `path`. */
  read(value: Json, path: string): T
  /** As JSON Schema. */
  readonly jsonSchema: JsonObject
}

/** A member of an object: its schema, and whether it may be left out. */
export interface SchemaMember<T, Presence extends "always" | "maybe" = "always" | "maybe"> {
  readonly schema: AdminSchema<T>
  readonly presence: Presence
}

type SchemaMembers = Readonly<Record<string, SchemaMember<unknown>>>
type SchemaMemberValue<M> = M extends SchemaMember<infer T> ? T : never
type PresentMember<M, Name, Presence> = M extends { readonly presence: Presence } ? Name : never
export type SchemaObject<M extends SchemaMembers> = {
  readonly [Name in keyof M as PresentMember<M[Name], Name, "always">]: SchemaMemberValue<M[Name]>
} & { readonly [Name in keyof M as PresentMember<M[Name], Name, "maybe">]?: SchemaMemberValue<M[Name]> }

export function required<T>(schema: AdminSchema<T>): SchemaMember<T, "always"> {
  return { schema, presence: "always" }
}

export function optional<T>(schema: AdminSchema<T>): SchemaMember<T, "maybe"> {
  return { schema, presence: "maybe" }
}

export function text({ max = 200, about }: { max?: number; about?: string } = {}): AdminSchema<string> {
  return {
    jsonSchema: { type: "string", minLength: 1, maxLength: max, ...(about && { description: about }) },
    read(value, path) {
      if (typeof value === "string" && value.length > 0 && value.length <= max) return value
      throw mismatchError(path, `a string of 1 to ${max} characters`)
    },
  }
}

/** A time in RFC 3339 format. */
export function time(): AdminSchema<string> {
  return {
    jsonSchema: { type: "string", format: "date-time" },
    read(value, path) {
      if (typeof value === "string" && /^\d{4}-\d\d-\d\dT/.test(value) && !Number.isNaN(Date.parse(value))) return value
      throw mismatchError(path, "a time such as 2027-01-31T00:00:00Z")
    },
  }
}

/** A day in UTC; the handler checks that the date exists. */
export function date(): AdminSchema<string> {
  return { ...text(), jsonSchema: { type: "string", format: "date" } }
}

/** A whole number in a query string. */
export function numeral({ min, max }: { min: number; max: number }): AdminSchema<number> {
  const { jsonSchema, read } = integer({ min, max })
  return {
    jsonSchema,
    read: (value, path) => read(typeof value === "string" && /^\d{1,15}$/.test(value) ? Number(value) : null, path),
  }
}

/** An object with any members. */
export function anyObject(): AdminSchema<JsonObject> {
  return {
    jsonSchema: { type: "object" },
    read(value, path) {
      if (isObject(value)) return value
      throw mismatchError(path, "an object")
    },
  }
}

export function integer({ min, max }: { min: number; max: number }): AdminSchema<number> {
  return {
    jsonSchema: { type: "integer", minimum: min, maximum: max },
    read(value, path) {
      if (typeof value === "number" && Number.isInteger(value) && value >= min && value <= max) return value
      throw mismatchError(path, `a whole number from ${min} to ${max}`)
    },
  }
}

export function boolean(): AdminSchema<boolean> {
  return {
    jsonSchema: { type: "boolean" },
    read(value, path) {
      if (typeof value === "boolean") return value
      throw mismatchError(path, "true or false")
    },
  }
}

export function nullable<T>(schema: AdminSchema<T>): AdminSchema<T | null> {
  return {
    jsonSchema: { anyOf: [schema.jsonSchema, { type: "null" }] },
    read: (value, path) => (value === null ? null : schema.read(value, path)),
  }
}

export function list<T>(item: AdminSchema<T>, { max = 1000 }: { max?: number } = {}): AdminSchema<readonly T[]> {
  return {
    jsonSchema: { type: "array", items: item.jsonSchema, maxItems: max },
    read(value, path) {
      if (!Array.isArray(value) || value.length > max) throw mismatchError(path, `an array of at most ${max}`)
      return value.map((each, index) => item.read(each, `${path}[${index}]`))
    },
  }
}

/** An object with exactly these members; null counts as absent for an optional member. */
export function object<const M extends SchemaMembers>(members: M): AdminSchema<SchemaObject<M>> {
  const names = Object.keys(members)
  const always = names.filter((name) => members[name]?.presence === "always")
  const properties = Object.fromEntries(names.map((name) => [name, members[name]?.schema.jsonSchema ?? {}]))
  return {
    jsonSchema: { type: "object", properties, required: always, additionalProperties: false },
    read(value, path) {
      if (!isObject(value)) throw mismatchError(path, "an object")
      const unknown = Object.keys(value).find((name) => !names.includes(name))
      if (unknown !== undefined) throw unknownMemberError(memberPath(path, excerpt(unknown)), names)
      const read: Record<string, unknown> = {}
      for (const [name, { schema, presence }] of Object.entries(members)) {
        const given = value[name]
        const absent = given === undefined || (given === null && presence === "maybe")
        if (absent && presence === "always") throw missingMemberError(memberPath(path, name))
        if (!absent) read[name] = schema.read(given as Json, memberPath(path, name))
      }
      return read as SchemaObject<M>
    },
  }
}

function memberPath(path: string, name: string): string {
  return path === "" ? name : `${path}.${name}`
}

function mismatchError(path: string, expected: string): GatewayError {
  const subject = path === "" ? "The body" : `\`${path}\``
  return new GatewayError("invalid_parameter", `${subject} must be ${expected}.`, { param: path })
}

function missingMemberError(path: string): GatewayError {
  return new GatewayError("missing_parameter", `\`${path}\` is required.`, { param: path })
}

function unknownMemberError(path: string, names: readonly string[]): GatewayError {
  const known = names.length === 0 ? "The body takes no members." : `Known are: ${names.join(", ")}.`
  return new GatewayError("invalid_parameter", `\`${path}\` is not a known member. ${known}`, { param: path })
}
