// The words administration routes are declared in: a schema reads what a caller sent, and describes itself for OpenAPI.
import { excerpt, GatewayError } from "../canonical/error.ts"
import { isObject, type Json, type JsonObject } from "../canonical/json.ts"

export interface Schema<T> {
  /** What was sent, or a GatewayError that names the member at `path`. */
  read(value: Json, path: string): T
  /** As JSON Schema. */
  readonly described: JsonObject
}

/** A member of an object: its schema, and whether it may be left out. */
export interface Member<T, Presence extends "always" | "maybe" = "always" | "maybe"> {
  readonly schema: Schema<T>
  readonly presence: Presence
}

type Members = Readonly<Record<string, Member<unknown>>>
type ValueOf<M> = M extends Member<infer T> ? T : never
type Named<M, Name, Presence> = M extends { readonly presence: Presence } ? Name : never
export type ObjectOf<M extends Members> = {
  readonly [Name in keyof M as Named<M[Name], Name, "always">]: ValueOf<M[Name]>
} & { readonly [Name in keyof M as Named<M[Name], Name, "maybe">]?: ValueOf<M[Name]> }

export function required<T>(schema: Schema<T>): Member<T, "always"> {
  return { schema, presence: "always" }
}

export function optional<T>(schema: Schema<T>): Member<T, "maybe"> {
  return { schema, presence: "maybe" }
}

export function text({ max = 200, about }: { max?: number; about?: string } = {}): Schema<string> {
  return {
    described: { type: "string", minLength: 1, maxLength: max, ...(about && { description: about }) },
    read(value, path) {
      if (typeof value === "string" && value.length > 0 && value.length <= max) return value
      throw misfit(path, `a string of 1 to ${max} characters`)
    },
  }
}

/** A moment, written as RFC 3339 says. */
export function time(): Schema<string> {
  return {
    described: { type: "string", format: "date-time" },
    read(value, path) {
      if (typeof value === "string" && /^\d{4}-\d\d-\d\dT/.test(value) && !Number.isNaN(Date.parse(value))) return value
      throw misfit(path, "a time such as 2027-01-31T00:00:00Z")
    },
  }
}

/** A day in UTC; whoever reckons by it says whether there is such a one. */
export function date(): Schema<string> {
  return { ...text(), described: { type: "string", format: "date" } }
}

/** A whole number, written out as it stands in an address. */
export function numeral({ min, max }: { min: number; max: number }): Schema<number> {
  const { described, read } = integer({ min, max })
  return {
    described,
    read: (value, path) => read(typeof value === "string" && /^\d{1,15}$/.test(value) ? Number(value) : null, path),
  }
}

/** An object of whatever members. */
export function anyObject(): Schema<JsonObject> {
  return {
    described: { type: "object" },
    read(value, path) {
      if (isObject(value)) return value
      throw misfit(path, "an object")
    },
  }
}

export function integer({ min, max }: { min: number; max: number }): Schema<number> {
  return {
    described: { type: "integer", minimum: min, maximum: max },
    read(value, path) {
      if (typeof value === "number" && Number.isInteger(value) && value >= min && value <= max) return value
      throw misfit(path, `a whole number from ${min} to ${max}`)
    },
  }
}

export function boolean(): Schema<boolean> {
  return {
    described: { type: "boolean" },
    read(value, path) {
      if (typeof value === "boolean") return value
      throw misfit(path, "true or false")
    },
  }
}

export function nullable<T>(schema: Schema<T>): Schema<T | null> {
  return {
    described: { anyOf: [schema.described, { type: "null" }] },
    read: (value, path) => (value === null ? null : schema.read(value, path)),
  }
}

export function list<T>(item: Schema<T>, { max = 1000 }: { max?: number } = {}): Schema<readonly T[]> {
  return {
    described: { type: "array", items: item.described, maxItems: max },
    read(value, path) {
      if (!Array.isArray(value) || value.length > max) throw misfit(path, `an array of at most ${max}`)
      return value.map((each, index) => item.read(each, `${path}[${index}]`))
    },
  }
}

/** An object with these members and no others; a null member counts as absent where it may be. */
export function object<const M extends Members>(members: M): Schema<ObjectOf<M>> {
  const names = Object.keys(members)
  const always = names.filter((name) => members[name]?.presence === "always")
  const properties = Object.fromEntries(names.map((name) => [name, members[name]?.schema.described ?? {}]))
  return {
    described: { type: "object", properties, required: always, additionalProperties: false },
    read(value, path) {
      if (!isObject(value)) throw misfit(path, "an object")
      const unknown = Object.keys(value).find((name) => !names.includes(name))
      if (unknown !== undefined) throw unknownMember(memberPath(path, excerpt(unknown)), names)
      const read: Record<string, unknown> = {}
      for (const [name, { schema, presence }] of Object.entries(members)) {
        const given = value[name]
        const absent = given === undefined || (given === null && presence === "maybe")
        if (absent && presence === "always") throw missing(memberPath(path, name))
        if (!absent) read[name] = schema.read(given as Json, memberPath(path, name))
      }
      return read as ObjectOf<M>
    },
  }
}

function memberPath(path: string, name: string): string {
  return path === "" ? name : `${path}.${name}`
}

function misfit(path: string, expected: string): GatewayError {
  const place = path === "" ? "The body" : `\`${path}\``
  return new GatewayError("invalid_parameter", `${place} must be ${expected}.`, { param: path })
}

function missing(path: string): GatewayError {
  return new GatewayError("missing_parameter", `\`${path}\` is required.`, { param: path })
}

function unknownMember(path: string, names: readonly string[]): GatewayError {
  const known = names.length === 0 ? "The body takes no members." : `Known are: ${names.join(", ")}.`
  return new GatewayError("invalid_parameter", `\`${path}\` is not known here. ${known}`, { param: path })
}
