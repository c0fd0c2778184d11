// A small JSON schema checker, independent of the code that makes instances.
import { isObject, type Json, type JsonObject } from "../../canonical/json.ts"

/** Every violation of the schema, with its path. */
export function violations(value: Json, schema: Json, root: Json = schema, at = "$"): string[] {
  if (schema === true) return []
  if (schema === false) return [`${at}: nothing is allowed`]
  if (!isObject(schema)) return [`${at}: no schema`]
  const check = (part: Json, inner = value, where = at) => violations(inner, part, root, where)
  const found: string[] = []
  const must = (holds: boolean, what: string) => holds || found.push(`${at}: ${what} but ${JSON.stringify(value)}`)
  const array = (member: string) => schema[member] as readonly Json[] | undefined
  if (typeof schema.$ref === "string") found.push(...check(resolve(schema.$ref, root)))
  for (const part of array("allOf") ?? []) found.push(...check(part))
  const { anyOf, oneOf } = { anyOf: array("anyOf"), oneOf: array("oneOf") }
  if (anyOf)
    must(
      anyOf.some((part) => check(part).length === 0),
      "anyOf",
    )
  if (schema.not !== undefined) must(check(schema.not).length > 0, "not")
  if (oneOf) must(oneOf.filter((part) => check(part).length === 0).length === 1, "oneOf")
  if (schema.const !== undefined) must(same(value, schema.const), "const")
  if (array("enum"))
    must(
      (array("enum") ?? []).some((entry) => same(entry, value)),
      "enum",
    )
  if (schema.type !== undefined) must(isOfType(value, schema), `type ${schema.type}`)
  if (typeof value === "number") checkNumber(value, schema, must)
  if (typeof value === "string") checkString(value, schema, must)
  if (Array.isArray(value)) found.push(...checkArray(value, schema, { must, check, at }))
  if (isObject(value)) found.push(...checkObject(value, schema, { must, check, at }))
  return found
}

type SchemaAssertion = (holds: boolean, what: string) => unknown
interface NestedCheck {
  readonly must: SchemaAssertion
  readonly check: (schema: Json, value: Json, at: string) => string[]
  readonly at: string
}

function same(a: Json, b: Json): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}

function resolve(reference: string, root: Json): Json {
  const steps = reference.split("/").slice(1)
  return steps.reduce<Json>((at, step) => (isObject(at) ? (at[step] ?? false) : false), root)
}

function isOfType(value: Json, { type, nullable }: JsonObject): boolean {
  if (value === null && nullable === true) return true
  const types = (Array.isArray(type) ? type : [type]).map((each) => String(each).toLowerCase())
  const actual = value === null ? "null" : Array.isArray(value) ? "array" : typeof value
  return types.includes(actual) || (actual === "number" && types.includes("integer") && Number.isInteger(value))
}

function checkNumber(value: number, schema: JsonObject, must: SchemaAssertion): void {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema
  if (typeof minimum === "number") must(exclusiveMinimum === true ? value > minimum : value >= minimum, "minimum")
  if (typeof maximum === "number") must(exclusiveMaximum === true ? value < maximum : value <= maximum, "maximum")
  if (typeof exclusiveMinimum === "number") must(value > exclusiveMinimum, "exclusiveMinimum")
  if (typeof exclusiveMaximum === "number") must(value < exclusiveMaximum, "exclusiveMaximum")
  if (typeof multipleOf === "number") {
    must(Math.abs(value / multipleOf - Math.round(value / multipleOf)) < 1e-9, "multipleOf")
  }
}

const FORMATS: Record<string, (value: string) => boolean> = {
  date: (value) => /^\d{4}-\d\d-\d\d$/.test(value) && !Number.isNaN(Date.parse(value)),
  "date-time": (value) => /^\d{4}-\d\d-\d\dT[\d:]{8}Z$/.test(value) && !Number.isNaN(Date.parse(value)),
  email: (value) => /^[^@\s]+@[^@\s]+\.[^@\s]+$/.test(value),
  uri: (value) => URL.canParse(value),
  uuid: (value) => /^[\da-f]{8}-[\da-f]{4}-[1-8][\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/.test(value),
}

function checkString(
  value: string,
  { minLength, maxLength, pattern, format }: JsonObject,
  must: SchemaAssertion,
): void {
  const length = [...value].length
  if (minLength !== undefined) must(length >= Number(minLength), "minLength")
  if (maxLength !== undefined) must(length <= Number(maxLength), "maxLength")
  if (typeof pattern === "string") must(new RegExp(pattern, "u").test(value), `pattern ${pattern}`)
  if (typeof format === "string") must(FORMATS[format]?.(value) ?? true, `format ${format}`)
}

function checkArray(value: readonly Json[], schema: JsonObject, { must, check, at }: NestedCheck): string[] {
  const { minItems, maxItems, uniqueItems, prefixItems, items } = schema
  if (minItems !== undefined) must(value.length >= Number(minItems), "minItems")
  if (maxItems !== undefined) must(value.length <= Number(maxItems), "maxItems")
  if (uniqueItems === true)
    must(new Set(value.map((item) => JSON.stringify(item))).size === value.length, "uniqueItems")
  const fixed = Array.isArray(prefixItems) ? prefixItems : []
  return value.flatMap((item, index) => check(fixed[index] ?? items ?? true, item, `${at}[${index}]`))
}

function checkObject(value: JsonObject, schema: JsonObject, { must, check, at }: NestedCheck): string[] {
  const { required = [], properties = {}, additionalProperties = true, minProperties, maxProperties } = schema
  const names = Object.keys(value)
  for (const name of required as string[]) must(Object.hasOwn(value, name), `required ${name}`)
  if (minProperties !== undefined) must(names.length >= Number(minProperties), "minProperties")
  if (maxProperties !== undefined) must(names.length <= Number(maxProperties), "maxProperties")
  const known = properties as JsonObject
  return names.flatMap((name) => {
    const part = Object.hasOwn(known, name) ? known[name] : additionalProperties
    return check(part ?? true, value[name] ?? null, `${at}.${name}`)
  })
}
