// A caller's own tools in OpenAI's two chat protocols: the same members, nested one level differently.
import type { ToolDefinition } from "../../canonical/chat/chat-request.ts"
import { type FieldReader, flag, object, text } from "./field-reader.ts"

export function functionTool(fields: FieldReader): ToolDefinition | undefined {
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

export function customTool(fields: FieldReader): ToolDefinition | undefined {
  const name = fields.take("name", text)
  const description = fields.take("description", text)
  const format = fields.take("format", object)
  if (name === undefined) return undefined
  return { kind: "custom", name, ...(description !== undefined && { description }), ...(format && { format }) }
}
