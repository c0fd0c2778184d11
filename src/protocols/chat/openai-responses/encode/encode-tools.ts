// Encodes tools and the choice among them.

import type { ChatRequest, HostedTool, ToolChoice, ToolDefinition } from "../../../../canonical/chat/chat-request.ts"
import { isObject, type Json, type JsonObject } from "../../../../canonical/json.ts"
import { approximated, dropped, memberPath } from "../../../losses.ts"
import { type JsonDraft, joinMembers } from "../../../openai/field-reader.ts"
import { isStrict } from "../../../schema/strict-schema.ts"
import { hostedSettings } from "../../hosted-tool-settings.ts"
import { isBuiltIn, OF_SET } from "../decode/decode-tools.ts"
import { isOwn, PROTOCOL, restorePassthrough, writingOf } from "../passthrough-fields.ts"
import { serverTool } from "../tools/remote-servers.ts"
import { namesOf, namespaceOf } from "../tools/tool-namespaces.ts"
import { type ResponsesEncodeContext, unsupportedSetting } from "./encode-context.ts"

type ResponsesToolRequest = Pick<ChatRequest, "tools" | "toolChoice">

export function encodeTools(
  { tools, toolChoice }: ResponsesToolRequest,
  encodeContext: ResponsesEncodeContext,
): JsonDraft {
  if (encodeContext.own) return ownTools({ tools, ...(toolChoice && { toolChoice }) })
  const sentTools: ToolDefinition[] = []
  const listed = tools.flatMap((tool) => {
    const wire = encodeTool(tool, encodeContext)
    if (wire) sentTools.push(tool)
    return wire ? [wire] : []
  })
  const choice = toolChoice && encodeChoice(toolChoice, sentTools)
  return { ...(listed.length > 0 && { tools: listed }), ...(choice !== undefined && { tool_choice: choice }) }
}

/** As their caller wrote them. */
export function ownTools({ tools, toolChoice }: ResponsesToolRequest): JsonDraft {
  const listed: Json[] = []
  let open: { at: string | undefined; tools: Json[] } | undefined
  for (const tool of tools) {
    const set = namespaceOf(tool)
    if (!set) {
      open = undefined
      listed.push(ownTool(tool))
    } else if (open && open.at === set.at) open.tools.push(ownTool(tool))
    else {
      open = { at: set.at, tools: [ownTool(tool)] }
      listed.push({ type: "namespace", name: set.name, ...set.members, tools: open.tools })
    }
  }
  const choice = toolChoice && ownChoice(toolChoice, tools)
  return { ...(listed.length > 0 && { tools: listed }), ...(choice !== undefined && { tool_choice: choice }) }
}

function ownTool(tool: ToolDefinition): Json {
  const { as } = writingOf(tool.extra)
  if (tool.kind === "hosted") return tool.value
  if (as !== undefined) return as
  const { name } = namesOf(tool, tool.name)
  const members = isOwn(tool.extra) ? Object.entries(tool.extra.members) : []
  const rest = Object.fromEntries(members.filter(([each]) => !each.startsWith(OF_SET)))
  return joinMembers({ ...wireTool({ ...tool, name }) }, rest)
}

function wireTool(tool: Exclude<ToolDefinition, HostedTool>): JsonObject {
  const named = { name: tool.name, ...(tool.description !== undefined && { description: tool.description }) }
  if (tool.kind === "custom") {
    return { type: "custom", ...named, ...(tool.format !== undefined && { format: tool.format }) }
  }
  return {
    type: "function",
    ...named,
    ...(tool.parameters !== undefined && { parameters: tool.parameters }),
    ...(tool.strict !== undefined && { strict: tool.strict }),
  }
}

function encodeTool(tool: ToolDefinition, encodeContext: ResponsesEncodeContext): Json | undefined {
  const { losses } = encodeContext.context
  const at = tool.at ?? ""
  if (tool.cacheMark) {
    losses.push(dropped.hint(memberPath(at, "cache_control"), "the provider caches prompts without marks"))
  }
  if (tool.kind === "hosted") return encodeHosted(tool, encodeContext)
  const draft: JsonDraft = { ...wireTool(tool) }
  if (tool.kind === "function") {
    draft.parameters = objectSchema(tool.parameters)
    // The vendor enforces a function's schema unless `strict` is false, and accepts few schemas for that.
    draft.strict = tool.strict === true && isStrict(draft.parameters)
    if (tool.strict && !draft.strict) {
      losses.push(approximated.meaning(memberPath(at, "strict"), "a schema with open members is not enforced"))
    }
  }
  return restorePassthrough(draft, tool.extra, { at, losses })
}

