// The words a schema is written in. A shape reads a place into a value and reports what does not fit; it goes on after
// a problem, so that one reading finds them all. Members are snake_case in the file and camelCase in the result.

import { quoted, suggestion } from "../canonical/nearest.ts"
import type { Content, Place } from "./document.ts"

/** What a shape gives when it has reported a problem. */
export const invalid: unique symbol = Symbol("invalid")

export interface Shape<T> {
  read(place: Place): T | typeof invalid
}

/** Why a text is not what it should be. Printed, so it must not repeat a credential. */
export class Wrong {
  readonly message: string

  constructor(message: string) {
    this.message = message
  }
}

export type Parser<T> = (text: string) => T | Wrong

/** Text that `parse` accepts, as what `parse` makes of it. */
export function text<T>(parse: Parser<T>): Shape<T> {
  return {
    read(place) {
      const content = place.content()
      if (content.kind !== "text") return unexpected(place, "a string")
      const value = parse(content.text)
      if (!(value instanceof Wrong)) return value
      place.report(value.message)
      return invalid
    },
  }
}

/** A whole number from `min` to `max`. */
export function integer({ min, max = Number.MAX_SAFE_INTEGER }: { min: number; max?: number }): Shape<number> {
  const wanted =
    max === Number.MAX_SAFE_INTEGER ? `a whole number, at least ${min}` : `a whole number from ${min} to ${max}`
  return {
    read(place) {
      const content = place.content()
      const number = numberIn(content)
      if (number === undefined) return unexpected(place, wanted)
      if (Number.isSafeInteger(number) && number >= min && number <= max) return number
      place.report(`expected ${wanted}, found ${number}`)
      return invalid
    },
  }
}

export function boolean(): Shape<boolean> {
  return {
    read(place) {
      const content = place.content()
      if (content.kind === "boolean") return content.boolean
      if (content.kind === "text" && content.substituted && /^(true|false)$/.test(content.text))
        return content.text === "true"
      return unexpected(place, "true or false")
    },
  }
}

/** One of the given words. */
export function choice<const Word extends string>(...words: Word[]): Shape<Word> {
  return text((found) => {
    const word = words.find((candidate) => candidate === found)
    return word ?? new Wrong(`unknown value ${quoted(found)}; ${suggestion(found, words)}`)
  })
}

/** A name out of a list that people may misspell. */
export function oneOf(what: string, known: readonly string[]): Parser<string> {
  return (name) => {
    if (known.includes(name)) return name
    return new Wrong(`unknown ${what} ${quoted(name)}; ${suggestion(name, known)}`)
  }
}

export function list<T>(item: Shape<T>, { atLeast = 0 }: { atLeast?: number } = {}): Shape<readonly T[]> {
  return {
    read(place) {
      const content = place.content()
      if (content.kind !== "list") return unexpected(place, "a list")
      const values = content.items.map((each) => item.read(each))
      if (values.length < atLeast) {
        place.report(`expected at least ${atLeast}, found ${values.length}`)
        return invalid
      }
      const valid = values.filter((value): value is T => value !== invalid)
      return valid.length === values.length ? valid : invalid
    },
  }
}

/** A mapping whose names the operator chooses. */
export function dictionary<T>(name: Parser<string>, entry: (name: string) => Shape<T>): Shape<ReadonlyMap<string, T>> {
  return {
    read(place) {
      const members = membersOf(place)
      if (members === undefined) return unexpected(place, "a mapping")
      const values = new Map<string, T>()
      let sound = true
      for (const [key, member] of members) {
        const id = name(key)
        const value = entry(key).read(member)
        if (id instanceof Wrong) member.reportName(id.message)
        if (id instanceof Wrong || value === invalid) sound = false
        else values.set(id, value)
      }
      return sound ? values : invalid
    },
  }
}

interface Member<T, Presence extends "always" | "maybe" = "always" | "maybe"> {
  readonly shape: Shape<T>
  readonly presence: Presence
  /** What an absent member means; left out, it must be there. */
  readonly absent?: () => T
}

