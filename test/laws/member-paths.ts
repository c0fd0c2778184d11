// The members of a JSON value, and which of them are null, to compare the answers of two sides. A member is named by
// the nearest object with a type, such as `text.citations` or `message.usage.input_tokens`.
import { isObject, type Json, type JsonObject } from "../../src/canonical/json.ts"

/** For each member whether it was seen with a value, and whether with null. */
export type MemberPaths = Map<string, { valued: boolean; isNull: boolean }>

/** Contents of these members belong to the caller, the model or a host, and not to the protocol. */
const FREE_FORM = new Set([
  ...["input", "args", "arguments", "parameters", "schema", "metadata", "tools", "tool_choice", "attributes"],
  ...["content_filters", "content_filter_results", "prompt_filter_results", "copilot_usage", "customMetadata"],
])

export function collectMembers(value: Json, found: MemberPaths): MemberPaths {
  visitMembers(value, (path, member) => {
    const seen = found.get(path) ?? { valued: false, isNull: false }
    found.set(path, { valued: seen.valued || member !== null, isNull: seen.isNull || member === null })
  })
  return found
}

type MemberVisitor = (path: string, member: Json) => void

/** Calls `visit` for each member, with its path and its value. */
export function visitMembers(value: Json, visit: MemberVisitor, at = ""): void {
  if (Array.isArray(value)) for (const each of value) visitMembers(each, visit, `${at}[]`)
  if (!isObject(value)) return
  // A message that begins is nullable where one that is whole is not.
  const shape = at === "message_start.message" ? at : (shapeOf(value) ?? at)
  for (const [name, member] of Object.entries(value)) {
    const path = shape === "" ? name : `${shape}.${name}`
    visit(path, member)
    if (!FREE_FORM.has(name) && !(name === "response" && at.endsWith("toolResponse"))) {
      visitMembers(member, visit, path)
    }
  }
}

/** The members that are not in the table, and those that are null where it has no null. */
export function membersOutside(members: MemberPaths, table: MemberPaths): string[] {
  return [...members].flatMap(([path, { isNull }]) => {
    const known = table.get(path)
    if (!known) return [path]
    return isNull && !known.isNull ? [`${path} is null`] : []
  })
}

/** The member by which an object names its type. */
function shapeOf({ type, object }: JsonObject): string | undefined {
  if (typeof type === "string") return type
  return typeof object === "string" ? object : undefined
}