/** A schema must state that it is an object. */
function objectSchema(schema: Json | undefined): Json {
  if (!isObject(schema)) return { type: "object", properties: {} }
  if (schema.type !== undefined && schema.properties !== undefined) return schema
  return { type: "object", properties: {}, ...schema }
}

const COUNTERPARTS: Readonly<Partial<Record<HostedTool["purpose"], JsonObject>>> = {
  "web-search": { type: "web_search" },
  code: { type: "code_interpreter", container: { type: "auto" } },
}

function encodeHosted(tool: HostedTool, { context }: ResponsesEncodeContext): Json | undefined {
  const { protocol, value, at = "", purpose, extra } = tool
  const { losses } = context
  if (protocol === PROTOCOL) return value
  restorePassthrough({}, extra, { at, losses })
  if (tool.server) return serverTool(tool.server)
  const counterpart = COUNTERPARTS[purpose]
  if (!counterpart) {
    losses.push(dropped.meaning(at, "this model's provider has no equivalent tool"))
    return undefined
  }
  const known = purpose === "web-search" ? searchOptions(value) : {}
  const others = Object.keys(hostedSettings(tool)).filter((name) => !(name in known))
  for (const name of others) {
    losses.push(
      approximated.hint(memberPath(at, name), "the provider's equivalent tool is used with its default settings"),
    )
  }
  return { ...counterpart, ...known }
}

/** The user's location, which has the same shape at Anthropic; chat completions nests it one level deeper. */
function searchOptions(value: Json): JsonObject {
  const location = isObject(value) ? value.user_location : undefined
  if (!isObject(location) || location.type !== "approximate") return {}
  const { approximate, ...flat } = location
  return { user_location: isObject(approximate) ? { ...flat, ...approximate } : flat }
}

function encodeChoice(choice: ToolChoice, sentTools: readonly ToolDefinition[]): Json | undefined {
  const has = (name: string) => sentTools.some((tool) => tool.name === name)
  if (choice.mode === "tool") {
    if (!has(choice.name)) throw missingForcedTool()
    return encodeToolName(choice.name, sentTools)
  }
  if (choice.mode === "some") {
    const names = choice.names.filter(has)
    if (choice.required && names.length === 0) throw missingForcedTool()
    if (names.length === 0) return sentTools.length > 0 ? "none" : undefined
    return encodeAllowedTools(names, choice.required, sentTools)
  }
  // Without tools there is no choice.
  if (sentTools.length === 0 && choice.mode === "required") throw missingForcedTool()
  return sentTools.length === 0 ? undefined : choice.mode
}

function ownChoice(choice: ToolChoice, tools: readonly ToolDefinition[]): Json {
  if (choice.mode === "tool") return encodeToolName(choice.name, tools)
  return choice.mode === "some" ? encodeAllowedTools(choice.names, choice.required, tools) : choice.mode
}

function encodeAllowedTools(names: readonly string[], required: boolean, tools: readonly ToolDefinition[]): Json {
  const mode = required ? "required" : "auto"
  return { type: "allowed_tools", mode, tools: names.map((name) => encodeToolName(name, tools)) }
}

function missingForcedTool(): Error {
  return unsupportedSetting(
    "tool_choice",
    "asks for a tool that this model's provider does not have. Leave it out, or choose another.",
  )
}

function encodeToolName(name: string, tools: readonly ToolDefinition[]): Json {
  const tool = tools.find((each) => each.name === name)
  if (tool && isBuiltIn(tool)) return { type: tool.kind === "hosted" ? hostedType(tool) : name }
  return { type: tool?.kind === "custom" ? "custom" : "function", ...namesOf(tool, name) }
}

function hostedType(tool: HostedTool): string {
  const counterpart = tool.protocol === PROTOCOL ? undefined : COUNTERPARTS[tool.purpose]
  return typeof counterpart?.type === "string" ? counterpart.type : tool.name
}
