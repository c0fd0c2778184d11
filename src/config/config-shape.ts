// The schema language of the configuration. A shape reads a node into a value and reports problems; it continues after
// a problem, so that one reading finds them all. Members are snake_case in the file and camelCase in the result. Each shape
// is also JSON Schema, for editors; checks that need the rest of the file or the machine are left out of it.

import type { Json, JsonObject } from "../canonical/json.ts"
import { quoteName, suggestKnownName } from "../canonical/nearest-name.ts"
import * as schemas from "../canonical/schema/value-schema.ts"
import type { ConfigNode, NodeContent } from "./config-document.ts"
import { orNull, orVariable } from "./member-schema.ts"

/** The result of a shape that has reported a problem. */
export const INVALID: unique symbol = Symbol("invalid")

export interface ConfigShape<T> {
  read(node: ConfigNode): T | typeof INVALID
  readonly jsonSchema: JsonObject
}

/** The reason a text is invalid. Printed, so it must not repeat a credential. */
export class ParseProblem {
  readonly message: string

  constructor(message: string) {
    this.message = message
  }
}

export type TextParser<T> = (text: string) => T | ParseProblem

/** Text that `parse` accepts, converted by `parse`. */
export function text<T>(parse: TextParser<T>, jsonSchema = schemas.string.jsonSchema): ConfigShape<T> {
  return {
    jsonSchema,
    read(node) {
      const content = node.content()
      if (content.kind !== "text") return reportUnexpected(node, "a string")
      const value = parse(content.text)
      if (!(value instanceof ParseProblem)) return value
      node.report(value.message)
      return INVALID
    },
  }
}

/** A whole number from `min` to `max`. */
export function integer({ min, max = Number.MAX_SAFE_INTEGER }: { min: number; max?: number }): ConfigShape<number> {
  const isOpen = max === Number.MAX_SAFE_INTEGER
  const wanted = isOpen ? `a whole number, at least ${min}` : `a whole number from ${min} to ${max}`
  return {
    jsonSchema: orVariable(schemas.integer(isOpen ? { min } : { min, max }).jsonSchema),
    read(node) {
      const content = node.content()
      const number = numberIn(content)
      if (number === undefined) return reportUnexpected(node, wanted)
      if (Number.isSafeInteger(number) && number >= min && number <= max) return number
      node.report(`expected ${wanted}, found ${number}`)
      return INVALID
    },
  }
}

export function boolean(): ConfigShape<boolean> {
  return {
    jsonSchema: orVariable(schemas.boolean.jsonSchema),
    read(node) {
      const content = node.content()
      if (content.kind === "boolean") return content.boolean
      if (content.kind === "text" && content.substituted && /^(true|false)$/.test(content.text))
        return content.text === "true"
      return reportUnexpected(node, "true or false")
    },
  }
}

/** One of the given values. */
export function choice<const Word extends string>(...words: Word[]): ConfigShape<Word> {
  return text((found) => {
    const word = words.find((candidate) => candidate === found)
    return word ?? new ParseProblem(`unknown value ${quoteName(found)}; ${suggestKnownName(found, words)}`)
  }, wordSchema(words))
}

/** JSON Schema of one of these words. */
export function wordSchema(words: readonly string[]): JsonObject {
  return orVariable(schemas.oneOf(words).jsonSchema)
}

/** A name from a list, with a suggestion if it is misspelt. */
export function oneOf(what: string, known: readonly string[]): TextParser<string> {
  return (name) => {
    if (known.includes(name)) return name
    return new ParseProblem(`unknown ${what} ${quoteName(name)}; ${suggestKnownName(name, known)}`)
  }
}

export function list<T>(item: ConfigShape<T>, { atLeast = 0 }: { atLeast?: number } = {}): ConfigShape<readonly T[]> {
  return {
    jsonSchema: { type: "array", items: item.jsonSchema, ...(atLeast > 0 && { minItems: atLeast }) },
    read(node) {
      const content = node.content()
      if (content.kind !== "list") return reportUnexpected(node, "a list")
      const values = content.items.map((each) => item.read(each))
      if (values.length < atLeast) {
        node.report(`expected at least ${atLeast}, found ${values.length}`)
        return INVALID
      }
      const valid = values.filter((value): value is T => value !== INVALID)
      return valid.length === values.length ? valid : INVALID
    },
  }
}

/** A mapping with free names. */
export function dictionary<T>(
  name: TextParser<string>,
  entry: (name: string) => ConfigShape<T>,
): ConfigShape<ReadonlyMap<string, T>> {
  return {
    jsonSchema: { type: "object", additionalProperties: orNull(entry("").jsonSchema) },
    read(node) {
      const members = membersOf(node)
      if (members === undefined) return reportUnexpected(node, "a mapping")
      const values = new Map<string, T>()
      let sound = true
      for (const [key, member] of members) {
        const id = name(key)
        const value = entry(key).read(member)
        if (id instanceof ParseProblem) member.reportName(id.message)
        if (id instanceof ParseProblem || value === INVALID) sound = false
        else values.set(id, value)
      }
      return sound ? values : INVALID
    },
  }
}

interface ShapeMember<T, Presence extends "always" | "maybe" = "always" | "maybe"> {
  readonly shape: ConfigShape<T>
  readonly presence: Presence
  /** The default of an absent member; without one, the member is required. */
  readonly absent?: () => T
}

