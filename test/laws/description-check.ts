// Checks values against an OpenAPI description as a strict receiver does: an undescribed member is a fault, and among
// alternatives the fault is that of the intended one.
import { isObject, type Json, type JsonObject } from "../../src/canonical/json.ts"

/** The faults that one schema finds in a value, and the object members it knows. */
interface SchemaFinding {
  readonly faults: readonly string[]
  readonly known: ReadonlySet<string>
  /** Whether it allows unnamed members; undefined if it does not mention members. */
  readonly open: boolean | undefined
}

interface JsonLocation {
  readonly value: Json
  readonly at: string
}

const NOTHING: SchemaFinding = { faults: [], known: new Set(), open: undefined }

export class DescriptionCheck {
  constructor(private readonly root: JsonObject) {}

  /** The paths and reasons at which the value breaks the schema of this name; empty if it is valid. */
  faults(value: Json, name: string): string[] {
    return this.whole({ $ref: `#/components/schemas/${name}` }, { value, at: "$" })
  }

  /** Checks a value against all of its schemas: only here are unknown members known. */
  private whole(schema: Json, place: JsonLocation): string[] {
    const found = this.finding(schema, place)
    return [...found.faults, ...unknownMembers(found, place)]
  }

  private finding(schema: Json, place: JsonLocation): SchemaFinding {
    if (schema === false) return { ...NOTHING, faults: [`${place.at}: nothing is allowed here`] }
    if (!isObject(schema)) return NOTHING
    if (place.value === null && schema.nullable === true) return NOTHING
    const parts: SchemaFinding[] = [this.own(schema, place)]
    if (typeof schema.$ref === "string") parts.push(this.finding(this.resolved(schema.$ref), place))
    for (const part of schemas(schema.allOf)) parts.push(this.finding(part, place))
    for (const choice of [schemas(schema.oneOf), schemas(schema.anyOf)]) {
      if (choice.length > 0) parts.push(this.chosen(choice, { ...place, schema }))
    }
    return joined(parts)
  }

  private resolved(reference: string): Json {
    const steps = reference.split("/").slice(1)
    const found = steps.reduce<Json | undefined>((at, step) => (isObject(at) ? at[step] : undefined), this.root)
    if (found === undefined) throw new Error(`the description has no ${reference}`)
    return found
  }

  /** Among alternatives the one that the discriminator names, otherwise the one with the fewest faults. */
  private chosen(choice: readonly Json[], { value, at, schema }: JsonLocation & { schema: JsonObject }): SchemaFinding {
    const named = this.named(value, schema)
    if (named !== undefined) return this.finding(named, { value, at })
    let best: { finding: SchemaFinding; count: number } | undefined
    for (const branch of choice) {
      if (choice.length > 1 && this.isOther(value, branch)) continue
      const finding = this.finding(branch, { value, at })
      const count = finding.faults.length + unknownMembers(finding, { value, at }).length
      if (count === 0) return finding
      if (!best || count < best.count) best = { finding, count }
    }
    return best?.finding ?? { ...NOTHING, faults: [`${at}: none of the alternatives is ${short(value)}`] }
  }

  private named(value: Json, { discriminator }: JsonObject): Json | undefined {
    if (!isObject(value) || !isObject(discriminator)) return undefined
    const { propertyName, mapping } = discriminator
    const word = value[String(propertyName)]
    const reference = isObject(mapping) && typeof word === "string" ? mapping[word] : undefined
    return typeof reference === "string" ? { $ref: reference } : undefined
  }

  /** Whether the value is clearly meant as another alternative: of another type, or with another tag. */
  private isOther(value: Json, schema: Json): boolean {
    if (!isObject(schema)) return false
    if (typeof schema.$ref === "string") return this.isOther(value, this.resolved(schema.$ref))
    if (schema.type !== undefined && !isOfType(value, schema.type)) return true
    if (!isObject(value) || !isObject(schema.properties)) return false
    return ["type", "role"].some((tag) => {
      const described = isObject(schema.properties) ? schema.properties[tag] : undefined
      const kind = value[tag]
      return isObject(described) && kind !== undefined && !isOneOf(kind, described)
    })
  }

