// JSON Schema as the vendor accepts it. A tool's schema may use almost any keyword; an enforced one (a strict tool, an
// output format) knows fewer, and the others move to the description.
import { isObject, type Json, type JsonObject } from "../../canonical/json.ts"

/** Called with the path and name of each keyword that is no longer enforced. */
export type KeywordReport = (path: string, keyword: string) => void

const COMBINERS = ["anyOf", "oneOf", "allOf"] as const

/** The schema of a tool's input: an object at the top, with no alternatives there. */
export function toolSchema(schema: Json | undefined, report: KeywordReport): JsonObject {
  if (!isObject(schema)) return { type: "object", properties: {} }
  return objectSchema(resolveReference(schema, schema), report)
}

function objectSchema(schema: JsonObject, report: KeywordReport): JsonObject {
  const combiners = COMBINERS.filter((name) => Array.isArray(schema[name]))
  if (combiners.length === 0) return schema.type === "object" ? schema : { ...schema, type: "object" }
  return mergeAlternatives(schema, { combiners, report })
}

/** Allows the members of all alternatives, and requires only those that all of them require. */
function mergeAlternatives(
  schema: JsonObject,
  { combiners, report }: { combiners: readonly string[]; report: KeywordReport },
): JsonObject {
  const { anyOf: _, oneOf: __, allOf: ___, ...rest } = schema
  let properties: JsonObject = isObject(schema.properties) ? schema.properties : {}
  const required = new Set(strings(schema.required))
  for (const name of combiners) {
    report("", name)
    const variants = (schema[name] as readonly Json[]).filter(isObject).map((each) => resolveReference(each, schema))
    for (const variant of variants) {
      if (isObject(variant.properties)) properties = { ...properties, ...variant.properties }
    }
    const demands = variants.map((variant) => strings(variant.required))
    for (const demand of demands.flat()) {
      if (name === "allOf" || demands.every((each) => each.includes(demand))) required.add(demand)
    }
  }
  return { ...rest, type: "object", properties, ...(required.size > 0 && { required: [...required] }) }
}

/** The most references followed in a row, because they may be circular. */
const MAX_STEPS = 10

/** Replaces a schema that is only a reference with its target. */
export function resolveReference(schema: JsonObject, whole: JsonObject): JsonObject {
  let found = schema
  for (let step = 0; step < MAX_STEPS && typeof found.$ref === "string" && found.$ref.startsWith("#/"); step++) {
    const { $ref, ...rest } = found
    const target = lookUpPointer(whole, $ref as string)
    if (!target) break
    found = { ...target, ...rest }
  }
  return found
}

function lookUpPointer(whole: JsonObject, pointer: string): JsonObject | undefined {
  let value: Json | undefined = whole
  for (const step of pointer.slice(2).split("/")) {
    const name = step.replaceAll("~1", "/").replaceAll("~0", "~")
    value = isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined
  }
  return isObject(value) ? value : undefined
}

function strings(value: Json | undefined): string[] {
  return Array.isArray(value) ? value.filter((each) => typeof each === "string") : []
}

const KNOWN: ReadonlySet<string> = new Set(
  "type title description default enum const $ref $schema $id properties required items anyOf allOf $defs definitions".split(
    " ",
  ),
)
const FORMATS: ReadonlySet<Json> = new Set("date-time time date duration email hostname uri ipv4 ipv6 uuid".split(" "))
/** Members with schemas by name, and members with lists of schemas. */
const NAMED = ["properties", "$defs", "definitions"]
const LISTED = ["anyOf", "allOf"]

/** The schema as the vendor enforces it. */
export function strictSchema(schema: Json, { report, path = "" }: { report: KeywordReport; path?: string }): Json {
  if (!isObject(schema)) return schema
  const kept: Record<string, Json> = {}
  const removed: string[] = []
  for (const [name, value] of Object.entries(schema)) {
    if (name === "oneOf") kept.anyOf = strictMember("anyOf", value, { report, path: `${path}.oneOf` })
    else if (isKnown(name, value)) kept[name] = strictMember(name, value, { report, path: `${path}.${name}` })
    else if (name !== "additionalProperties") {
      removed.push(`${name}: ${JSON.stringify(value)}`)
      report(path, name)
    }
  }
  if (isObjectType(schema)) {
    if (schema.additionalProperties !== false) report(path, "additionalProperties")
    kept.additionalProperties = false
  }
  if (removed.length === 0) return kept
  const description = typeof kept.description === "string" ? `${kept.description}\n\n` : ""
  return { ...kept, description: `${description}{${removed.join(", ")}}` }
}

function isKnown(name: string, value: Json): boolean {
  if (name === "format") return FORMATS.has(value)
  if (name === "minItems") return value === 0 || value === 1
  return KNOWN.has(name)
}

function strictMember(name: string, value: Json, { report, path }: { report: KeywordReport; path: string }): Json {
  if (name === "items") return strictSchema(value, { report, path })
  if (LISTED.includes(name) && Array.isArray(value)) {
    return value.map((each: Json, index) => strictSchema(each, { report, path: `${path}[${index}]` }))
  }
  if (!NAMED.includes(name) || !isObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => [key, strictSchema(each, { report, path: `${path}.${key}` })]),
  )
}

function isObjectType({ type, properties, $ref }: JsonObject): boolean {
  // Next to a reference it would forbid everything that the other schema allows.
  if ($ref !== undefined) return false
  return type === "object" || (Array.isArray(type) && type.includes("object")) || isObject(properties)
}