export function required<T>(shape: ConfigShape<T>): ShapeMember<T, "always"> {
  return { shape, presence: "always" }
}

export function optional<T>(shape: ConfigShape<T>): ShapeMember<T, "maybe"> {
  return { shape, presence: "maybe" }
}

export function withDefault<T>(shape: ConfigShape<T>, value: NoInfer<T>): ShapeMember<T, "always"> {
  const jsonSchema = isJsonValue(value) ? { ...shape.jsonSchema, default: value } : shape.jsonSchema
  return { shape: { ...shape, jsonSchema }, presence: "always", absent: () => value }
}

/** Objects are left out: their members have defaults of their own, under the names of the file. */
function isJsonValue(value: unknown): value is Json {
  return Array.isArray(value) ? value.every(isJsonValue) : typeof value !== "object" || value === null
}

type ShapeMembers = Readonly<Record<string, ShapeMember<unknown>>>
type CamelCase<Name> = Name extends `${infer Head}_${infer Rest}` ? `${Head}${Capitalize<CamelCase<Rest>>}` : Name
type MemberValue<M> = M extends ShapeMember<infer T> ? T : never
type NamedMember<M, Name, Presence> = M extends { readonly presence: Presence } ? CamelCase<Name> & string : never
type ShapeObject<M extends ShapeMembers> = {
  readonly [Name in keyof M as NamedMember<M[Name], Name, "always">]: MemberValue<M[Name]>
} & { readonly [Name in keyof M as NamedMember<M[Name], Name, "maybe">]?: MemberValue<M[Name]> }

/** A rule about several members. It receives the valid ones, even if others are invalid. */
type ObjectRule<T> = (sound: Partial<T>, node: ConfigNode) => void

/** A mapping with the given members and no others. */
export function object<const M extends ShapeMembers>(
  members: M,
  rule?: ObjectRule<ShapeObject<M>>,
): ConfigShape<ShapeObject<M>> {
  const known = Object.keys(members)
  return {
    jsonSchema: objectSchema(members),
    read(node) {
      const found = membersOf(node)
      if (found === undefined) return reportUnexpected(node, "a mapping")
      for (const [name, member] of found) {
        if (known.includes(name)) continue
        member.reportName(`unknown member ${quoteName(name)}; ${suggestKnownName(name, known)}`)
      }
      const draft: Record<string, unknown> = {}
      let sound = true
      for (const [name, member] of Object.entries(members)) {
        const value = readMember(node, { name, member, found: found.get(name) })
        if (value === INVALID) sound = false
        else if (value !== undefined) draft[toCamelCase(name)] = value
      }
      rule?.(draft as Partial<ShapeObject<M>>, node)
      return sound ? (draft as ShapeObject<M>) : INVALID
    },
  }
}

function objectSchema(members: ShapeMembers): JsonObject {
  const entries = Object.entries(members).map(([name, { shape, presence, absent }]) => {
    const isRequired = presence === "always" && !absent
    return { name, isRequired, jsonSchema: isRequired ? shape.jsonSchema : orNull(shape.jsonSchema) }
  })
  const required = entries.flatMap(({ name, isRequired }) => (isRequired ? [name] : []))
  return {
    type: "object",
    properties: Object.fromEntries(entries.map(({ name, jsonSchema }) => [name, jsonSchema])),
    ...(required.length > 0 && { required }),
    additionalProperties: false,
  }
}

interface FoundMember {
  readonly name: string
  readonly member: ShapeMember<unknown>
  readonly found: ConfigNode | undefined
}

function readMember(parent: ConfigNode, { name, member, found }: FoundMember): unknown {
  if (found !== undefined && found.content().kind !== "nothing") return member.shape.read(found)
  if (member.absent) return member.absent()
  if (member.presence === "maybe") return undefined
  parent.reportName(`the member ${quoteName(name)} is missing`)
  return INVALID
}

/** An empty `server:` means the same as `server: {}`. */
function membersOf(node: ConfigNode): ReadonlyMap<string, ConfigNode> | undefined {
  const content = node.content()
  if (content.kind === "nothing") return new Map()
  return content.kind === "mapping" ? content.members : undefined
}

/** A number, or text from a variable that is a number. */
function numberIn(content: NodeContent): number | undefined {
  if (content.kind === "number") return content.number
  const fromVariable = content.kind === "text" && content.substituted && /^[0-9]{1,16}$/.test(content.text)
  return fromVariable ? Number(content.text) : undefined
}

function reportUnexpected(node: ConfigNode, wanted: string): typeof INVALID {
  const { kind } = node.content()
  const hint = wanted === "a string" && (kind === "number" || kind === "boolean") ? " (put it in quotes)" : ""
  if (kind !== "broken") node.report(`expected ${wanted}, found ${KIND_NAMES[kind]}${hint}`)
  return INVALID
}

const KIND_NAMES = {
  nothing: "nothing",
  text: "a string",
  number: "a number",
  boolean: "true or false",
  list: "a list",
  mapping: "a mapping",
} as const satisfies Record<Exclude<NodeContent["kind"], "broken">, string>

/** Converts a member's name from the file to the result. */
export function toCamelCase(name: string): string {
  return name.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase())
}
