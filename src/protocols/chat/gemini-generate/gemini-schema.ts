// Two schema dialects: the vendor's own, which clients may send, and JSON Schema, which it accepts in part.
import { isObject, type Json, type JsonObject } from "../../../canonical/json.ts"
import type { GeminiDraft } from "./passthrough-fields.ts"

const TYPES = ["STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL"]
const COUNTS = ["minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties"]
const MAPS = ["properties", "$defs", "definitions", "patternProperties"]
const CHOICES = ["anyOf", "oneOf", "allOf", "prefixItems"]

/** The vendor's own dialect as JSON Schema: types in small letters, numbers as numbers, null as a type. */
export function toJsonSchema(schema: Json): Json {
  if (!isObject(schema)) return schema
  const written: [string, Json][] = []
  for (const [name, value] of Object.entries(schema)) {
    if (name === "nullable" || value === null) continue
    if (name === "type") {
      if (value !== "TYPE_UNSPECIFIED") written.push([name, jsonType(value)])
    } else written.push([camelKeyword(name), inner(name, value)])
  }
  const plain = Object.fromEntries(written)
  return schema.nullable === true ? orNull(plain) : plain
}

function inner(name: string, value: Json): Json {
  if (MAPS.includes(name) && isObject(value)) return mapSchemas(value, toJsonSchema)
  if ((CHOICES.includes(camelKeyword(name)) || name === "items") && Array.isArray(value)) return value.map(toJsonSchema)
  if (name === "items" || name === "additionalProperties" || name === "not") return toJsonSchema(value)
  if (COUNTS.includes(camelKeyword(name)) && typeof value === "string" && /^\d+$/.test(value)) return Number(value)
  return value
}

/** Keywords have the two spellings all members have; names of properties are names. */
function camelKeyword(name: string): string {
  return name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
}

function jsonType(type: Json): Json {
  return typeof type === "string" && TYPES.includes(type) ? type.toLowerCase() : type
}

function orNull(schema: JsonObject): JsonObject {
  if (typeof schema.type !== "string") return schema.anyOf ? { ...schema, anyOf: withNull(schema.anyOf) } : schema
  const choices = Array.isArray(schema.enum) && !schema.enum.includes(null) ? { enum: [...schema.enum, null] } : {}
  return { ...schema, type: [schema.type, "null"], ...choices }
}

function withNull(choices: Json): Json {
  return Array.isArray(choices) ? [...choices, { type: "null" }] : choices
}

function mapSchemas(schemas: JsonObject, each: (schema: Json) => Json): JsonObject {
  return Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, each(schema)]))
}

/** The JSON Schema keywords that the vendor accepts; it refuses some of the others. */
const KEYWORDS = new Set([
  ...["type", "format", "title", "description", "enum", "default", "items", "prefixItems", "minItems", "maxItems"],
  ...["minimum", "maximum", "minLength", "maxLength", "pattern", "anyOf", "properties", "required"],
  ...["additionalProperties", "propertyOrdering"],
])

/** Deeper references than any real schema has; a schema that refers to itself is cut off before. */
const MAX_DEPTH = 64
const MAX_NODES = 20_000

export interface SchemaProjection {
  readonly schema: Json
  /** The keywords that had to be left out. */
  readonly dropped: readonly string[]
}

/** JSON Schema as the vendor accepts it: references resolved, refused keywords dropped. */
export function projectSchema(schema: Json): SchemaProjection {
  const projector = new SchemaProjector(schema)
  return { schema: projector.project(schema, []), dropped: [...projector.dropped].toSorted() }
}

class SchemaProjector {
  readonly dropped = new Set<string>()
  private nodes = 0

  constructor(private readonly root: Json) {}

  /** `open` has the references that are being resolved. */
  project(schema: Json, open: readonly string[]): Json {
    if (!isObject(schema)) return schema === false ? this.cut("false") : {}
    if (++this.nodes > MAX_NODES) return this.cut("$ref")
    const { $ref, ...siblings } = schema
    if (typeof $ref !== "string") return this.members(schema, open)
    const target = open.includes($ref) || open.length > MAX_DEPTH ? undefined : resolve(this.root, $ref)
    if (target === undefined) {
      this.cut("$ref")
      return this.members(siblings, open)
    }
    return this.project(isObject(target) ? { ...target, ...siblings } : target, [...open, $ref])
  }

  private members(schema: JsonObject, open: readonly string[]): Json {
    const written: GeminiDraft = {}
    for (const [name, value] of Object.entries(this.simpler(schema))) {
      if (KEYWORDS.has(name)) written[name] = this.member(name, value, open)
      else if (!ABOUT.has(name)) this.dropped.add(name)
    }
    return written
  }

  private member(name: string, value: Json, open: readonly string[]): Json {
    const project = (each: Json) => this.project(each, open)
    if (name === "properties") return isObject(value) ? mapSchemas(value, project) : {}
    if (name === "anyOf" || name === "prefixItems") return Array.isArray(value) ? value.map(project) : []
    if (name === "items") return Array.isArray(value) ? value.map(project) : project(value)
    return name === "additionalProperties" && typeof value !== "boolean" ? project(value) : value
  }

  /** Replaces keywords with equivalents that the vendor knows. */
  private simpler(schema: JsonObject): JsonObject {
    const { const: only, oneOf, allOf, ...others } = schema
    const all = Array.isArray(allOf) ? allOf.filter(isObject) : []
    return {
      ...all.reduce((sum, each) => conjunction(sum, this.resolveReferences(each)), others),
      ...(only !== undefined && { enum: [only] }),
      ...(Array.isArray(oneOf) && others.anyOf === undefined && { anyOf: oneOf }),
    }
  }

  private resolveReferences(schema: JsonObject): JsonObject {
    const target = typeof schema.$ref === "string" ? resolve(this.root, schema.$ref) : undefined
    return isObject(target) && target.$ref === undefined && target.allOf === undefined ? target : schema
  }

  private cut(keyword: string): JsonObject {
    this.dropped.add(keyword)
    return {}
  }
}

/** Keywords that do not constrain values: dropping them loses nothing. */
const ABOUT = new Set(["$schema", "$id", "$comment", "$defs", "definitions", "$anchor", "deprecated"])

function conjunction(one: JsonObject, other: JsonObject): JsonObject {
  const { properties, required } = one
  return {
    ...one,
    ...other,
    ...(isObject(properties) && {
      properties: { ...properties, ...(isObject(other.properties) ? other.properties : {}) },
    }),
    ...(Array.isArray(required) && { required: [...new Set([...required, ...arrayIn(other.required)])] }),
  }
}

function arrayIn(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? value : []
}

/** Resolves `#`, `#/$defs/Name` and similar; undefined for references outside the schema. */
function resolve(root: Json, reference: string): Json | undefined {
  if (!reference.startsWith("#")) return undefined
  let value: Json | undefined = root
  for (const step of reference.slice(1).split("/").slice(1)) {
    const name = decodePointerStep(step).replaceAll("~1", "/").replaceAll("~0", "~")
    if (Array.isArray(value)) value = value[Number(name)]
    else value = isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined
  }
  return value
}

function decodePointerStep(step: string): string {
  try {
    return decodeURIComponent(step)
  } catch {
    return step
  }
}