export function required<T>(shape: Shape<T>): Member<T, "always"> {
  return { shape, presence: "always" }
}

export function optional<T>(shape: Shape<T>): Member<T, "maybe"> {
  return { shape, presence: "maybe" }
}

export function otherwise<T>(shape: Shape<T>, value: NoInfer<T>): Member<T, "always"> {
  return { shape, presence: "always", absent: () => value }
}

type Members = Readonly<Record<string, Member<unknown>>>
type Camel<Name> = Name extends `${infer Head}_${infer Rest}` ? `${Head}${Capitalize<Camel<Rest>>}` : Name
type ValueOf<M> = M extends Member<infer T> ? T : never
type Named<M, Name, Presence> = M extends { readonly presence: Presence } ? Camel<Name> & string : never
type ObjectOf<M extends Members> = {
  readonly [Name in keyof M as Named<M[Name], Name, "always">]: ValueOf<M[Name]>
} & { readonly [Name in keyof M as Named<M[Name], Name, "maybe">]?: ValueOf<M[Name]> }

/** A rule about several members at once. It sees those that are sound, also when others are not. */
type Rule<T> = (sound: Partial<T>, place: Place) => void

/** A mapping with the given members and no others. */
export function object<const M extends Members>(members: M, rule?: Rule<ObjectOf<M>>): Shape<ObjectOf<M>> {
  const known = Object.keys(members)
  return {
    read(place) {
      const found = membersOf(place)
      if (found === undefined) return unexpected(place, "a mapping")
      for (const [name, member] of found) {
        if (known.includes(name)) continue
        member.reportName(`unknown member ${quoted(name)}; ${suggestion(name, known)}`)
      }
      const draft: Record<string, unknown> = {}
      let sound = true
      for (const [name, member] of Object.entries(members)) {
        const value = readMember(place, { name, member, found: found.get(name) })
        if (value === invalid) sound = false
        else if (value !== undefined) draft[camel(name)] = value
      }
      rule?.(draft as Partial<ObjectOf<M>>, place)
      return sound ? (draft as ObjectOf<M>) : invalid
    },
  }
}

interface FoundMember {
  readonly name: string
  readonly member: Member<unknown>
  readonly found: Place | undefined
}

function readMember(parent: Place, { name, member, found }: FoundMember): unknown {
  if (found !== undefined && found.content().kind !== "nothing") return member.shape.read(found)
  if (member.absent) return member.absent()
  if (member.presence === "maybe") return undefined
  parent.reportName(`the member ${quoted(name)} is missing`)
  return invalid
}

/** An empty `server:` means the same as `server: {}`. */
function membersOf(place: Place): ReadonlyMap<string, Place> | undefined {
  const content = place.content()
  if (content.kind === "nothing") return new Map()
  return content.kind === "mapping" ? content.members : undefined
}

/** A number written out, or one that a variable brought. */
function numberIn(content: Content): number | undefined {
  if (content.kind === "number") return content.number
  const fromVariable = content.kind === "text" && content.substituted && /^[0-9]{1,16}$/.test(content.text)
  return fromVariable ? Number(content.text) : undefined
}

function unexpected(place: Place, wanted: string): typeof invalid {
  const { kind } = place.content()
  const hint = wanted === "a string" && (kind === "number" || kind === "boolean") ? " (put it in quotes)" : ""
  if (kind !== "broken") place.report(`expected ${wanted}, found ${kindNames[kind]}${hint}`)
  return invalid
}

const kindNames = {
  nothing: "nothing",
  text: "a string",
  number: "a number",
  boolean: "true or false",
  list: "a list",
  mapping: "a mapping",
} as const satisfies Record<Exclude<Content["kind"], "broken">, string>

/** A member's name in the file as the result has it. */
export function camel(name: string): string {
  return name.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase())
}
