// Renders a JSON Schema as table rows, one per member, nested members with their path.
import { isObject, type Json, type JsonObject } from "../../canonical/json.ts"
import { codeTag, type HtmlFragment, html, joinHtml, markdown, rawHtml } from "./html.ts"

interface SchemaPosition {
  readonly path: string
  readonly isRequired: boolean
}

export function schemaRows(schema: Json): HtmlFragment {
  return joinHtml(isObject(schema) ? membersOf(schema, "") : [])
}

function membersOf(schema: JsonObject, path: string): HtmlFragment[] {
  const { properties, required, anyOf } = schema
  const must = Array.isArray(required) ? required : []
  const own = Object.entries(isObject(properties) ? properties : {}).flatMap(([name, member]) => {
    const place = { path: path === "" ? name : `${path}.${name}`, isRequired: must.includes(name) }
    return isObject(member) ? rowsOf(member, place) : []
  })
  const others = Array.isArray(anyOf) ? anyOf.filter(isObject).filter(hasMembers) : []
  return [...own, ...others.flatMap((each, at) => [alternative(path, at), ...membersOf(each, path)])]
}

function alternative(path: string, at: number): HtmlFragment {
  const which = at === 0 ? "either" : "or"
  return html`<tr><td colspan="3"><i>${path === "" ? which : `${path}: ${which}`}</i></td></tr>
`
}

function rowsOf(schema: JsonObject, { path, isRequired }: SchemaPosition): HtmlFragment[] {
  const description = typeof schema.description === "string" ? schema.description : ""
  const row = html`<tr><td>${codeTag(path)}</td><td>${typeOf(schema)}${isRequired ? ", required" : ""}</td><td>${markdown(description, "inline")}</td></tr>
`
  return [row, ...innerRows(schema, path)]
}

function innerRows(schema: JsonObject, path: string): HtmlFragment[] {
  const { items, anyOf } = schema
  if (isObject(items)) return membersOf(items, `${path}[]`)
  const list = Array.isArray(anyOf) ? anyOf.filter(isObject).find((each) => isObject(each.items)) : undefined
  return list ? innerRows(list, path) : membersOf(schema, path)
}

function hasMembers({ properties }: JsonObject): boolean {
  return isObject(properties)
}

function typeOf(schema: JsonObject): HtmlFragment {
  const { $ref, anyOf, type, items } = schema
  if (typeof $ref === "string") return link($ref.split("/").at(-1) ?? "")
  if (Array.isArray(anyOf))
    return rawHtml([...new Set(anyOf.filter(isObject).map((each) => typeOf(each).text))].join(" or "))
  if (type === "array") return html`array of ${isObject(items) ? typeOf(items) : "anything"}${boundsOf(schema)}`
  return html`${typeof type === "string" ? type : "anything"}${boundsOf(schema)}`
}

function link(name: string): HtmlFragment {
  return html`<a href="#schema-${name}">${name}</a>`
}

function boundsOf({ minimum, maximum, minItems, maxItems, minLength, maxLength, enum: words }: JsonObject): string {
  if (Array.isArray(words)) return `: ${words.map((word) => JSON.stringify(word)).join(", ")}`
  if (minLength === 1 || minItems === 1)
    return `, not empty${maxLength === undefined ? "" : `, at most ${maxLength} characters`}`
  const least = minimum ?? minItems
  const most = maximum ?? maxItems
  const bounds = [...(least === undefined ? [] : [`from ${least}`]), ...(most === undefined ? [] : [`to ${most}`])]
  return bounds.length === 0 ? "" : `, ${bounds.join(" ")}`
}