  private own(schema: JsonObject, { value, at }: JsonLocation): SchemaFinding {
    const faults: string[] = []
    const must = (holds: boolean, what: string) => {
      if (!holds) faults.push(`${at}: ${what}, but it is ${short(value)}`)
    }
    if (schema.type !== undefined) must(isOfType(value, schema.type), `must be ${JSON.stringify(schema.type)}`)
    must(isOneOf(value, schema), `must be one of ${JSON.stringify(schema.enum ?? schema.const)}`)
    if (typeof value === "number") checkNumber(value, schema, must)
    if (typeof value === "string") checkString(value, schema, must)
    if (Array.isArray(value)) faults.push(...this.items(value, schema, { at, must }))
    if (!isObject(value)) return { ...NOTHING, faults }
    return this.members(value, schema, { at, faults })
  }

  private items(
    value: readonly Json[],
    schema: JsonObject,
    { at, must }: { at: string; must: RequireHolds },
  ): string[] {
    const { minItems, maxItems, items } = schema
    if (typeof minItems === "number") must(value.length >= minItems, `must have ${minItems} items at least`)
    if (typeof maxItems === "number") must(value.length <= maxItems, `must have ${maxItems} items at most`)
    if (items === undefined) return []
    return value.flatMap((item, index) => this.whole(items, { value: item, at: `${at}[${index}]` }))
  }

  private members(
    value: JsonObject,
    schema: JsonObject,
    { at, faults }: { at: string; faults: string[] },
  ): SchemaFinding {
    const { properties, additionalProperties, required } = schema
    for (const name of Array.isArray(required) ? required : []) {
      if (!Object.hasOwn(value, String(name))) faults.push(`${at}: ${name} is missing`)
    }
    const described = isObject(properties) ? properties : {}
    // An object of whatever its sender likes is written with no member as often as without a word on them.
    const isBare = Object.keys(described).length === 0
    const more = isObject(additionalProperties) ? additionalProperties : undefined
    for (const [name, member] of Object.entries(value)) {
      const part = Object.hasOwn(described, name) ? described[name] : more
      if (part !== undefined) faults.push(...this.whole(part, { value: member, at: `${at}.${name}` }))
    }
    const isFree = additionalProperties === true || more !== undefined
    const open = isFree || (isBare && schema.type === "object" && additionalProperties !== false)
    const hasMembers = !isBare || additionalProperties !== undefined || schema.type === "object"
    return { faults, known: new Set(Object.keys(described)), open: hasMembers ? open : undefined }
  }
}

type RequireHolds = (holds: boolean, what: string) => void

function schemas(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? value : []
}

function joined(parts: readonly SchemaFinding[]): SchemaFinding {
  const open = parts.map(({ open }) => open).filter((open) => open !== undefined)
  return {
    faults: parts.flatMap(({ faults }) => faults),
    known: new Set(parts.flatMap(({ known }) => [...known])),
    open: open.length === 0 ? undefined : open.includes(true),
  }
}

function unknownMembers({ known, open }: SchemaFinding, { value, at }: JsonLocation): string[] {
  if (open !== false || !isObject(value)) return []
  return Object.keys(value).flatMap((name) => (known.has(name) ? [] : [`${at}.${name}: unknown member`]))
}

function isOfType(value: Json, type: Json): boolean {
  const types: readonly Json[] = Array.isArray(type) ? type : [type]
  const actual = value === null ? "null" : Array.isArray(value) ? "array" : typeof value
  return types.includes(actual) || (types.includes("integer") && Number.isInteger(value))
}

function isOneOf(value: Json, { enum: words, const: word }: JsonObject): boolean {
  if (word !== undefined) return value === word
  return !Array.isArray(words) || words.includes(value)
}

function checkNumber(value: number, { minimum, maximum, exclusiveMinimum }: JsonObject, must: RequireHolds): void {
  if (typeof minimum === "number") must(value >= minimum, `must be ${minimum} at least`)
  if (typeof maximum === "number") must(value <= maximum, `must be ${maximum} at most`)
  if (typeof exclusiveMinimum === "number") must(value > exclusiveMinimum, `must be more than ${exclusiveMinimum}`)
}

function checkString(value: string, { minLength, maxLength, pattern }: JsonObject, must: RequireHolds): void {
  const length = [...value].length
  if (typeof minLength === "number") must(length >= minLength, `must be ${minLength} characters at least`)
  if (typeof maxLength === "number") must(length <= maxLength, `must be ${maxLength} characters at most`)
  if (typeof pattern === "string") must(new RegExp(pattern, "u").test(value), `must look like ${pattern}`)
}

function short(value: Json): string {
  const text = JSON.stringify(value)
  return text.length > 100 ? `${text.slice(0, 100)}…` : text
}
