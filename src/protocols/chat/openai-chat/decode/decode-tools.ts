// Decodes tools and the choice among them. `functions` is the form used until 2023.

import type { HostedTool, ToolChoice, ToolDefinition } from "../../../../canonical/chat/chat-request.ts"
import { isObject, type Json } from "../../../../canonical/json.ts"
import { FieldReader, list, object, text } from "../../../openai/field-reader.ts"
import { customTool, functionTool } from "../../../openai/openai-tools.ts"
import { ownExtra, PROTOCOL } from "../passthrough-fields.ts"
import { decodeMark } from "./decode-part.ts"

export function decodeTools(tools: Json | undefined): ToolDefinition[] {
  return (Array.isArray(tools) ? tools : []).map((tool: Json, index) => decodeTool(tool, `tools[${index}]`))
}

function decodeTool(value: Json, at: string): ToolDefinition {
  const fields = new FieldReader(object(value) ?? {})
  const type = fields.take("type", text)
  const tool =
    type === "custom"
      ? fields.within("custom", customTool)
      : type === undefined || type === "function"
        ? fields.within("function", functionTool)
        : undefined
  if (!tool) return hostedTool(value, at)
  const { mark, word } = decodeMark(fields)
  const extra = ownExtra(fields.rest(), {
    ...(word && { word }),
    ...(type === undefined && { plain: { type: "none" } }),
  })
  return { ...tool, at, ...(mark && { cacheMark: mark }), ...(extra && { extra }) }
}

/** Names of hosted tools, by host. */
const PURPOSES: readonly (readonly [RegExp, HostedTool["purpose"]])[] = [
  [/search/, "web-search"],
  [/fetch|visit|url_context/, "web-fetch"],
  [/code|python/, "code"],
  [/image/, "images"],
  [/file|retrieval/, "files"],
  [/computer/, "computer"],
  [/shell|bash/, "shell"],
]

function hostedTool(value: Json, at: string): HostedTool {
  const type = isObject(value) && typeof value.type === "string" ? value.type : "tool"
  const purpose = PURPOSES.find(([word]) => word.test(type))?.[1] ?? "other"
  return { kind: "hosted", name: type, purpose, protocol: PROTOCOL, value, at }
}

/** Search models search without a tool: the request has their options. */
export function searchTool(value: Json): HostedTool | undefined {
  if (!isObject(value)) return undefined
  const at = "web_search_options"
  return { kind: "hosted", name: "web_search", purpose: "web-search", protocol: PROTOCOL, value, at }
}

export function decodeFunctions(functions: Json): ToolDefinition[] | undefined {
  const tools = list(functions)?.map((value, index) => {
    const fields = new FieldReader(object(value) ?? {})
    const tool = functionTool(fields)
    const extra = ownExtra(fields.rest())
    return tool && { ...tool, at: `functions[${index}]`, ...(extra && { extra }) }
  })
  return tools?.every((tool) => tool !== undefined) ? tools : undefined
}

const MODES = new Map<Json, ToolChoice>([
  ["auto", { mode: "auto" }],
  ["none", { mode: "none" }],
  ["required", { mode: "required" }],
])

export function decodeToolChoice(choice: Json): ToolChoice | undefined {
  if (!isObject(choice)) return MODES.get(choice)
  const { type, ...more } = choice
  if (Object.keys(more).length !== 1) return undefined
  if (type === "allowed_tools") return allowedTools(choice.allowed_tools)
  const name = nameIn(choice)
  return name === undefined ? undefined : { mode: "tool", name }
}

export function decodeFunctionChoice(choice: Json): ToolChoice | undefined {
  if (!isObject(choice)) return choice === "required" ? undefined : MODES.get(choice)
  const { name, ...more } = choice
  return typeof name === "string" && Object.keys(more).length === 0 ? { mode: "tool", name } : undefined
}

function allowedTools(value: Json | undefined): ToolChoice | undefined {
  if (!isObject(value) || !Array.isArray(value.tools) || Object.keys(value).length !== 2) return undefined
  if (value.mode !== "auto" && value.mode !== "required") return undefined
  const names = value.tools.map((tool: Json) => (isObject(tool) ? nameIn(tool) : undefined))
  if (!names.every((name) => name !== undefined)) return undefined
  return { mode: "some", names, required: value.mode === "required" }
}

/** The name in `{type: "function", function: {name}}`, or the same for a custom tool, without other members. */
function nameIn({ type, ...more }: { readonly [member: string]: Json }): string | undefined {
  if (type !== "function" && type !== "custom") return undefined
  const named = more[type]
  if (!isObject(named) || Object.keys(more).length !== 1 || Object.keys(named).length !== 1) return undefined
  return typeof named.name === "string" ? named.name : undefined
}
