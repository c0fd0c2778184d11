// A caller's own tools, as OpenAI's two conversational protocols describe them: the same members, one level apart.
import type { Tool } from "../canonical/request.ts"
import { type Fields, flag, object, text } from "./openai-fields.ts"

export function functionTool(fields: Fields): Tool | undefined {
  const name = fields.take("name", text)
  const description = fields.take("description", text)
  const parameters = fields.take("parameters", object)
  const strict = fields.take("strict", flag)
  if (name === undefined) return undefined
  return {
    kind: "function",
    name,
    ...(description !== undefined && { description }),
    ...(parameters && { parameters }),
    ...(strict !== undefined && { strict }),
  }
}

export function customTool(fields: Fields): Tool | undefined {
  const name = fields.take("name", text)
  const description = fields.take("description", text)
  const format = fields.take("format", object)
  if (name === undefined) return undefined
  return { kind: "custom", name, ...(description !== undefined && { description }), ...(format && { format }) }
}
