// Flattens the references, combinations and choices of a JSON schema into one plain schema.
import { isObject, type Json, type JsonObject } from "../../canonical/json.ts"
import { list, number, object, texts } from "../endpoints/json-members.ts"

interface FlattenOptions {
  /** The schema that references resolve against. */
  readonly root: Json
  /** True if the choice that ends soonest is preferred. */
  readonly isDeep: boolean
}

/** Bounds the resolution of a schema that contains itself. */
const MAX_STEPS = 200

export function flatten(schema: Json, options: FlattenOptions): JsonObject {
  let steps = 0
  const flattened = (part: Json): JsonObject => {
    steps++
    if (!isObject(part) || steps > MAX_STEPS) return {}
    const { $ref, allOf, anyOf, oneOf, ...own } = part
    let flat = normalizeSchema(own)
    const include = (other: Json): void => {
      flat = merge(flat, flattened(other))
    }
    if (typeof $ref === "string") include(lookUp(options.root, $ref))
    for (const other of list(allOf)) include(other)
    for (const choices of [list(anyOf), list(oneOf)]) {
      if (choices.length > 0) include(choose(choices, { flat, options }))
    }
    return flat
  }
  return flattened(schema)
}

/** Google writes types in capitals, and counts as strings. */
function normalizeSchema(schema: JsonObject): JsonObject {
  const { type } = schema
  const counts = ["minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties"]
  const asText = counts.filter((member) => typeof schema[member] === "string")
  return {
    ...schema,
    ...(typeof type === "string" && { type: type.toLowerCase() }),
    ...Object.fromEntries(asText.map((member) => [member, Number(schema[member])])),
  }
}

function lookUp(root: Json, reference: string): Json {
  if (!reference.startsWith("#")) return {}
  let at: Json | undefined = root
  for (const step of reference.slice(1).split("/").slice(1)) {
    const name = decodePointerStep(step).replaceAll("~1", "/").replaceAll("~0", "~")
    if (Array.isArray(at)) at = at[Number(name)]
    else at = isObject(at) && Object.hasOwn(at, name) ? at[name] : undefined
  }
  return at ?? {}
}

function decodePointerStep(step: string): string {
  try {
    return decodeURIComponent(step)
  } catch {
    return step
  }
}

function choose(choices: readonly Json[], { flat, options }: { flat: JsonObject; options: FlattenOptions }): Json {
  const seen = choices.map((choice) => ({ choice, glance: shallowSchema(choice, options.root) }))
  const possible = seen.filter(({ choice, glance }) => choice !== false && isPossible(flat, glance))
  const ranked = possible.map(({ choice, glance }) => ({ choice, rank: rank(glance, options) }))
  return ranked.sort((a, b) => a.rank - b.rank)[0]?.choice ?? choices[0] ?? true
}

/** A choice's own members, or those of the schema it refers to. */
function shallowSchema(choice: Json, root: Json): JsonObject {
  let at = choice
  for (let hops = 0; hops < 8; hops++) {
    if (!isObject(at) || typeof at.$ref !== "string") break
    at = lookUp(root, at.$ref)
  }
  return normalizeSchema(object(at))
}

function isPossible(flat: JsonObject, choice: JsonObject): boolean {
  const both = merge(flat, choice)
  return !(isEmpty(both.type) || isEmpty(both.enum))
}

function isEmpty(value: Json | undefined): boolean {
  return Array.isArray(value) && value.length === 0
}

/** Prefers anything to null; deep inside a value, the choice that ends soonest. */
function rank(choice: JsonObject, { isDeep }: FlattenOptions): number {
  const isNull = choice.type === "null" || choice.const === null
  if (!isDeep) return isNull ? 1 : 0
  if (isNull) return 0
  if ("const" in choice || "enum" in choice) return 1
  if (choice.type === "object" || "properties" in choice) return texts(choice.required).length === 0 ? 2 : 4
  return choice.type === "array" ? 3 : 1
}

type CombineMembers = (a: Json, b: Json) => Json

const larger: CombineMembers = (a, b) => (Number(b) > Number(a) ? b : a)
const smaller: CombineMembers = (a, b) => (Number(b) < Number(a) ? b : a)
const both: CombineMembers = (a, b) => ({ allOf: [a, b] })

/** Rules for members that both schemas have; by default the second schema's member is used. */
const COMBINED: Readonly<Record<string, CombineMembers>> = {
  properties: (a, b) => {
    const [first, second] = [object(a), object(b)]
    const shared = Object.keys(second).filter((name) => Object.hasOwn(first, name))
    const merged = shared.map((name) => [name, both(first[name] ?? true, second[name] ?? true)])
    return { ...first, ...second, ...Object.fromEntries(merged) }
  },
  required: (a, b) => [...new Set([...texts(a), ...texts(b)])],
  enum: (a, b) => {
    const allowed = list(b).map((value) => JSON.stringify(value))
    return list(a).filter((value) => allowed.includes(JSON.stringify(value)))
  },
  type: (a, b) => {
    const [first, second] = [typesOf(a), typesOf(b)]
    const narrow = (type: string, others: string[]) => type === "integer" && others.includes("number")
    return [
      ...first.filter((type) => second.includes(type) || narrow(type, second)),
      ...second.filter((type) => !first.includes(type) && narrow(type, first)),
    ]
  },
  items: both,
  additionalProperties: (a, b) => (a === false || b === false ? false : both(a, b)),
  minimum: larger,
  exclusiveMinimum: larger,
  minLength: larger,
  minItems: larger,
  minProperties: larger,
  maximum: smaller,
  exclusiveMaximum: smaller,
  maxLength: smaller,
  maxItems: smaller,
  maxProperties: smaller,
  multipleOf: (a, b) => commonMultiple(number(a) ?? 1, number(b) ?? 1),
}

function merge(a: JsonObject, b: JsonObject): JsonObject {
  const shared = Object.keys(b).filter((member) => Object.hasOwn(a, member))
  const combined = shared.map((member) => {
    const combine = Object.hasOwn(COMBINED, member) ? COMBINED[member] : undefined
    return [member, combine ? combine(a[member] ?? null, b[member] ?? null) : b[member]]
  })
  return { ...a, ...b, ...Object.fromEntries(combined) }
}

function typesOf(type: Json): string[] {
  return typeof type === "string" ? [type] : [...texts(type)]
}

function commonMultiple(a: number, b: number): number {
  for (let times = 1; times <= 1000; times++) {
    const multiple = Number((a * times).toPrecision(12))
    if (Number.isInteger(Number((multiple / b).toPrecision(12)))) return multiple
  }
  return a
}
