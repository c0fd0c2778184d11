// Decodes the tools of a messages request and the choice among them.

import type { ChatSettings, HostedTool, ToolChoice, ToolDefinition } from "../../../../canonical/chat/chat-request.ts"
import { isObject, type Json, type JsonObject } from "../../../../canonical/json.ts"
import { claimFields } from "../../../../canonical/passthrough-fields.ts"
import { PROTOCOL } from "../passthrough-fields.ts"
import { type decodeServers, withServers } from "../remote-servers.ts"
import { takeCacheMark } from "./decode-part.ts"

export function decodeTools(value: Json | undefined, servers: ReturnType<typeof decodeServers>): ToolDefinition[] {
  const tools = Array.isArray(value) ? value.map((tool: Json, index) => decodeTool(tool, `tools[${index}]`)) : []
  return servers ? withServers(tools, servers) : tools
}

function decodeTool(value: Json, at: string): ToolDefinition {
  if (!isObject(value)) return { kind: "hosted", at, name: "", purpose: "other", protocol: PROTOCOL, value }
  const { type, name, description, input_schema: parameters, strict } = value
  const isFunction = type === undefined || type === null || type === "custom"
  if (!isFunction || typeof name !== "string" || parameters === undefined) return hostedTool(value, at)
  const held = claimFields(value)
  for (const taken of ["type", "name", "input_schema"]) held.take(taken)
  if (typeof description === "string" || description === null) held.take("description")
  if (typeof strict === "boolean" || strict === null) held.take("strict")
  const cacheMark = takeCacheMark(held, value)
  const extra = held.rest(PROTOCOL)
  return {
    kind: "function",
    at,
    name,
    ...(typeof description === "string" && { description }),
    parameters,
    ...(typeof strict === "boolean" && { strict }),
    ...(cacheMark && { cacheMark }),
    ...(extra && { extra }),
  }
}

/** By the beginning of its dated type, such as `web_search_20250305`. */
const PURPOSES: readonly (readonly [prefix: string, purpose: HostedTool["purpose"]])[] = [
  ["web_search_", "web-search"],
  ["web_fetch_", "web-fetch"],
  ["code_execution_", "code"],
  ["computer_", "computer"],
  ["bash_", "shell"],
]

function hostedTool(value: JsonObject, at: string): HostedTool {
  const type = typeof value.type === "string" ? value.type : ""
  const name = typeof value.name === "string" ? value.name : type
  const purpose = PURPOSES.find(([prefix]) => type.startsWith(prefix))?.[1] ?? "other"
  return { kind: "hosted", at, name, purpose, protocol: PROTOCOL, value }
}

interface DecodedToolChoice {
  readonly toolChoice?: ToolChoice
  readonly parallelToolCalls?: ChatSettings["parallelToolCalls"] & boolean
  /** The members without a canonical counterpart. */
  readonly left?: JsonObject
}

/** Undefined if it is not understood; then it passes through whole. */
export function decodeToolChoice(value: Json | undefined): DecodedToolChoice | undefined {
  if (!isObject(value)) return undefined
  const held = claimFields(value)
  const toolChoice = choiceOf(value)
  if (!toolChoice) return undefined
  held.take("type")
  if (toolChoice.mode === "tool") held.take("name")
  const { disable_parallel_tool_use: disabled } = value
  const counts = typeof disabled === "boolean" && toolChoice.mode !== "none"
  if (counts) held.take("disable_parallel_tool_use")
  const left = held.rest(PROTOCOL)?.members
  return { toolChoice, ...(counts && { parallelToolCalls: !disabled }), ...(left && { left }) }
}

function choiceOf({ type, name }: JsonObject): ToolChoice | undefined {
  if (type === "auto" || type === "none") return { mode: type }
  if (type === "any") return { mode: "required" }
  return type === "tool" && typeof name === "string" ? { mode: "tool", name } : undefined
}
