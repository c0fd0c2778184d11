// Makes a value that satisfies a JSON schema: every property, the minimum of every bound, and always finite.
import { isObject, type Json, type JsonObject } from "../../canonical/json.ts"
import { list, number, object, texts } from "../endpoints/json-members.ts"
import { flatten } from "./schema-flatten.ts"
import { numberOf } from "./schema-number.ts"
import { stringOf } from "./schema-string.ts"

/** From this depth on only required members are made, so that a recursive schema ends. */
const DEEP = 4
/** A schema that requires itself never ends; the instance is cut at this many values. */
const MAX_VALUES = 2000
const MAX_ITEMS = 200

interface InstancePosition {
  /** The value's member name. */
  readonly name: string
  readonly depth: number
  /** The index among similar values: a list may require distinct entries. */
  readonly variant: number
}

export function instanceOf(schema: Json, name: string): Json {
  return new InstanceMaker(schema).value(schema, { name, depth: 0, variant: 0 })
}

class InstanceMaker {
  readonly #root: Json
  #made = 0

  constructor(root: Json) {
    this.#root = root
  }

  value(schema: Json, position: InstancePosition): Json {
    this.#made++
    if (this.#made > MAX_VALUES) return null
    const flat = flatten(schema, { root: this.#root, isDeep: position.depth >= DEEP })
    if (flat.const !== undefined) return flat.const
    const choices = list(flat.enum)
    if (choices.length > 0) return choices[position.variant % choices.length] ?? null
    switch (kindOf(flat)) {
      case "object":
        return this.#object(flat, position)
      case "array":
        return this.#array(flat, position)
      case "number":
      case "integer":
        return numberOf(flat, position.variant)
      case "boolean":
        return position.variant % 2 === 0
      case "null":
        return null
      default:
        return stringOf(flat, position)
    }
  }

  #object(flat: JsonObject, { depth, variant }: InstancePosition): Json {
    const properties = object(flat.properties)
    const others = flat.additionalProperties ?? true
    const member = (name: string): [string, Json] => {
      const schema = Object.hasOwn(properties, name) ? properties[name] : others
      return [name, this.value(schema ?? true, { name, depth: depth + 1, variant })]
    }
    const made = propertyNames(flat, { isDeep: depth >= DEEP }).map(member)
    const least = Math.min(number(flat.minProperties) ?? 0, MAX_ITEMS)
    const wanted = made.length === 0 && isObject(others) && depth < DEEP ? Math.max(1, least) : least
    for (let extra = 1; made.length < wanted; extra++) made.push(member(`simulated_${extra}`))
    return Object.fromEntries(made)
  }

  #array(flat: JsonObject, { name, depth, variant }: InstancePosition): Json {
    const fixed = Array.isArray(flat.items) ? list(flat.items) : list(flat.prefixItems)
    const rest = Array.isArray(flat.items) ? (flat.additionalItems ?? true) : (flat.items ?? true)
    const least = Number(flat.minItems ?? 0)
    const most = Number(flat.maxItems ?? Number.POSITIVE_INFINITY)
    const usual = depth >= DEEP || rest === false ? 0 : 1
    const length = Math.min(Math.max(least, fixed.length, usual), most, MAX_ITEMS)
    const items = Array.from({ length }, (_, index) => {
      const schema = fixed[index] ?? rest
      // Entries differ only if they must, so that ordinary lists stay plain.
      const differing = flat.uniqueItems === true ? index : 0
      return this.value(schema, { name, depth: depth + 1, variant: variant + differing })
    })
    const contained = flat.contains
    if (contained === undefined) return items
    return [this.value(contained, { name, depth: depth + 1, variant }), ...items.slice(1)]
  }
}

function propertyNames(flat: JsonObject, { isDeep }: { isDeep: boolean }): string[] {
  const properties = object(flat.properties)
  const required = texts(flat.required)
  const possible = Object.keys(properties).filter((name) => properties[name] !== false)
  const most = number(flat.maxProperties) ?? Number.POSITIVE_INFINITY
  const optional = isDeep ? [] : possible.filter((name) => !required.includes(name))
  const included = new Set([...required, ...optional.slice(0, Math.max(0, most - required.length))])
  const inOrder = possible.filter((name) => included.has(name))
  return [...new Set([...inOrder, ...required])]
}

const MEMBERS_BY_TYPE: readonly (readonly [kind: string, members: readonly string[]])[] = [
  ["object", ["properties", "required", "additionalProperties", "minProperties", "patternProperties"]],
  ["array", ["items", "prefixItems", "minItems", "maxItems", "uniqueItems", "contains"]],
  ["string", ["pattern", "minLength", "maxLength", "format"]],
  ["number", ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"]],
]

/** The schema's type, null only if it is the only one; without a type, one derived from the schema's members. */
function kindOf(flat: JsonObject): string {
  const types = typeof flat.type === "string" ? [flat.type] : texts(flat.type)
  const type = types.find((each) => each !== "null") ?? types[0]
  return type ?? MEMBERS_BY_TYPE.find(([, members]) => members.some((member) => member in flat))?.[0] ?? "string"
}
