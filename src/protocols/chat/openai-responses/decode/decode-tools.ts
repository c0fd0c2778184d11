// Decodes tools and the choice among them.

import type { HostedTool, ToolChoice, ToolDefinition } from "../../../../canonical/chat/chat-request.ts"
import { isObject, type Json } from "../../../../canonical/json.ts"
import { FieldReader, object, text } from "../../../openai/field-reader.ts"
import { customTool, functionTool } from "../../../openai/openai-tools.ts"
import { ownExtra, PROTOCOL, type ResponsesWriting, type ToolNamespace, writingOf } from "../passthrough-fields.ts"
import { LOCAL_SHELL, LOCAL_SHELL_DESCRIPTION, LOCAL_SHELL_PARAMETERS } from "../tools/local-shell.ts"
import { remoteServerIn } from "../tools/remote-servers.ts"
import { flatName } from "../tools/tool-namespaces.ts"

export function decodeTools(tools: readonly Json[] | undefined): ToolDefinition[] {
  return (tools ?? []).flatMap((tool, index) => decodeEntry(tool, `tools[${index}]`))
}

function decodeEntry(value: Json, at: string): ToolDefinition[] {
  if (!isObject(value)) return [hostedTool(value, at)]
  if (value.type === LOCAL_SHELL) return [localShell(value, at)]
  if (value.type !== "namespace") return [decodeTool(value, { at }) ?? hostedTool(value, at)]
  return decodeNamespace(value, at) ?? [hostedTool(value, at)]
}

/** The single tools of a namespace; undefined if it is empty or has an invalid tool. */
function decodeNamespace(value: Json, at: string): ToolDefinition[] | undefined {
  const fields = new FieldReader(object(value) ?? {})
  fields.take("type", text)
  const name = fields.take("name", text)
  const inner = fields.take("tools", (tools) => (Array.isArray(tools) && tools.length > 0 ? tools : undefined))
  if (name === undefined || !inner) return undefined
  const members = fields.rest()
  const tools = inner.map((tool: Json, index) => {
    const set = { name, at, members, inner: "" }
    return decodeTool(tool, { at: `${at}.tools[${index}]`, set })
  })
  return tools.every((tool) => tool !== undefined) ? tools : undefined
}

interface ToolLocation {
  readonly at: string
  readonly set?: ToolNamespace
}

function decodeTool(value: Json, { at, set }: ToolLocation): ToolDefinition | undefined {
  const fields = new FieldReader(object(value) ?? {})
  const type = fields.take("type", text)
  const tool = type === "function" ? functionTool(fields) : type === "custom" ? customTool(fields) : undefined
  if (!tool) return undefined
  const written: ResponsesWriting = set ? { namespace: { ...set, inner: tool.name } } : {}
  // Members of a tool set have no position on its single tools.
  const setMembers = set && at.endsWith("[0]") ? namespaceMembers(set) : {}
  const extra = ownExtra({ ...fields.rest(), ...setMembers }, written)
  return { ...tool, ...(set && { name: flatName(set.name, tool.name) }), at, ...(extra && { extra }) }
}

/** Prefix of a set's members on its first tool: an encoder that drops them reports a loss. */
export const OF_SET = "namespace."

function namespaceMembers({ members = {} }: ToolNamespace) {
  return Object.fromEntries(Object.entries(members).map(([name, value]) => [OF_SET + name, value]))
}

function localShell(value: Json, at: string): ToolDefinition {
  const extra = ownExtra({}, { as: value })
  return {
    kind: "function",
    name: LOCAL_SHELL,
    description: LOCAL_SHELL_DESCRIPTION,
    parameters: LOCAL_SHELL_PARAMETERS,
    at,
    ...(extra && { extra }),
  }
}

const PURPOSES: readonly (readonly [RegExp, HostedTool["purpose"]])[] = [
  [/^web_search/, "web-search"],
  [/^code_interpreter/, "code"],
  [/^image_generation/, "images"],
  [/^file_search/, "files"],
  [/^computer/, "computer"],
  [/shell/, "shell"],
  [/^mcp$/, "mcp"],
]

function hostedTool(value: Json, at: string): HostedTool {
  const type = isObject(value) && typeof value.type === "string" ? value.type : "tool"
  const purpose = PURPOSES.find(([word]) => word.test(type))?.[1] ?? "other"
  const server = purpose === "mcp" && isObject(value) ? remoteServerIn(value) : undefined
  return { kind: "hosted", name: type, purpose, protocol: PROTOCOL, value, at, ...(server && { server }) }
}

const MODES = new Map<Json, ToolChoice>([
  ["auto", { mode: "auto" }],
  ["none", { mode: "none" }],
  ["required", { mode: "required" }],
])

export function decodeToolChoice(choice: Json, tools: readonly ToolDefinition[]): ToolChoice | undefined {
  if (!isObject(choice)) return MODES.get(choice)
  if (choice.type !== "allowed_tools") {
    const name = nameIn(choice, tools)
    return name === undefined ? undefined : { mode: "tool", name }
  }
  const { type: _, mode, tools: allowed, ...more } = choice
  if (!Array.isArray(allowed) || (mode !== "auto" && mode !== "required") || Object.keys(more).length > 0)
    return undefined
  const names = allowed.map((tool: Json) => nameIn(tool, tools))
  if (!names.every((name) => name !== undefined)) return undefined
  return { mode: "some", names, required: mode === "required" }
}

/** The canonical name of the chosen tool; undefined if it is not declared, or the choice has further members. */
function nameIn(choice: Json, tools: readonly ToolDefinition[]): string | undefined {
  if (!isObject(choice)) return undefined
  const { type, name, namespace, ...more } = choice
  if (Object.keys(more).length > 0) return undefined
  if (type !== "function" && type !== "custom") {
    if (name !== undefined || namespace !== undefined) return undefined
    return tools.find((tool) => tool.name === type && isBuiltIn(tool))?.name
  }
  if (typeof name !== "string" || (namespace !== undefined && typeof namespace !== "string")) return undefined
  const flat = namespace === undefined ? name : flatName(namespace, name)
  const meant = tools.find((tool) => tool.name === flat)
  const isCustom = meant?.kind === "custom"
  return isCustom === (type === "custom") && (namespace === undefined || meant) ? flat : undefined
}

/** True if a tool is named by its type alone. */
export function isBuiltIn(tool: ToolDefinition): boolean {
  return tool.kind === "hosted" || writingOf(tool.extra).as !== undefined
}
