// Schemas of objects: members with their presence, and what an unknown member is answered with.
import { excerpt } from "../gateway-error.ts"
import { isObject, type Json, type JsonObject } from "../json.ts"
import { checkAt, type FieldMismatch, fieldMismatch, missingField, refuseField } from "./field-mismatch.ts"
import { nullable, type SchemaValue, type ValueSchema } from "./value-schema.ts"

/** A member of an object: its schema, and whether it may be left out. */
export interface SchemaMember<T, Presence extends "always" | "maybe" = "always" | "maybe"> {
  readonly schema: ValueSchema<T>
  readonly presence: Presence
}

type SchemaMembers = Readonly<Record<string, SchemaMember<unknown>>>
type SchemaMemberValue<M> = M extends SchemaMember<infer T> ? T : never
type PresentMember<M, Name, Presence> = M extends { readonly presence: Presence } ? Name : never
type SchemaObject<M extends SchemaMembers> = {
  readonly [Name in keyof M as PresentMember<M[Name], Name, "always">]: SchemaMemberValue<M[Name]>
} & { readonly [Name in keyof M as PresentMember<M[Name], Name, "maybe">]?: SchemaMemberValue<M[Name]> }

export function required<T>(schema: ValueSchema<T>): SchemaMember<T, "always"> {
  return { schema, presence: "always" }
}

export function optional<T>(schema: ValueSchema<T>): SchemaMember<T, "maybe"> {
  return { schema, presence: "maybe" }
}

interface ObjectOptions {
  /** Refuses a member that is not declared, given its name and those that are. */
  readonly unknown?: (name: string, known: readonly string[]) => FieldMismatch
}

/** An object with exactly these members; null counts as absent for an optional member. */
export function object<const M extends SchemaMembers>(
  members: M,
  { unknown = unknownMember }: ObjectOptions = {},
): ValueSchema<SchemaObject<M>> {
  const names = Object.keys(members)
  return {
    jsonSchema: objectJsonSchema(members),
    read(value) {
      if (!isObject(value)) throw fieldMismatch("an object")
      const odd = Object.keys(value).find((name) => !names.includes(name))
      if (odd !== undefined) throw unknown(odd, names).under(excerpt(odd))
      const read: Record<string, unknown> = {}
      for (const [name, { schema, presence }] of Object.entries(members)) {
        const given = value[name]
        const absent = given === undefined || (given === null && presence === "maybe")
        if (absent && presence === "always") throw missingField().under(name)
        if (!absent) read[name] = checkAt(name, schema.read, given as Json)
      }
      return read as SchemaObject<M>
    },
  }
}

function objectJsonSchema(members: SchemaMembers): JsonObject {
  const entries = Object.entries(members)
  return {
    type: "object",
    properties: Object.fromEntries(entries.map(([name, { schema }]) => [name, schema.jsonSchema])),
    required: entries.filter(([, { presence }]) => presence === "always").map(([name]) => name),
    additionalProperties: false,
  }
}

function unknownMember(_name: string, names: readonly string[]): FieldMismatch {
  const known = names.length === 0 ? "The body takes no members." : `Known are: ${names.join(", ")}.`
  return refuseField("invalid_parameter", (path) => `\`${path}\` is not a known member. ${known}`)
}

type SchemaMap = Readonly<Record<string, ValueSchema<unknown>>>
type SchemaChanges<Kept extends SchemaMap, Cleared extends SchemaMap> = {
  readonly [Name in keyof Kept]?: SchemaValue<Kept[Name]>
} & { readonly [Name in keyof Cleared]?: SchemaValue<Cleared[Name]> | null }

export function optionalMembers<const M extends SchemaMap>(
  schemas: M,
): { [Name in keyof M]: SchemaMember<SchemaValue<M[Name]>, "maybe"> } {
  return Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, optional(schema)])) as never
}

/** An object with optional members; null clears those in `cleared`. */
export function changeSchema<const Kept extends SchemaMap, const Cleared extends SchemaMap>(
  kept: Kept,
  cleared: Cleared,
): ValueSchema<SchemaChanges<Kept, Cleared>> {
  const nullables = Object.fromEntries(Object.entries(cleared).map(([name, schema]) => [name, nullable(schema)]))
  const known = object({ ...optionalMembers(kept), ...optionalMembers(cleared) })
  const { jsonSchema } = object({ ...optionalMembers(kept), ...optionalMembers(nullables) })
  return {
    jsonSchema,
    read(value) {
      const read = known.read(value)
      const taken = Object.keys(cleared).filter((name) => isObject(value) && value[name] === null)
      return { ...read, ...Object.fromEntries(taken.map((name) => [name, null])) } as SchemaChanges<Kept, Cleared>
    },
  }
}
